"""A vendor's site on the loopback whose answers, malformed ones too, are configured by the test."""

import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

Answer: TypeAlias = Callable[[BaseHTTPRequestHandler], None]
NO_HEADERS: Mapping[str, str] = {}
MEBIBYTE = 1_048_576


@dataclass(frozen=True)
class Seen:
    """One request as it came in; header names in lower case."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def saying(value: Any, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    """Answer with a JSON value."""
    return sending(json.dumps(value).encode(), status, headers)


def sending(body: bytes, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    """Answer with these bytes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def busy(retry_after: str | None = None) -> Answer:
    named = {} if retry_after is None else {"Retry-After": retry_after}
    return saying({"error": "too many"}, 429, named)


def resetting(handler: BaseHTTPRequestHandler) -> None:
    """Break the connection off with a reset, before any answer."""
    at_once = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    handler.close_connection = True
    handler.connection.close()


def dripping(until: threading.Event) -> Answer:
    """Send a byte now and then until the event is set, or nobody listens; it ends as JSON."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(200)
        handler.end_headers()
        while not until.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()
        handler.wfile.write(b"{}")

    return answer


def silent(until: threading.Event) -> Answer:
    """Say nothing until the event is set, and then little."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        until.wait(20)
        saying({})(handler)

    return answer


HUGE = sending(b" " * (MEBIBYTE + 1))
BOMB = sending(gzip.compress(b" " * (64 * MEBIBYTE)), headers={"Content-Encoding": "gzip"})
GARBAGE = sending(b"<html>Welcome to the wifi of the airport</html>")


@dataclass
class Site:
    """Answers each request with the next answer it was given, and then with `usual`."""

    usual: Answer = field(default_factory=lambda: saying({}))
    scripted: list[Answer] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self.asked = threading.Event()
        # Set at the end: whoever is still silent or dripping stops.
        self.over = threading.Event()
        self._lock = threading.Lock()
        self.server = _Server(("127.0.0.1", self.port), _handler_of(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def script(self, *answers: Answer) -> None:
        """Give these answers next, one a request."""
        self.scripted.extend(answers)

    def answer(self, seen: Seen, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request; a fake vendor for one vendor judges it here first."""
        with self._lock:
            self.seen.append(seen)
            chosen = self.scripted.pop(0) if self.scripted else self.usual
        self.asked.set()
        chosen(handler)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up on a slow answer is what the tests are about."""


def _handler_of(site: Site) -> type[BaseHTTPRequestHandler]:
    class SiteHandler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65_537)
            if not self.raw_requestline or not self.parse_request():
                return
            self.close_connection = True
            target = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            query = parse_qs(target.query, keep_blank_values=True)
            site.answer(Seen(self.command, target.path, query, headers, body), self)

    return SiteHandler


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """The site answers for as long as the block runs."""
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        site.server.shutdown()
        thread.join()
        site.server.server_close()
