"""A program on this computer that waits for a browser to come back, as desktop clients do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue


@dataclass
class Callback:
    """Its address, what it shows, and the addresses that browsers came to."""

    url: str = ""
    page: str = "<!DOCTYPE html><title>Connected</title><p>You can close this."
    arrivals: "Queue[str]" = field(default_factory=Queue)

    def arrival(self) -> str:
        """The address that the next browser came to; raises queue.Empty when none does."""
        return self.arrivals.get(timeout=60)


@contextmanager
def waiting() -> Iterator[Callback]:
    """Listen on a free port of the loopback interface (RFC 8252 section 7.3)."""
    callback = Callback()

    class CallbackHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                callback.arrivals.put(callback.url.removesuffix("/callback") + self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(callback.page.encode())

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), CallbackHandler) as server:
        callback.url = f"http://127.0.0.1:{server.server_port}/callback"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield callback
        finally:
            server.shutdown()
            thread.join()
