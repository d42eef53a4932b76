"""MCP surfaces ahead of Django: a raw ASGI application over `endpoint.respond`.

Async at this edge, sync behind it: `respond` runs in a bounded pool of threads, each with its own
lasting database connection. Calls that stream have a pool of their own, so that a few long ones
never hold up the short ones; a quiet stream uses no thread. Calls of integrations have a pool of
their own too, because they wait for vendors' servers.
"""

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from django.conf import settings

from foundation import ids, peer
from foundation.asgi import Bodies, Disconnected, Receive, RequestBody, Scope, Send
from foundation.concurrency.thread_pool import ThreadPool
from foundation.db import waits
from foundation.pubsub import Subscriptions
from tools_registry.endpoint import respond
from tools_registry.endpoint.http import (
    Answer,
    CancelState,
    CompleteAnswer,
    Deferred,
    Emit,
    Headers,
    HttpRequest,
    Pool,
    Step,
    Stream,
    Suspend,
    response_start,
)
from tools_registry.endpoint.streams.delivery import EVENTS, Encoding, StreamDelivery
from tools_registry.endpoint.streams.disconnects import WATCHES_AFTER, DisconnectWatcher
from tools_registry.endpoint.surface import WORKSPACE_SURFACE, McpSurface
from tools_registry.vendors import slots

T = TypeVar("T")

# For steps that are quick: looks of streams that are silent for hours, and of calls that wait for
# an answer. Few, so that a thousand of them that wake at once leave the processor to others.
QUIET_THREADS: Final = 2
# In addition to the calls that wait for vendors, or for a slot (`vendors/slots.py`): these threads
# refuse the calls beyond that at once.
REFUSING_THREADS: Final = 4
# Overflow threads for slow tools, in addition to HALO_CORE_THREADS.
CORE_OVERFLOW: Final = 8

