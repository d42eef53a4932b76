"""An offer to upgrade the connection is ignored, and the request is read to its end (P2).

Java's HTTP client offers h2c with each first request over plain HTTP.
"""

import json
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.drivers.fixture_server import Laboratory
from tests.drivers.oauth_client import REGISTER, REVOKE, TOKEN

pytestmark = pytest.mark.process

MCP = "/api/mcp"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
REGISTRATION = {"redirect_uris": ["https://app.example/callback"], "client_name": "Java"}
# Each with the beginning of the response's body where the request's body was read.
REQUESTS = {
    MCP: (JSON, '{"jsonrpc": "2.0", "id": 1, "method": "ping"}', 200, '{"jsonrpc"'),
    TOKEN: (FORM, "grant_type=refresh_token&client_id=nobody&refresh_token=a", 401, '{"error"'),
    REGISTER: (JSON, json.dumps(REGISTRATION), 201, '{"client_id"'),
}
OFFERS = {
    "h2c": ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA"],
    "several": ["Connection: keep-alive, upgrade", "Upgrade: h2c, TLS/1.0"],
    "closing": ["Connection: Upgrade, keep-alive", "Connection: HTTP2-Settings", "Upgrade: h2c"],
    "websocket": ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
}
PUBLIC = [
    MCP,
    "/prj_" + "a" * 22,
    "/api/mcp/prj_" + "a" * 22,
    *(f"{base}/{name}" for base in (f"{MCP}/oauth", "/oauth") for name in ("authorize", "token")),
    REGISTER,
    "/register",
    REVOKE,
    "/oauth/revoke",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/api/mcp",
]
JAVA = Path(__file__).parents[1] / "clients" / "JdkClient.java"


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


def request(running: Laboratory, path: str, offer: list[str], *, is_chunked: bool) -> list[bytes]:
    """A POST in two parts: its head, and its body as one chunk or with its length."""
    media_type, text, *_ = REQUESTS[path]
    body = text.encode()
    framing = f"Content-Length: {len(body)}"
    if is_chunked:
        framing = "Transfer-Encoding: chunked"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    fields = [
        f"Host: 127.0.0.1:{running.port}",
        f"Authorization: Bearer {running.token}" if path == MCP else "Accept: */*",
        f"Content-Type: {media_type}",
        *offer,
        framing,
    ]
    return ["\r\n".join([f"POST {path} HTTP/1.1", *fields, "\r\n"]).encode(), body]


def answer(line: socket.socket) -> tuple[int, bytes]:
    """The status and body of the next response, which has a length."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = line.recv(65_536)
        assert part, received
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    fields = dict(row.lower().split(b": ", 1) for row in head.split(b"\r\n")[1:])
    while len(body) < int(fields[b"content-length"]):
        body += line.recv(65_536)
    return int(head.split()[1]), body


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
@pytest.mark.parametrize("path", REQUESTS)
def test_p2_a_request_with_an_offer_is_answered_as_without_and_so_is_the_next(
    running: Laboratory,
    path: str,
    offer: list[str],
    is_chunked: bool,  # noqa: FBT001  a case's framing
) -> None:
    *_, status, begins = REQUESTS[path]
    parts = request(running, path, offer, is_chunked=is_chunked)
    with socket.create_connection(("127.0.0.1", running.port), 30) as line:
        line.sendall(b"".join(parts))
        at_once = answer(line)
        for part in parts:
            line.sendall(part)
        in_parts = answer(line)
        for byte in b"".join(parts):
            line.sendall(bytes([byte]))
        in_bytes = answer(line)
    for found, body in (at_once, in_parts, in_bytes):
        assert (found, body[: len(begins)].decode()) == (status, begins), body


@pytest.mark.parametrize("slash", ["", "/"], ids=["without-slash", "with-slash"])
@pytest.mark.parametrize("path", PUBLIC)
def test_p2_p8_an_offer_and_a_slash_change_no_answer(
    running: Laboratory, path: str, slash: str
) -> None:
    def status(path: str, *offer: str) -> bytes:
        fields = [f"Host: 127.0.0.1:{running.port}", "Content-Length: 2", "Connection: close"]
        if offer:
            fields[-1:] = offer
        with socket.create_connection(("127.0.0.1", running.port), 30) as line:
            line.sendall("\r\n".join([f"POST {path} HTTP/1.1", *fields, "", "{}"]).encode())
            return line.makefile("rb").readline()

    assert status(f"{path}{slash}", *OFFERS["h2c"]) == status(path)


def test_p2_requests_behind_an_offer_are_answered_in_their_order(running: Laboratory) -> None:
    parts = request(running, MCP, OFFERS["h2c"], is_chunked=False)
    with socket.create_connection(("127.0.0.1", running.port), 30) as line:
        line.sendall(b"".join(parts) * 3)
        received = b""
        while received.count(b'"result":{}') < 3:
            part = line.recv(65_536)
            assert part, received
            received += part
    assert received.count(b"HTTP/1.1 200 ") == 3


def test_p2_a_head_with_an_offer_is_bounded_as_any_other(running: Laboratory) -> None:
    head, _ = request(running, MCP, [*OFFERS["h2c"], f"X-Long: {'a' * 70_000}"], is_chunked=False)
    with socket.create_connection(("127.0.0.1", running.port), 30) as line:
        line.sendall(head)
        assert line.makefile("rb").readline().split()[1] == b"431"


def test_p2_the_http_client_of_java_initializes_lists_and_calls(running: Laboratory) -> None:
    java = shutil.which("java")
    if java is None:
        pytest.skip("no JDK on this machine")
    done = subprocess.run(
        [java, str(JAVA), running.server.mcp_url, running.token],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["200 initialize", "202 initialized", "200 list", "200 call"]
