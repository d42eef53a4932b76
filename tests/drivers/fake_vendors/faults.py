"""A proxy in front of a fake vendor that breaks the requests which change something."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.drivers.fake_vendors.site import GARBAGE, Answer, resetting, saying, sending

LONG = {"Retry-After": "3600"}
# Not of the next request, but of its own connection.
HOP_BY_HOP = frozenset({"connection", "content-length", "host", "transfer-encoding"})


@dataclass(frozen=True)
class ChangeFault:
    """What becomes of a change: whether the vendor gets it, and what is answered; None: nothing."""

    is_forwarded: bool
    answer: Answer | None


def cut(handler: BaseHTTPRequestHandler) -> None:
    """Answer with less than was announced."""
    handler.send_response_only(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"id": "1')


FAULTS = {
    "none": None,
    "lost-on-the-way": ChangeFault(is_forwarded=False, answer=resetting),
    "reset-after": ChangeFault(is_forwarded=True, answer=resetting),
    "silent-after": ChangeFault(is_forwarded=True, answer=None),
    "silent-before": ChangeFault(is_forwarded=False, answer=None),
    "cut": ChangeFault(is_forwarded=True, answer=cut),
    "500-after": ChangeFault(is_forwarded=True, answer=saying({}, 500)),
    "500-before": ChangeFault(is_forwarded=False, answer=saying({}, 500)),
    "502-page": ChangeFault(is_forwarded=True, answer=sending(b"<html>Bad gateway", 502)),
    "503-wait": ChangeFault(is_forwarded=True, answer=saying({}, 503, LONG)),
    "504": ChangeFault(is_forwarded=True, answer=sending(b"", 504)),
    "408": ChangeFault(is_forwarded=True, answer=saying({}, 408)),
    "foreign-page": ChangeFault(is_forwarded=True, answer=GARBAGE),
    "foreign-object": ChangeFault(is_forwarded=True, answer=saying({})),
    "foreign-list": ChangeFault(is_forwarded=True, answer=saying([1])),
    "empty": ChangeFault(is_forwarded=True, answer=sending(b"")),
    "redirect": ChangeFault(
        is_forwarded=True, answer=saying({}, 302, {"Location": "https://login.example/"})
    ),
    "redirect-before": ChangeFault(
        is_forwarded=False, answer=saying({}, 307, {"Location": "https://other.example/"})
    ),
    "refused-401": ChangeFault(is_forwarded=False, answer=saying({}, 401)),
    "refused-403": ChangeFault(is_forwarded=False, answer=saying({}, 403)),
    "refused-404": ChangeFault(is_forwarded=False, answer=saying({}, 404)),
    "refused-422": ChangeFault(is_forwarded=False, answer=saying({}, 422)),
    "busy": ChangeFault(is_forwarded=False, answer=saying({}, 429, LONG)),
}


class FaultyProxy:
    """Passes requests on to a vendor; those that change something meet `fault`.

    `carried_out` counts the changes that the vendor says it has made. `seconds_of_reads` is how
    long each other request takes.
    """

    def __init__(self, url: str) -> None:
        self.target = urlsplit(url)
        self.fault: ChangeFault | None = None
        self.seconds_of_reads = 0.0
        self.carried_out = 0
        self.changes = 0
        self.over = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{self.target.path}"

    def handle(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        if not _is_change(handler, body):
            self.over.wait(self.seconds_of_reads)
            self._forward(handler, body)(handler)
            return
        self.changes += 1
        fault = self.fault
        if fault is None or fault.is_forwarded:
            answer = self._forward(handler, body)
        if fault is None:
            answer(handler)
        elif fault.answer is None:
            self.over.wait(20)
        else:
            fault.answer(handler)

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> Answer:
        sent = http.client.HTTPConnection(self.target.hostname or "", self.target.port, timeout=20)
        headers = {n: v for n, v in handler.headers.items() if n.lower() not in HOP_BY_HOP}
        sent.request(handler.command, handler.path, body or None, headers)
        got = sent.getresponse()
        answered = got.read()
        sent.close()
        is_repeated = got.getheader("Idempotent-Replayed") == "true"
        if _is_change(handler, body) and _is_done(got.status, answered) and not is_repeated:
            self.carried_out += 1
        back = {n: v for n, v in got.getheaders() if n.lower() not in HOP_BY_HOP}
        return sending(answered, got.status, back)


def _is_change(handler: BaseHTTPRequestHandler, body: bytes) -> bool:
    is_query = handler.path == "/graphql" and b"mutation" not in body
    return handler.command != "GET" and not is_query


def _is_done(status: int, body: bytes) -> bool:
    value: Any = json.loads(body or b"null")
    is_error = isinstance(value, dict) and (value.get("ok") is False or "errors" in value)
    return 200 <= status < 300 and not is_error


def _handler(proxy: FaultyProxy) -> type[BaseHTTPRequestHandler]:
    class ProxyHandler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.close_connection = True
            proxy.handle(self, body)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815  the server's own naming

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  inherited
            """Keep the terminal quiet."""

    return ProxyHandler


@contextmanager
def proxying(url: str) -> Iterator[FaultyProxy]:
    """A proxy in front of the vendor at this URL, for as long as the block runs."""
    proxy = FaultyProxy(url)
    thread = threading.Thread(target=proxy.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        proxy.over.set()
        proxy.server.shutdown()
        thread.join()
        proxy.server.server_close()
