"""The raw ASGI application, called as a server calls it: chunks in, events out, and leaving early.

The application's threads work on the connection of the test (`shared_connection.py`).
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.drivers import schema_validation
from tests.drivers.mcp import Reply, Transport
from tools_registry.endpoint.asgi import McpApplication, Timeouts

VERSION = b"mcp-protocol-version"
RawHeaders: TypeAlias = Iterable[tuple[str, str]]


@contextmanager
def application(timeouts: Timeouts | None = None) -> Iterator[McpApplication]:
    """The endpoint's application for one test, which waits for what it has begun."""
    app = McpApplication(timeouts)
    try:
        yield app
    finally:
        app.close()
        for thread in _threads_of(app):
            thread.join()


def _threads_of(app: McpApplication) -> list[threading.Thread]:
    pools = (app._core, app._vendors, app._streams, app._quiet)
    return [thread for thread in threading.enumerate() if _works_for(thread) in pools]


def _works_for(thread: Any) -> object:
    # A thread that has ended meanwhile has lost what it ran.
    return getattr(getattr(thread, "_target", None), "__self__", None)


def scope_of(
    method: str,
    headers: RawHeaders,
    *,
    query: str = "",
    client: Any = ("127.0.0.1", 50000),
    path: str = "/api/mcp",
) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode("latin-1"),
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ],
        "client": client,
    }


@dataclass
class Wire:
    """Both ends of one request: what the server is given, and what it sent so far."""

    chunks: list[bytes] = field(default_factory=lambda: [b""])
    # Whether the last chunk ends the body; a body without an end leaves the server waiting.
    ends: str = "whole"
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    taken: int = 0

    def __post_init__(self) -> None:
        self.gone = asyncio.Event()
        self.changed = asyncio.Condition()

    async def receive(self) -> dict[str, Any]:
        if self.taken < len(self.chunks):
            self.taken += 1
            more = self.taken < len(self.chunks) or self.ends != "whole"
            chunk = self.chunks[self.taken - 1]
            return {"type": "http.request", "body": chunk, "more_body": more}
        if self.ends == "gone":
            return {"type": "http.disconnect"}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Mapping[str, Any]) -> None:
        async with self.changed:
            if event["type"] == "http.response.start":
                assert not self.status, "the answer began twice"
                self.status = event["status"]
                self.headers = {n.decode(): value.decode() for n, value in event["headers"]}
            else:
                self.body += event.get("body", b"")
            self.changed.notify_all()

    async def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait for the answer to come to a certain point."""
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(true), 20)

    @property
    def reply(self) -> Reply:
        return Reply(self.status, self.headers, self.body)


App: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


def exchange(
    app: App,
    scope: dict[str, Any],
    chunks: Iterable[bytes] = (b"",),
    *,
    ends: str = "whole",
) -> Wire:
    """One request from its first chunk to the end of its answer, which is judged."""

    async def whole() -> Wire:
        wire = Wire(list(chunks), ends)
        await asyncio.wait_for(app(scope, wire.receive, wire.send), 30)
        return wire

    version = _version_in(scope)  # now: the application forgets the headers of a stream
    wire = asyncio.run(whole())
    if scope["method"] == "POST":
        judge(wire, version)
    return wire


def judge(wire: Wire, version: str | None) -> None:
    """Hold a whole answer against the schema of its revision."""
    kind = wire.headers.get("content-type", "")
    schema_validation.judge_body(kind, wire.body, b"".join(wire.chunks), version)


def _version_in(scope: Mapping[str, Any]) -> str | None:
    sent = [value.decode("latin-1") for name, value in scope["headers"] if name == VERSION]
    return ", ".join(sent) if sent else None


@asynccontextmanager
async def open_request(app: App, scope: dict[str, Any], body: bytes) -> AsyncIterator[Wire]:
    """A request whose answer is still coming; its end is awaited on leaving."""
    wire = Wire([body])
    running = asyncio.ensure_future(app(scope, wire.receive, wire.send))
    try:
        yield wire
    finally:
        await asyncio.wait_for(running, 30)


def app_transport(app: App, path: str = "/api/mcp") -> Transport:
    """A transport for the driver of `tests/drivers/mcp.py`."""

    def send(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        return exchange(app, scope_of(method, headers.items(), path=path), [body]).reply

    return send
