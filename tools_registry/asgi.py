"""/api/mcp ahead of Django: a raw ASGI application over `endpoint.respond`.

Async at this edge, sync behind it: `respond` runs on a fiber of the loop, and what may take longer
(tools, and whatever reads models) in a bounded pool of threads, each with its own lasting database
connection. Calls that stream have threads of their own, so that a few long ones never hold up the
short ones; a stream takes no thread of the edge while it is quiet. Calls of integrations have
threads of their own too, for they wait for servers of others.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections

from foundation import fibers, ids, peer
from foundation.fibers import Ground
from foundation.notices import Board
from tools_registry import endpoint
from tools_registry.asgi_types import LATIN_1, Receive, Scope, Send, head
from tools_registry.bodies import Bodies, Disconnected
from tools_registry.crew import Crew
from tools_registry.delivery import Delivery
from tools_registry.exchange import (
    Answer,
    Complete,
    Emit,
    Headers,
    HttpRequest,
    Later,
    Pause,
    Pool,
    Step,
    Stream,
    joined,
)
from tools_registry.interest import Interest
from tools_registry.watching import Watch

T = TypeVar("T")

# In bytes. To read what is larger may take milliseconds, which a thread shares with the loop.
SMALL_HEAD: Final = 4096
SMALL_BODY: Final = 16_384
# For what the calls of the loop share: to open connections, and to commit to SQLite's file.
OPENER_THREADS: Final = 2
# For steps that are quick: looks of streams that are silent for hours, and of calls that wait for
# an answer. Few, so that a thousand of them that wake at once leave the processor to others.
QUIET_THREADS: Final = 2
# Beside those that wait for vendors (`vendors.room`): they refuse who finds no place, at once.
SPARE_THREADS: Final = 4
# For tools that are slow and did not say so, beside HALO_CORE_THREADS.
CORE_SPARE: Final = 8

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
    """How long the edge waits, in seconds: for a whole body, and in silence on a stream.

    Once the server is to stop, what runs has `ending` to come to its end, and then `leaving` to
    obey. Together less than a server waits before it cancels (`timeout_graceful_shutdown`).
    """

    body: float = 30
    keep_alive: float = 15
    ending: float = 5
    leaving: float = 3


USUAL: Final = Patience()


class McpApplication:
    """The ASGI application of the endpoint. One a process; `close` ends its threads."""

    def __init__(self, patience: Patience = USUAL) -> None:
        self._patience = patience
        self._core = Crew(settings.HALO_CORE_THREADS, "core", spare=CORE_SPARE)
        self._vendors = Crew(settings.HALO_VENDOR_CALLS + SPARE_THREADS, "vendor")
        self._streams = Crew(settings.HALO_STREAM_THREADS, "stream")
        self._quiet = Crew(QUIET_THREADS, "quiet")
        self._openers = Crew(OPENER_THREADS, "open")
        self._ground: Ground | None = None
        self._board = Board()
        self._bodies = Bodies(patience.body)
        self._open: set[Delivery] = set()
        self._answering: dict[asyncio.Future[Answer | Later], Interest] = {}
        self._is_ending = self._is_closed = False

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

    def end(self) -> None:
        """The server is about to stop: have everything come to its end, within a bound.

        What waits ends at once. What runs is told after a while, and left to itself when it does
        not obey.
        """
        if self._is_ending:
            return
        self._is_ending = True
        self._bodies.hurry()
        for delivery in self._open:
            delivery.shut_down()
        loop = asyncio.get_running_loop()
        loop.call_later(self._patience.ending, self._interrupt)
        loop.call_later(self._patience.ending + self._patience.leaving, self._abandon)

    def close(self) -> None:
        self._is_closed = True
        if self._ground is not None:
            self._ground.close()
        for pool in (self._core, self._vendors, self._streams, self._quiet, self._openers):
            pool.close()
        self._board.close()

    def _interrupt(self) -> None:
        for delivery in self._open:
            delivery.interrupt()
        for interest in self._answering.values():
            interest.is_interrupted = True

    def _abandon(self) -> None:
        for delivery in self._open:
            delivery.abandon()
        for work in self._answering:
            work.cancel()

    async def _answer(self, request: HttpRequest, receive: Receive) -> Answer:
        try:
            body = await self._read(request, receive)
        except TimeoutError:
            return endpoint.timed_out(request)
        interest = Interest()
        whole = request.whole(body, interest)
        watch = Watch(interest, receive, self._board)
        try:
            answer = await self._worked_out(interest, whole)
        except asyncio.CancelledError:
            if not self._is_ending:
                raise
            return endpoint.stopped(request)
        finally:
            watch.end()
        if isinstance(answer, Stream) and interest.has_left:
            answer.on_close()
        return answer

    async def _worked_out(self, interest: Interest, whole: HttpRequest) -> Answer:
        answer = await self._noted(interest, self._responded(whole))
        while isinstance(answer, Later):
            answer = await self._noted(interest, _in(self._vendors, answer.finish))
        return answer

    def _responded(self, whole: HttpRequest) -> "asyncio.Future[Answer | Later]":
        return self._on_fiber(whole) if _is_small(whole) else self._in_thread(whole)

    def _on_fiber(self, whole: HttpRequest) -> "asyncio.Future[Answer | Later]":
        return fibers.start(partial(endpoint.respond, whole), self._our_ground())

    def _in_thread(self, whole: HttpRequest) -> "asyncio.Future[Answer | Later]":
        return _in(self._core, endpoint.respond, whole)

    def _our_ground(self) -> Ground:
        if self._is_closed:
            raise RuntimeError("cannot start a fiber after closing")
        if self._ground is None:
            self._ground = Ground(partial(_in, self._core), self._openers.do)
        return self._ground

    async def _noted(
        self, interest: Interest, work: "asyncio.Future[Answer | Later]"
    ) -> Answer | Later:
        self._answering[work] = interest
        try:
            return await work
        finally:
            del self._answering[work]

    async def _read(self, request: HttpRequest, receive: Receive) -> bytes:
        """The body, cut one byte behind the cap: no more of a larger one is read or kept."""
        if not endpoint.wants_body(request):
            return b""
        return await self._bodies.read(receive, settings.HALO_MAX_BODY_BYTES + 1)

    def _delivery(self, stream: Stream, send: Send) -> Delivery:
        if self._is_ending:
            stream.on_shutdown()
        return Delivery(stream, self._work, send, self._board, self._patience.keep_alive)

    def _work(self, pool: Pool, step: Step, emit: Emit) -> "asyncio.Future[Pause | None]":
        return _in(self._quiet if pool == "quiet" else self._streams, step, emit)

    async def _deliver(self, delivery: Delivery, receive: Receive) -> None:
        self._open.add(delivery)
        try:
            await delivery.run(receive)
        finally:
            self._open.discard(delivery)


def _is_small(request: HttpRequest) -> bool:
    if len(request.body) > SMALL_BODY or len(request.query) > SMALL_HEAD:
        return False
    return sum(map(len, chain.from_iterable(request.headers))) <= SMALL_HEAD


def _in(pool: Crew, function: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
    return pool.do(partial(_with_connection, function, *args))


def _with_connection(function: Callable[..., T], *args: Any) -> T:
    # Django tries a connection before its next statement once this has been called: right for one
    # that was quiet for a while, and a round trip too many for one that has just worked.
    if time.monotonic() - _thread.worked_at > TRUSTED_SECONDS:
        close_old_connections()
    try:
        return function(*args)
    finally:
        # A connection that an error broke is dropped now, never handed to the next call.
        if connections[DEFAULT_DB_ALIAS].errors_occurred:
            drop_connection()
        _thread.worked_at = time.monotonic()


def drop_connection() -> None:
    """Let go of the thread's connection, even where it still answers.

    What psycopg has prepared on it may fit the tables no more (PostgreSQL: "cached plan must not
    change result type"), and would fail for as long as it lives.
    """
    connections[DEFAULT_DB_ALIAS].close()


def _facts(scope: Scope) -> HttpRequest:
    """The request as far as it is known before its body."""
    # Servers give names in lower case (ASGI, HTTP connection scope, headers).
    texts = map(bytes.decode, chain.from_iterable(scope["headers"]), LATIN_1)
    headers: Headers = tuple(zip(texts, texts, strict=True))
    remote = scope["client"][0] if scope.get("client") else ""
    return HttpRequest(
        method=scope["method"],
        headers=headers,
        query=scope.get("query_string", b"").decode("latin-1"),
        body=b"",
        address=peer.client_address(remote, joined(headers).get("x-forwarded-for")),
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
