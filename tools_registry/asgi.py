"""/api/mcp ahead of Django: a raw ASGI application over `endpoint.respond`.

Async at this edge, sync behind it: `respond` and the tools run in a bounded pool of threads, each
with its own lasting database connection. Calls that stream have threads of their own, so that a
few long ones never hold up the short ones; a stream takes no thread of the edge while it is quiet.
"""

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from django.conf import settings
from django.db import close_old_connections, connections

from foundation import ids, peer
from foundation.notices import Board, Listener
from mcp_protocol import sse
from tools_registry import endpoint
from tools_registry.exchange import Answer, Complete, Headers, HttpRequest, Stream

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
T = TypeVar("T")

STREAM_THREADS: Final = 8
# Events kept for a client that reads too slowly; what a tool says beyond them is left out.
MOST_WAITING: Final = 1000

NO_CONTENT: Final = 204
# The body behind these was not read to its end, so nothing more can come on the connection.
CUT_SHORT: Final = frozenset({408, 413})
# How long after its last use a thread's database connection is taken for alive.
TRUSTED_SECONDS: Final = 1.0


class _Thread(threading.local):
    worked_at: float = -math.inf


_thread: Final = _Thread()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the edge waits, in seconds: for a whole body, and in silence on a stream."""

    body: float = 30
    keep_alive: float = 15


USUAL: Final = Patience()


class Disconnected(Exception):
    """The client went away before its request was whole."""


class McpApplication:
    """The ASGI application of the endpoint. One a process; `close` ends its threads."""

    def __init__(self, patience: Patience = USUAL) -> None:
        self._patience = patience
        self._core = ThreadPoolExecutor(settings.HALO_CORE_THREADS, thread_name_prefix="core")
        self._streams = ThreadPoolExecutor(STREAM_THREADS, thread_name_prefix="stream")
        self._board = Board()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(_facts(scope), receive)
        except Disconnected:
            return
        if isinstance(answer, Complete):
            await _send_whole(send, answer, method=scope["method"])
        else:
            await self._send_stream(answer, receive, send)

    def close(self) -> None:
        for pool in (self._core, self._streams):
            pool.shutdown(wait=False, cancel_futures=True)
        self._board.close()

    async def _answer(self, request: HttpRequest, receive: Receive) -> Answer:
        try:
            body = await asyncio.wait_for(_read(request, receive), self._patience.body)
        except TimeoutError:
            return endpoint.timed_out(request)
        return await _in(self._core, endpoint.respond, replace(request, body=body))

    async def _send_stream(self, stream: Stream, receive: Receive, send: Send) -> None:
        events = Events()
        with self._board.listener() as listener:
            work = asyncio.ensure_future(self._work(stream, events, listener))
            work.add_done_callback(lambda _done: events.end())
            watch = asyncio.ensure_future(_watch(receive, stream, listener))
            try:
                await _start(send, stream.status, stream.headers)
                await _pump(events, send, self._patience.keep_alive)
            finally:
                watch.cancel()
                # The work is never abandoned: its audit row has to be finished.
                await asyncio.shield(work)

    async def _work(self, stream: Stream, events: "Events", listener: Listener) -> None:
        pause = await _in(self._streams, stream.run, events.emit)
        while pause is not None:
            await listener.wait(pause.topics, pause.seconds)
            pause = await _in(self._streams, pause.resume, events.emit)


class Events:
    """The way of a stream's events from the thread that works to the loop that sends."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

    def emit(self, message: Mapping[str, Any]) -> None:
        """Hand a message over, from any thread; too many notifications are left out."""
        keep = self._offer if "method" in message else self._waiting.put_nowait
        self._loop.call_soon_threadsafe(keep, sse.event(message))

    def _offer(self, event: bytes) -> None:
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put_nowait(event)

    def end(self) -> None:
        self._waiting.put_nowait(None)

    async def next(self, patience: float) -> bytes | None:
        """The next event; a comment when none came for `patience` seconds; None at the end."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._waiting.get(), patience)
        return sse.KEEP_ALIVE


async def _in(pool: Executor, function: Callable[..., T], *args: Any) -> T:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(pool, partial(_with_connection, function, *args))


def _with_connection(function: Callable[..., T], *args: Any) -> T:
    # Django tries a connection before its next statement once this has been called: right for one
    # that was quiet for a while, and a round trip too many for one that has just worked.
    if time.monotonic() - _thread.worked_at > TRUSTED_SECONDS:
        close_old_connections()
    try:
        return function(*args)
    finally:
        # A connection that an error broke is dropped now, never handed to the next call.
        if any(used.errors_occurred for used in connections.all(initialized_only=True)):
            close_old_connections()
        _thread.worked_at = time.monotonic()


async def _read(request: HttpRequest, receive: Receive) -> bytes:
    """The body, cut one byte behind the cap: no more of a larger one is read or kept."""
    if not endpoint.wants_body(request):
        return b""
    return await read_body(receive, settings.HALO_MAX_BODY_BYTES + 1)


async def read_body(receive: Receive, room: int) -> bytes:
    """At most `room` bytes of a body. Raises Disconnected when its sender goes away."""
    chunks: list[bytes] = []
    more = True
    while more and room > 0:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Disconnected
        chunks.append(event.get("body", b"")[:room])
        room -= len(chunks[-1])
        more = event.get("more_body", False)
    return b"".join(chunks)


def _facts(scope: Scope) -> HttpRequest:
    """The request as far as it is known before its body."""
    headers: Headers = tuple(
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in scope["headers"]
    )
    forwarded = [value for name, value in headers if name == "x-forwarded-for"]
    remote = scope["client"][0] if scope.get("client") else ""
    return HttpRequest(
        method=scope["method"],
        headers=headers,
        query=scope.get("query_string", b"").decode("latin-1"),
        body=b"",
        address=peer.client_address(remote, ", ".join(forwarded) or None),
        request_id=ids.uuid7().hex,
    )


async def _start(send: Send, status: int, headers: Headers) -> None:
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _send_whole(send: Send, answer: Complete, *, method: str) -> None:
    await _start(send, answer.status, (*answer.headers, *_framing(answer)))
    # HEAD is told the length of what GET would send, and gets none of it (RFC 9110 9.3.2).
    body = b"" if method == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})


def _framing(answer: Complete) -> Headers:
    if answer.status == NO_CONTENT:  # has no length (RFC 9110 section 8.6)
        return ()
    closing = (("Connection", "close"),) if answer.status in CUT_SHORT else ()
    return (("Content-Length", str(len(answer.body))), *closing)


async def _pump(events: Events, send: Send, keep_alive: float) -> None:
    """Send events as they come, and a comment when it has been quiet for long."""
    while (event := await events.next(keep_alive)) is not None:
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _watch(receive: Receive, stream: Stream, listener: Listener) -> None:
    """Tell the stream, and the work that waits for a notice, when the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.on_close()
    listener.ring()
