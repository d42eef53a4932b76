"""/api/mcp ahead of Django: a raw ASGI application over `endpoint.respond`.

Async at this edge, sync behind it: `respond` and the tools run in a bounded pool of threads, each
with its own lasting database connection. Calls that stream have threads of their own, so that a
few long ones never hold up the short ones; a stream takes no thread of the edge while it is quiet.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import close_old_connections, connections

from foundation import ids, peer
from foundation.notices import Board
from tools_registry import endpoint
from tools_registry.asgi_types import Receive, Scope, Send, head
from tools_registry.delivery import Delivery
from tools_registry.exchange import Answer, Complete, Headers, HttpRequest, Stream

T = TypeVar("T")

STREAM_THREADS: Final = 8
# For streams that are silent for hours and whose steps are quick. Few, so that a thousand of them
# that wake at once leave the processor to others.
QUIET_THREADS: Final = 2

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
        self._quiet = ThreadPoolExecutor(QUIET_THREADS, thread_name_prefix="quiet")
        self._board = Board()
        self._open: set[Delivery] = set()
        self._is_ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(_facts(scope), receive)
        except Disconnected:
            return
        if isinstance(answer, Complete):
            await _send_whole(send, answer, method=scope["method"])
            return
        delivery = self._delivery(answer, send)
        # It may be open for hours: neither the bearer nor anything else of the request stays.
        del answer
        scope["headers"].clear()
        await self._deliver(delivery, receive)

    def end_streams(self) -> None:
        """Have streams that wait come to their end: the server is about to stop."""
        self._is_ending = True
        for delivery in self._open:
            delivery.shut_down()

    def close(self) -> None:
        for pool in (self._core, self._streams, self._quiet):
            pool.shutdown(wait=False, cancel_futures=True)
        self._board.close()

    async def _answer(self, request: HttpRequest, receive: Receive) -> Answer:
        try:
            body = await asyncio.wait_for(_read(request, receive), self._patience.body)
        except TimeoutError:
            return endpoint.timed_out(request)
        return await _in(self._core, endpoint.respond, replace(request, body=body))

    def _delivery(self, stream: Stream, send: Send) -> Delivery:
        if self._is_ending:
            stream.on_shutdown()
        pool = self._quiet if stream.pool == "quiet" else self._streams
        step = partial(_in, pool)
        return Delivery(stream, step, send, self._board, self._patience.keep_alive)

    async def _deliver(self, delivery: Delivery, receive: Receive) -> None:
        self._open.add(delivery)
        try:
            await delivery.run(receive)
        finally:
            self._open.discard(delivery)


def _in(pool: Executor, function: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
    loop = asyncio.get_running_loop()
    return loop.run_in_executor(pool, partial(_with_connection, function, *args))


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
        lasting=True,
    )


async def _send_whole(send: Send, answer: Complete, *, method: str) -> None:
    await send(head(answer.status, (*answer.headers, *_framing(answer))))
    # HEAD is told the length of what GET would send, and gets none of it (RFC 9110 9.3.2).
    body = b"" if method == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})


def _framing(answer: Complete) -> Headers:
    if answer.status == NO_CONTENT:  # has no length (RFC 9110 section 8.6)
        return ()
    closing = (("Connection", "close"),) if answer.status in CUT_SHORT else ()
    return (("Content-Length", str(len(answer.body))), *closing)