NO_CONTENT: Final = 204
# The body behind these was not read to its end, so nothing more can come on the connection.
CUT_SHORT: Final = frozenset({408, 413})
# How long a call that was interrupted at the end of the server has to react.
LEAVING_SECONDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts of the edge in seconds: for a whole body, and between comments on a quiet stream.

    When the server stops, calls that read have `ending` to finish, and those that change something
    have `changing`: only they cannot be repeated. Then they have `leaving` to react to the
    interruption. Together less than a server waits before it cancels
    (`timeout_graceful_shutdown`).
    """

    body: float = 30
    keep_alive: float = 15
    ending: float = 5
    changing: float = field(default_factory=lambda: settings.HALO_STOP_SECONDS)
    leaving: float = LEAVING_SECONDS


class McpApplication:
    """The ASGI application of all MCP surfaces. One a process; `close` ends its threads."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts = timeouts or Timeouts()
        self._core = ThreadPool(settings.HALO_CORE_THREADS, "core", overflow=CORE_OVERFLOW)
        self._vendors = ThreadPool(
            settings.HALO_VENDOR_CALLS + slots.MAX_WAITING + REFUSING_THREADS, "vendor"
        )
        self._streams = ThreadPool(settings.HALO_STREAM_THREADS, "stream")
        self._quiet = ThreadPool(QUIET_THREADS, "quiet")
        self._subscriptions = Subscriptions()
        self._bodies = Bodies(timeouts.body)
        self._open: set[StreamDelivery] = set()
        self._answering: dict[asyncio.Future[Answer | Deferred], CancelState] = {}
        self._is_ending = False

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, surface: McpSurface = WORKSPACE_SURFACE
    ) -> None:
        body = RequestBody(self._bodies, receive)
        try:
            answer = await self._answer(scope, body, receive, surface)
        except Disconnected:
            return
        if isinstance(answer, CompleteAnswer):
            await _send_whole(send, answer, body, method=scope["method"])
            return
        delivery = self._delivery(answer, send)
        # It may be open for hours: neither the bearer nor anything else of the request stays.
        del answer
        scope["headers"].clear()
        await self._deliver(delivery, receive)

    def end(self) -> None:
        """The server is about to stop: have everything come to its end, within a bound.

        What waits ends at once. What runs is interrupted after a while, and abandoned if it does
        not end then; what changes something later than what reads.
        """
        if self._is_ending:
            return
        self._is_ending = True
        self._bodies.hurry()
        for delivery in self._open:
            delivery.shut_down()
        loop, times = asyncio.get_running_loop(), self._timeouts
        for changes, seconds in ((False, times.ending), (True, times.changing)):
            loop.call_later(seconds, self._interrupt, changes)
            loop.call_later(seconds + times.leaving, self._abandon, changes)

    def close(self) -> None:
        for pool in (self._core, self._vendors, self._streams, self._quiet):
            pool.close()
        self._subscriptions.close()

    def _interrupt(self, changes: bool) -> None:  # noqa: FBT001  a condition of what is meant
        for delivery in self._open:
            if delivery.changes is changes:
                delivery.interrupt()
        for cancellation in self._answering.values():
            if cancellation.is_changing is changes:
                cancellation.is_stopping = True

    def _abandon(self, changes: bool) -> None:  # noqa: FBT001  a condition of what is meant
        for delivery in self._open:
            if delivery.changes is changes:
                delivery.abandon()
        for work, cancellation in self._answering.items():
            if cancellation.is_changing is changes:
                work.cancel()

    async def _answer(
        self, scope: Scope, body: RequestBody, receive: Receive, surface: McpSurface
    ) -> Answer:
        cancellation = CancelState()
        request = request_of(scope, surface, cancellation)
        if respond.wants_body(request):
            try:
                # One byte more than allowed shows that a body is too large; no more is read.
                request.body = await body.read(settings.HALO_MAX_BODY_BYTES + 1)
            except TimeoutError:
                return respond.timeout_answer(request)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(
            WATCHES_AFTER, DisconnectWatcher, cancellation, receive, self._subscriptions
        )
        try:
            # Who calls is not known before a thread has found out.
            owner = request.header("authorization") or request.address
            begin = partial(respond.respond, request)
            answer = await self.answer(cancellation, begin, owner=owner)
        except asyncio.CancelledError:
            if not self._is_ending:
                raise
            return respond.shutdown_answer(request)
        finally:
            timer.cancel()
            if cancellation.stop is not None:
                cancellation.stop()
        if isinstance(answer, Stream) and cancellation.has_left:
            answer.on_close()
        return answer

    async def answer(
        self,
        cancellation: CancelState,
        begin: Callable[[], Answer | Deferred],
        *,
        owner: Hashable,
    ) -> Answer:
        """Run `begin` in a thread, and what it defers in one of those that wait for vendors.

        The requests of each `owner` have a turn, whatever number of them waits. Cancelled once the
        server can wait no longer.
        """
        run = partial(self._run_in_thread, cancellation, owner)
        answer = await run(self._core, begin)
        while isinstance(answer, Deferred):
            answer = await run(self._vendors, answer.finish)
        return answer

    async def look(self, work: Callable[[], T]) -> T:
        """Run a look that is quick in a thread that does nothing else, and return its result."""
        return await self._quiet.submit(partial(waits.with_connection, work))

    async def deliver(
        self, stream: Stream, receive: Receive, send: Send, encoding: Encoding
    ) -> None:
        """Send all messages of a stream; `receive` returns `http.disconnect` if its client left."""
        await self._deliver(self._delivery(stream, send, encoding), receive)

    @property
    def subscriptions(self) -> Subscriptions:
        return self._subscriptions

    async def _run_in_thread(
        self,
        cancellation: CancelState,
        owner: Hashable,
        pool: ThreadPool,
        work: Callable[[], Answer | Deferred],
    ) -> Answer | Deferred:
        future = pool.submit(partial(waits.with_connection, work), owner=owner)
        self._answering[future] = cancellation
        try:
            return await future
        finally:
            del self._answering[future]

    def _delivery(self, stream: Stream, send: Send, encoding: Encoding = EVENTS) -> StreamDelivery:
        if self._is_ending:
            stream.on_shutdown()
        keep_alive = self._timeouts.keep_alive
        return StreamDelivery(
            stream, self._work, send, self._subscriptions, keep_alive, encoding=encoding
        )

    def _work(self, pool: Pool, step: Step, emit: Emit) -> "asyncio.Future[Suspend | None]":
        threads = self._quiet if pool == "quiet" else self._streams
        return threads.submit(partial(waits.with_connection, step, emit))

    async def _deliver(self, delivery: StreamDelivery, receive: Receive) -> None:
        self._open.add(delivery)
        try:
            await delivery.run(receive)
        finally:
            self._open.discard(delivery)


def request_of(scope: Scope, surface: McpSurface, cancellation: CancelState) -> HttpRequest:
    """The request without its body; the handshake of a WebSocket is a GET."""
    # Servers give names in lower case (ASGI, HTTP connection scope, headers).
    headers: Headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    )
    request = HttpRequest(
        method=scope.get("method", "GET"),
        headers=headers,
        query=scope.get("query_string", b"").decode("latin-1"),
        body=b"",
        address="",
        request_id=ids.uuid7().hex,
        surface=surface,
        lasting=True,
        cancellation=cancellation,
    )
    remote = scope["client"][0] if scope.get("client") else ""
    request.address = peer.client_address(remote, request.header("x-forwarded-for"))
    return request


async def _send_whole(
    send: Send, answer: CompleteAnswer, request: RequestBody, *, method: str
) -> None:
    headers = answer.headers
    if answer.status != NO_CONTENT:  # which has no length (RFC 9110 section 8.6)
        headers = (*headers, ("Content-Length", str(len(answer.body))))
    if answer.status in CUT_SHORT:
        headers = (*headers, ("Connection", "close"))
    # The response to HEAD declares the length of what GET returns (RFC 9110 section 9.3.2).
    body = b"" if method == "HEAD" else answer.body
    # The client has left: ASGI servers may raise OSError then, and uvloop raises RuntimeError.
    with suppress(OSError, RuntimeError):
        await send(response_start(answer.status, headers))
        if answer.status in CUT_SHORT:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await request.discard()
            body = b""
        await send({"type": "http.response.body", "body": body})
