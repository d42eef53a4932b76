"""Senders that stop half-way hold no thread of the server."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.drivers.accounts import open_account
from tests.drivers.server import Server

pytestmark = pytest.mark.process

HALF = (
    b"POST /api/mcp/oauth/token HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\na"
)
MANY = 12  # more than there are threads


@pytest.fixture
def _half_sent(server: Server) -> Iterator[None]:
    place = (str(urlsplit(server.url).hostname), int(urlsplit(server.url).port or 0))
    with ExitStack() as stack:
        for _ in range(MANY):
            sender = stack.enter_context(socket.create_connection(place))
            sender.sendall(HALF)
        yield


@pytest.mark.usefixtures("_half_sent")
@pytest.mark.parametrize("path", ["/health", "/signin", "/.well-known/oauth-protected-resource"])
def test_u01_half_sent_forms_leave_the_pages_answering(server: Server, path: str) -> None:
    assert httpx2.get(f"{server.url}{path}", timeout=15).status_code == 200


def test_a_form_sent_in_chunks_is_read_whole(server: Server) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"grant_type=refresh_token&client_id=nobody"
        yield b"&refresh_token=nothing"

    answer = httpx2.post(
        f"{server.url}/api/mcp/oauth/token",
        content=chunks(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        timeout=60,
    )
    assert answer.json()["error"] == "invalid_client"


@pytest.mark.parametrize("path", ["/api/mcp/oauth/token", "/signin", "/api/mcp", "/aap/session"])
def test_a_client_that_writes_all_before_it_reads_sees_that_it_was_too_much(
    server: Server, path: str
) -> None:
    # More than the kernel keeps for both ends of a connection.
    body = bytes(10_000_000)
    token = open_account(server.env).token if path == "/api/mcp" else "none"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    place = urlsplit(server.url)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as line:
        line.sendall(head.encode() + body)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_form_that_says_it_is_huge_is_refused_unread(server: Server) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=15) as line:
        line.sendall(HALF.replace(b"Content-Length: 100", b"Content-Length: 99999999999"))
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
