"""The relay adds a bearer where there is none; what is judged passes through it as it was sent."""

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from tests.conformance.relay import relaying

SECONDS = 10
BEARER = b"Authorization: Bearer t0ken\r\n"


@dataclass(frozen=True)
class RelayLine:
    """Both ends of one connection through the relay."""

    client: socket.socket
    server: socket.socket

    def arrives(self, sent: bytes, *, length: int) -> bytes:
        """Send bytes; returns the first `length` that the server gets of them."""
        self.client.sendall(sent)
        return receive_bytes(self.server, length)


def receive_bytes(end: socket.socket, length: int) -> bytes:
    got = b""
    while len(got) < length:
        piece = end.recv(length - len(got))
        assert piece, got
        got += piece
    return got


@pytest.fixture
def line() -> Iterator[RelayLine]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(SECONDS)
        with (
            relaying(listening.getsockname()[1], "t0ken") as port,
            closing(socket.create_connection(("127.0.0.1", port), SECONDS)) as client,
            closing(listening.accept()[0]) as server,
        ):
            server.settimeout(SECONDS)
            yield RelayLine(client, server)


@pytest.mark.parametrize("method", [b"GET", b"DELETE", b"OPTIONS"])
def test_a_request_without_credentials_gets_the_bearer_as_its_last_header(
    line: RelayLine, method: bytes
) -> None:
    head = method + b" /api/mcp HTTP/1.1\r\nHost: evil.example.com\r\nOrigin:  null \r\n"

    assert line.arrives(head + b"\r\n", length=len(head + BEARER) + 2) == head + BEARER + b"\r\n"


def test_a_request_with_credentials_of_its_own_keeps_them(line: RelayLine) -> None:
    head = b"GET / HTTP/1.1\r\nhost: a\r\naUTHORIZATION: Basic eDp5\r\n\r\n"

    assert line.arrives(head, length=len(head)) == head


def test_case_blanks_and_order_of_headers_are_left_alone(line: RelayLine) -> None:
    head = b"POST /x?a=%20b HTTP/1.1\r\nMCP-METHOD:tools/call\r\nHost: h\r\nMcp-Name:   echo\t \r\n"
    sent = head + b"Content-Length: 2\r\n\r\n{}"
    wanted = head + b"Content-Length: 2\r\n" + BEARER + b"\r\n{}"

    assert line.arrives(sent, length=len(wanted)) == wanted


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"content-length: 4\r\n", b"\r\n\r\n"),
        (b"Transfer-Encoding: Chunked\r\n", b"4;x=y\r\n\r\n\r\n\r\n0\r\nTrailer: t\r\n\r\n"),
    ],
    ids=["length", "chunks"],
)
def test_every_request_of_a_connection_gets_its_bearer(
    line: RelayLine, framing: bytes, body: bytes
) -> None:
    head = b"POST / HTTP/1.1\r\nHost: h\r\n" + framing
    wanted = 2 * (head + BEARER + b"\r\n" + body)

    assert line.arrives(2 * (head + b"\r\n" + body), length=len(wanted)) == wanted


@pytest.mark.parametrize(
    "sent",
    [
        b"no request\r\n",
        b"POST / HTTP/1.1\r\nA: " + b"x" * 70_000,
        b"POST / HTTP/1.1\r\nAuthorization: a\r\nContent-Length: 2\r\ncontent-length: 3\r\n\r\n{}G",
        b"POST / HTTP/1.1\r\nAuthorization: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nGET",
    ],
    ids=["garbage", "endless head", "framed twice", "bad chunk"],
)
def test_what_cannot_be_read_as_requests_goes_to_the_server_as_it_is(
    line: RelayLine, sent: bytes
) -> None:
    line.client.sendall(sent)
    line.client.shutdown(socket.SHUT_WR)

    assert receive_bytes(line.server, len(sent)) == sent
    assert line.server.recv(1) == b""


def test_a_piece_of_a_stream_arrives_before_there_is_more(line: RelayLine) -> None:
    for piece in (b"HTTP/1.1 200 OK\r\n\r\n", b"data: 1\n\n", b": still here\n\n"):
        line.server.sendall(piece)
        assert receive_bytes(line.client, len(piece)) == piece


def test_a_client_that_leaves_has_left_the_server_too(line: RelayLine) -> None:
    line.arrives(b"GET / HTTP/1.1\r\nAuthorization: a\r\n\r\n", length=10)
    line.client.close()

    while line.server.recv(1_000):
        pass


def test_a_server_that_ends_the_connection_ends_it_for_the_client(line: RelayLine) -> None:
    line.server.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    line.server.close()

    while line.client.recv(1_000):
        pass
