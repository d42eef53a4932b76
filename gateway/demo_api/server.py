"""The HTTP server of the demo API, on loopback only."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from gateway.demo_api.bookshop import (
    Bookshop,
    BookshopError,
    BookshopReply,
    BookshopRequest,
    answer,
)

LOOPBACK: Final = "127.0.0.1"
KEY: Final = "demo"
MAX_BODY: Final = 5_000_000
IDLE_SECONDS: Final = 30.0


class DemoServer(ThreadingHTTPServer):
    """Serves one bookshop; a port of 0 chooses a free one."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.shop = Bookshop()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}"

    @property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document, with this server's address."""
        text = Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")
        document: dict[str, Any] = json.loads(text)
        return document | {"servers": [{"url": self.url}]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: DemoServer

    def _answer(self) -> None:
        try:
            reply = self._reply(self._body())
        except BookshopError as refused:
            reply = BookshopReply(refused.status, {"error": str(refused)})
        data = reply.data
        if not data and reply.status != HTTPStatus.NO_CONTENT:
            data = json.dumps(reply.value).encode()
        self.send_response(reply.status)
        if reply.status != HTTPStatus.NO_CONTENT:
            # A 204 has no length (RFC 9110 section 8.6).
            self.send_header("Content-Type", reply.media_type)
            self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  names of the base class

    def _reply(self, body: bytes) -> BookshopReply:
        address = urlsplit(self.path)
        path = unquote(address.path)
        if self.command == "GET" and path == "/openapi.json":
            return BookshopReply(HTTPStatus.OK, self.server.document)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if headers.get("x-api-key") != KEY:
            raise BookshopError(
                HTTPStatus.UNAUTHORIZED, "The header X-Api-Key is missing or wrong."
            )
        query: Mapping[str, str] = dict(parse_qsl(address.query))
        request = BookshopRequest(query=query, headers=headers, body=body)
        return answer(self.server.shop, self.command, path, request)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise BookshopError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large.")
        return self.rfile.read(int(length))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Log nothing: a terminal shows the address, not each request."""
