"""Malformed requests, as bytes to the real server: each gets an error that names the mistake.

What a framework does before a view is asked is out of the view's hands, and the drivers of other
tests never write such things.
"""

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from halo_mcp import cookies
from halo_mcp.server.wsgi_bridge import WsgiBridge
from tests.drivers.asgi import exchange, scope_of
from tests.drivers.mcp import HOST
from tests.drivers.oauth_client import AUTHORIZE, CONSENT, REGISTER, REVOKE, TOKEN
from tests.drivers.server import Server

PATHS = ["/", "/signin", "/admin/", "/health", AUTHORIZE, CONSENT, REGISTER, TOKEN, REVOKE]
# Python's name for them; the last two are RFC 2231's way to name one for a parameter.
CODECS = ["zip", "hex", "rot13", "idna", "undefined", "utf-16", "utf-7", "mbcs", "nonsense", ""]
TYPES = [
    *(f"application/x-www-form-urlencoded; charset={codec}" for codec in CODECS),
    *(f"multipart/form-data; boundary=x; charset={codec}" for codec in CODECS),
    "text/plain; charset*=zip''%41",
    "text/plain; x*=nonsense''%41",
    "text/plain; charset=utf-8; charset=zip",
    "a" * 10_001,
    ";;;",
    "\xff",
]
COOKIES = [
    r'{session}="\000"',
    r'{session}="\355\240\200"; {csrf}="\000"',
    r'{messages}="\000"; {language}="\000"',
    "{session}=" + "a" * 5_000,
    "{session}=\xff",
]

Status = Callable[..., int]


@pytest.fixture
def status(server: Server) -> Status:
    place = urlsplit(server.url)

    def request_status(request: str) -> int:
        with socket.create_connection((str(place.hostname), int(place.port or 0)), 30) as line:
            line.sendall(request.encode("latin-1"))
            return int(line.makefile("rb").readline().split()[1])

    return request_status


def request_text(method: str, target: str, *headers: str, body: str = "") -> str:
    framing = ["Host: 127.0.0.1", "Connection: close", f"Content-Length: {len(body)}"]
    return "\r\n".join([f"{method} {target} HTTP/1.1", *framing, *headers, "", body])


@pytest.mark.process
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", PATHS)
def test_no_name_of_an_encoding_breaks_a_request(method: str, path: str, status: Status) -> None:
    asked = {
        kind: status(request_text(method, f"{path}?a=%41", f"Content-Type: {kind}", body="a=%41"))
        for kind in TYPES
    }
    assert {kind: code for kind, code in asked.items() if code >= 500} == {}


@pytest.mark.process
@pytest.mark.parametrize("path", ["/", "/signin", "/connections", AUTHORIZE])
def test_no_cookie_breaks_a_request(path: str, status: Status, server: Server) -> None:
    # In quotes an octal escape is a character, so a cookie can hold a NUL (RFC 2109, as browsers
    # and Python once had it), and a session's key is looked up.
    purposes = ("session", "csrf", "messages", "language")
    names = {purpose: cookies.name(purpose, server.url) for purpose in purposes}
    sent = [cookie.format_map(names) for cookie in COOKIES]
    codes = {status(request_text("GET", path, f"Cookie: {cookie}")) for cookie in sent}
    assert max(codes) < 500


@pytest.mark.process
@pytest.mark.parametrize(
    "length", ["+3", "0x3", "3_0", "-1", "1e1", "\xb3", "9" * 400, "3\r\nContent-Length: 4"]
)
def test_a_length_that_two_servers_could_read_differently_is_refused(
    length: str, status: Status
) -> None:
    head = f"POST {TOKEN} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\na=b"
    assert status(head) in {400, 413}


def test_a_header_with_an_underscore_does_not_join_its_namesake() -> None:
    """A trusted proxy replaces X-Forwarded-For; it may let X_Forwarded_For pass."""
    seen: list[Any] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.append(environ["HTTP_X_FORWARDED_FOR"])
        start_response("200 OK", [])
        return []

    headers = [("Host", HOST), ("X-Forwarded-For", "192.0.2.1"), ("X_Forwarded_For", "192.0.2.2")]
    exchange(WsgiBridge(application, threads=1, max_body=10), scope_of("GET", headers))
    assert seen == ["192.0.2.1"]
