"""What a client may put into a head and how long it may take, and that trailers are not headers.

Bytes to the real server, as no client sends them (security review, M1 and M2).
"""

import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import httpx2
import pytest

from halo_mcp.server.http_protocol import MAX_HEAD_BYTES, MAX_HEADER_FIELDS, MAX_PIPELINED
from tests.drivers.fixture_server import Laboratory
from tests.drivers.oauth_client import TOKEN
from tests.drivers.servers import HEAD_SECONDS, REQUESTS_OF_ONE_ADDRESS
from tests.drivers.slow_readers import get

pytestmark = pytest.mark.process

MCP = "/api/mcp"
ADDRESSES = count(1)
BODIES = {
    MCP: json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode(),
    TOKEN: b"grant_type=refresh_token&client_id=nobody&refresh_token=nothing",
}
KINDS = {MCP: "application/json", TOKEN: "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def running(impatient_laboratory: Laboratory) -> Laboratory:
    """A server behind a proxy that it trusts: this machine."""
    return impatient_laboratory.with_account()


@pytest.fixture
def line(running: Laboratory) -> Iterator[socket.socket]:
    with closing(connection(running)) as opened:
        yield opened


def connection(running: Laboratory) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", running.port), 30)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def status(line: socket.socket) -> int:
    """Read one response with a declared length."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = line.recv(65_536)
        assert part, f"closed after {received!r}"
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    fields = dict(row.lower().split(b": ", 1) for row in head.split(b"\r\n")[1:])
    while len(body) < int(fields[b"content-length"]):
        body += line.recv(65_536)
    return int(head.split()[1])


def is_closed(line: socket.socket) -> bool:
    """Read to the end of the connection, which has to come."""
    with suppress(ConnectionError):
        while line.recv(65_536):
            pass
    return True


def chunked_request(path: str, *trailers: str, headers: tuple[str, ...] = ()) -> list[bytes]:
    """A request in parts: head, body, last chunk, and each trailer field."""
    own = (f"Content-Type: {KINDS[path]}", "Transfer-Encoding: chunked", *headers)
    head = "\r\n".join([f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *own, "", ""])
    body = BODIES[path]
    parts = [head.encode(), b"%x\r\n%b\r\n" % (len(body), body), b"0\r\n"]
    return [*parts, *(f"{trailer}\r\n".encode() for trailer in trailers), b"\r\n"]


def send_one_packet(line: socket.socket, parts: list[bytes]) -> int:
    line.sendall(b"".join(parts))
    return status(line)


def send_several_packets(line: socket.socket, parts: list[bytes]) -> int:
    for part in parts:
        line.sendall(part)
    return status(line)


Send = Callable[[socket.socket, list[bytes]], int]
packets = pytest.mark.parametrize("send", [send_one_packet, send_several_packets])


def address() -> str:
    """One that no other request came from."""
    return f"198.51.100.{next(ADDRESSES)}"


@packets
@pytest.mark.parametrize("path", [MCP, TOKEN])
def test_m1_a_trailer_names_no_address(running: Laboratory, path: str, send: Send) -> None:
    def request_status(*trailers: str, headers: tuple[str, ...] = ()) -> int:
        with closing(connection(running)) as line:
            return send(line, chunked_request(path, *trailers, headers=headers))

    proxied = address()
    codes = [
        request_status(f"X-Forwarded-For: {address()}", headers=(f"X-Forwarded-For: {proxied}",))
        for _ in range(REQUESTS_OF_ONE_ADDRESS + 1)
    ]
    assert codes == [401] * REQUESTS_OF_ONE_ADDRESS + [429]
    # The same field among the headers is used.
    assert request_status(headers=(f"X-Forwarded-For: {address()}",)) == 401


@packets
def test_m1_a_trailer_carries_no_credential(
    running: Laboratory, line: socket.socket, send: Send
) -> None:
    bearer = f"Authorization: Bearer {running.token}"
    origin = (f"X-Forwarded-For: {address()}",)
    assert send(line, chunked_request(MCP, bearer, headers=origin)) == 401
    # Nor does it for the next request of the connection.
    assert send(line, chunked_request(MCP, headers=origin)) == 401
    assert send(line, chunked_request(MCP, headers=(bearer, *origin))) == 200


@packets
def test_m1_trailers_of_one_request_are_no_headers_of_the_next(
    running: Laboratory, line: socket.socket, send: Send
) -> None:
    origin = (f"X-Forwarded-For: {address()}",)
    bearer = f"Authorization: Bearer {running.token}"
    both = [
        *chunked_request(MCP, bearer, "X-Other: 1", headers=origin),
        *chunked_request(MCP, headers=origin),
    ]
    assert send(line, both) == 401
    line.sendall(get("/health"))
    assert b" 200 OK" not in line.recv(12)  # the second 401, before /health


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(f"X-Long: {'x' * MAX_HEAD_BYTES}\r\n", id="one large field"),
        pytest.param("X-Many: 1\r\n" * (MAX_HEADER_FIELDS + 1), id="many fields"),
        pytest.param(f"X-Some: {'x' * 1000}\r\n" * 70, id="many large fields"),
    ],
)
@pytest.mark.parametrize("path", ["/health", MCP])
def test_m2_a_head_that_is_too_large_is_refused(line: socket.socket, path: str, head: str) -> None:
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n".encode())
    assert status(line) == 431
    assert is_closed(line)


def test_m2_a_target_that_is_too_long_is_refused(line: socket.socket) -> None:
    line.sendall(get(f"/{'x' * MAX_HEAD_BYTES}"))
    assert status(line) == 431


@pytest.mark.parametrize("begun", [b"GET /health HTTP/1.1\r\nX-Endless: ", b"GET /"])
def test_m2_a_head_without_an_end_is_refused(line: socket.socket, begun: bytes) -> None:
    line.sendall(begun)
    line.sendall(b"x" * (MAX_HEAD_BYTES + 1))
    assert status(line) == 431
    assert is_closed(line)


def test_m2_a_head_without_an_end_is_refused_when_it_arrives_at_once(
    running: Laboratory, line: socket.socket
) -> None:
    process = running.server.process
    process.send_signal(signal.SIGSTOP)
    try:
        line.sendall(b"GET /health HTTP/1.1\r\nX-Endless: " + b"x" * (MAX_HEAD_BYTES + 1))
    finally:
        process.send_signal(signal.SIGCONT)
    assert status(line) == 431


def test_m2_a_trailer_without_an_end_is_refused(line: socket.socket) -> None:
    line.sendall(b"".join(chunked_request(MCP)[:-1]) + b"X-Endless: ")
    with suppress(ConnectionError):
        for _ in range(10 * MAX_HEAD_BYTES // 1000):
            line.sendall(b"x" * 1000)
    assert is_closed(line)


def test_m2_a_head_as_large_as_it_may_be_is_answered(line: socket.socket) -> None:
    fields = [f"X-Field-{number}: {'x' * 300}" for number in range(MAX_HEADER_FIELDS - 1)]
    line.sendall(get("/health", *fields))
    assert status(line) == 200


def test_m2_a_body_larger_than_a_head_may_be_is_answered(
    running: Laboratory, line: socket.socket
) -> None:
    params = {"name": "echo", "arguments": {"value": "x" * 4 * MAX_HEAD_BYTES}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = f"POST {MCP} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {running.token}\r\nContent-Length: {len(body)}\r\n"
    head += f"X-Forwarded-For: {address()}\r\n\r\n"
    line.sendall(f"{head}{body}".encode())
    assert status(line) == 200


@pytest.mark.parametrize(
    "begun", [b"", b"\r\n", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"]
)
def test_m2_a_head_that_does_not_arrive_closes_its_connection(
    line: socket.socket, begun: bytes
) -> None:
    line.sendall(begun)
    assert line.recv(1) == b""


def test_m2_a_head_that_arrives_byte_by_byte_closes_its_connection(line: socket.socket) -> None:
    line.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
    line.settimeout(HEAD_SECONDS / 10)
    while True:
        try:
            line.sendall(b"x")
            if line.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break


def test_m2_a_connection_between_requests_stays_open_for_longer(
    running: Laboratory, line: socket.socket
) -> None:
    line.sendall(get("/health"))
    assert status(line) == 200
    with closing(connection(running)) as silent:
        assert silent.recv(1) == b""

    line.sendall(get("/health"))
    assert status(line) == 200


def test_m2_too_many_requests_at_once_close_their_connection(line: socket.socket) -> None:
    line.sendall(get("/health") * (MAX_PIPELINED + 10))
    assert is_closed(line)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_m2_endless_heads_take_no_memory(running: Laboratory) -> None:
    def resident() -> int:
        text = Path(f"/proc/{running.server.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0])

    before = resident()
    for _ in range(4):
        with closing(connection(running)) as line, suppress(ConnectionError):
            line.sendall(b"GET /health HTTP/1.1\r\nX-Endless: ")
            line.sendall(b"x" * 50_000_000)
    assert resident() < before + 20_000  # kB
    assert httpx2.get(f"{running.server.url}/health").status_code == 200
