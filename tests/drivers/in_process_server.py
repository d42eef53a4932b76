"""The application that `./run serve` starts, in this process: one for all tests.

Its loop runs in a background thread, and it works in its own threads, as behind a server. A
request costs a test the two changes of threads that it costs there.
"""

import asyncio
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

SECONDS = 30
Headers: TypeAlias = Iterable[tuple[str, str]]
Answer: TypeAlias = tuple[int, dict[str, str], bytes]


@dataclass
class _Exchange:
    """One request whose body comes whole, and what was sent for it so far."""

    body: bytes
    over: asyncio.Event = field(default_factory=asyncio.Event)
    is_read: bool = False
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    sent: bytes = b""

    async def receive(self) -> dict[str, Any]:
        if self.is_read:
            await self.over.wait()  # the client stays for the whole answer
            return {"type": "http.disconnect"}
        self.is_read = True
        return {"type": "http.request", "body": self.body, "more_body": False}

    async def send(self, event: Any) -> None:
        if event["type"] == "http.response.start":
            assert not self.status, "the answer began twice"
            self.status = event["status"]
            self.headers = {name.decode(): value.decode() for name, value in event["headers"]}
        else:
            self.sent += event.get("body", b"")


class Served:
    """The application and the loop that it runs on. `close` ends all its threads."""

    def __init__(self) -> None:
        from halo_mcp.asgi import application  # noqa: PLC0415  settings first

        self._application = application
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="served", daemon=True)
        self._thread.start()

    def send(self, scope: dict[str, Any], body: bytes) -> Answer:
        """One request from its first byte to the end of its answer."""
        return asyncio.run_coroutine_threadsafe(self._answer(scope, body), self._loop).result(
            2 * SECONDS
        )

    @property
    def has_open_stream(self) -> bool:
        return bool(self._application._mcp._open)

    def end_streams(self) -> None:
        """Have open streams end as when the server is about to stop, which goes on."""
        for delivery in tuple(self._application._mcp._open):
            self._loop.call_soon_threadsafe(delivery.shut_down)

    def close(self) -> None:
        self._application._mcp.close()
        self._application._agents.close()
        self._application._django.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _answer(self, scope: dict[str, Any], body: bytes) -> Answer:
        exchange = _Exchange(body)
        answering = asyncio.ensure_future(self._application(scope, exchange.receive, exchange.send))
        finished, _ = await asyncio.wait({answering}, timeout=SECONDS)
        exchange.over.set()
        await answering
        assert finished, f"no answer within {SECONDS} s, only {exchange.sent!r}"
        return exchange.status, exchange.headers, exchange.sent


@cache
def get_server() -> Served:
    return Served()


def close() -> None:
    """End the application if a test has started it."""
    if get_server.cache_info().currsize:
        get_server().close()
        get_server.cache_clear()


def request(method: str, path: str, headers: Headers, body: bytes, query: str = "") -> Answer:
    """Send a request as a server on the loopback interface hands it over."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "root_path": "",
        "query_string": query.encode("latin-1"),
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }
    return get_server().send(scope, body)
