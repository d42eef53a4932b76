"""The agents ahead of Django: a raw ASGI application that runs turns as tasks of the event loop.

A request is checked and stored in a thread. A turn is a task, which no thread waits for; what it
does with the database and with tools runs in threads for a moment. A client that leaves does not
end its turn: it goes on for a while, and its history has the result.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import structlog
from django.conf import settings

from agents import callers, cross_origin, endpoint, sessions
from agents.callers import SURFACE
from agents.endpoint import AgentRequest, Started
from agents.loop import FAILED, KeyRevoked, TurnRun
from agents.models_port import ModelCompletion, ModelUsage
from agents.protocol import events
from agents.protocol.events import Event, StopReason, TurnStopEvent
from agents.protocol.requests import Message, StreamMode
from agents.replies import AgentReply, error_reply
from agents.session_tools import InThread, SessionTools
from foundation import headers as fields
from foundation import peer
from foundation.asgi import Bodies, Disconnected, Receive, RequestBody, Scope, Send
from foundation.concurrency.thread_pool import ThreadPool
from foundation.db import waits
from rest.errors import ApiError

log = structlog.get_logger(__name__)

T = TypeVar("T")
Headers: TypeAlias = Mapping[str, str]

BODY_SECONDS: Final = 30.0
# Of a request that was not read completely.
CLOSING: Final = {"Connection": "close"}
KEEP_ALIVE_SECONDS: Final = 15.0
# A third of the lease.
RENEWAL_SECONDS: Final = sessions.LEASE.total_seconds() / 3
# How long a turn goes on whose client has left.
GRACE_SECONDS: Final = 120.0
THREADS_OVERFLOW: Final = 8
STREAM_HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    # Proxies that buffer would hold events back.
    "X-Accel-Buffering": "no",
}


class EventLog:
    """The events of a turn in their order; a reader is a position in it. The turn never waits."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._changed = asyncio.Event()

    def append(self, event: Event) -> None:
        self._events.append(event)
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        return bool(self._events) and isinstance(self._events[-1], TurnStopEvent)

    async def read_from(self, position: int) -> Sequence[Event]:
        """Returns the events from a position on, at least one."""
        while len(self._events) <= position:
            await self._changed.wait()
        return self._events[position:]

    async def read_whole(self) -> Sequence[Event]:
        """Returns all events, once the turn has ended."""
        while not self.has_ended:
            await self._changed.wait()
        return self._events


class RunningTurn:
    """A turn as a task, and the log of its events."""

    def __init__(self, run: TurnRun, log: EventLog) -> None:
        self.log, self._run = log, run
        self.task = asyncio.create_task(self._run_to_end())

    async def _run_to_end(self) -> None:
        try:
            await self._run.run()
        finally:
            # The database may be gone: the client is not left waiting.
            if not self.log.has_ended:
                self.log.append(TurnStopEvent(StopReason.ERROR, FAILED))

    def interrupt(self) -> None:
        """Ends the turn, unless it is being ended."""
        if not self._run.is_ending:
            self.task.cancel()

    def leave(self) -> None:
        """The client has gone: the turn ends in a while."""
        if not self.task.done():
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self.interrupt)


class AgentApplication:
    """The ASGI application of the agents. One a process; `close` ends its threads."""

    def __init__(self) -> None:
        self._threads = ThreadPool(settings.HALO_AGENT_THREADS, "agents", overflow=THREADS_OVERFLOW)
        self._bodies = Bodies(BODY_SECONDS)
        # By their session.
        self._turns: dict[str, RunningTurn] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        origin = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")
        readable = cross_origin.headers(origin)
        body = RequestBody(self._bodies, receive)
        try:
            answer = await self._begin(scope, body, path, origin)
        except Disconnected:
            return
        with suppress(OSError, RuntimeError):  # the client has left while something was sent
            if isinstance(answer, AgentReply):
                self._interrupt(answer.deleted_session)
                is_head = scope["method"] == "HEAD"
                await _send_whole(send, answer, readable, body, is_head=is_head)
            elif answer.stream is StreamMode.NONE:
                await self._answer_whole(answer, send, readable)
            else:
                await self._stream(answer, receive, send, readable)

    def end(self) -> None:
        """The server is about to stop: every turn ends, and is stored as interrupted."""
        self._bodies.hurry()
        for turn in self._turns.values():
            turn.interrupt()

    def close(self) -> None:
        self._threads.close()

    async def _begin(
        self, scope: Scope, sent: RequestBody, path: str, origin: str
    ) -> AgentReply | Started:
        if scope["method"] == "OPTIONS":
            return cross_origin.preflight(origin)
        limit = settings.HALO_MAX_BODY_BYTES
        try:
            body = await sent.read(limit + 1)
        except TimeoutError:
            return error_reply(ApiError(408, "The body took too long.", headers=CLOSING))
        if len(body) > limit:
            message = f"The body is larger than {limit} bytes."
            return error_reply(ApiError(413, message, headers=CLOSING))
        request = _request_of(scope, path, body)
        # Who calls is not known before a thread has found out.
        owner = request.headers.get("authorization") or request.address
        return await self._run_in_thread(owner, partial(endpoint.respond, request))

    def _run(self, started: Started) -> RunningTurn:
        in_thread = partial(self._run_in_thread, started.allowed.principal.authorization_id)
        journal = _Rows(started, in_thread)
        tools = SessionTools(
            surface=SURFACE,
            principal=started.allowed.principal,
            tools=started.allowed.tools,
            chosen=started.chosen,
            client_tools=started.client_tools,
            in_thread=in_thread,
            session_id=started.session_id,
            approval_tools=started.allowed.agent.approval_tools,
            note=f"session {started.session_id}; turn {started.turn_id}",
        )
        events_of_turn = EventLog()
        run = TurnRun(started.running, journal, tools, events_of_turn.append)
        running = RunningTurn(run, events_of_turn)
        renewing = asyncio.create_task(self._renew(started, running, in_thread))
        self._turns[started.session_id] = running

        def forget(_task: "asyncio.Task[None]") -> None:
            renewing.cancel()
            # The next turn of the session may have begun.
            if self._turns.get(started.session_id) is running:
                del self._turns[started.session_id]

        running.task.add_done_callback(forget)
        return running

    def _interrupt(self, session_id: str) -> None:
        """Ends the turn of a session that was deleted; another process notices it by its lease."""
        if (running := self._turns.get(session_id)) is not None:
            running.interrupt()

    async def _renew(
        self, started: Started, running: RunningTurn, in_thread: InThread[Any]
    ) -> None:
        """Keeps the session for the turn. A renewal that fails is made up for by the next one."""
        renew = partial(sessions.renew, started.session_id, started.turn_id)
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            try:
                if not await in_thread(renew):
                    running.interrupt()
            except Exception as error:  # noqa: BLE001  whatever it is, the turn goes on
                log.warning("lease_not_renewed", kind=type(error).__name__)

    async def _answer_whole(self, started: Started, send: Send, readable: Headers) -> None:
        found = await self._run(started).log.read_whole()
        status = 201 if started.is_new else 200
        await _send_whole(send, AgentReply(status, events.body(found)), readable)

    async def _stream(
        self, started: Started, receive: Receive, send: Send, readable: Headers
    ) -> None:
        running = self._run(started)
        left = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": _raw({**STREAM_HEADERS, **readable}),
                }
            )
            await self._send_events(running, started.stream, left, send)
        finally:
            left.cancel()
            running.leave()

    async def _send_events(
        self, running: RunningTurn, mode: StreamMode, left: "asyncio.Future[None]", send: Send
    ) -> None:
        position = 0
        while not left.done():
            coming = asyncio.ensure_future(running.log.read_from(position))
            waited: set[asyncio.Future[Any]] = {coming, left}
            await asyncio.wait(
                waited, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if not coming.done():
                coming.cancel()
                if not left.done():
                    await _send_part(send, events.KEEP_ALIVE)
                continue
            found = coming.result()
            position += len(found)
            data = b"".join(events.encode(event, mode) for event in found)
            is_last = isinstance(found[-1], TurnStopEvent)
            await _send_part(send, data, is_last=is_last)
            if is_last:
                return

    async def _run_in_thread(self, owner: Hashable, work: Callable[[], T]) -> T:
        """Run `work` in a thread, in the turn of its caller."""
        return await self._threads.submit(partial(waits.with_connection, work), owner=owner)


class _Rows:
    """The journal of a turn: what happens is stored in threads."""

    def __init__(self, started: Started, in_thread: Any) -> None:
        self._session, self._turn = started.session_id, started.turn_id
        self._principal = started.allowed.principal
        self._budget = started.running.limits.history_tokens
        self._in_thread = in_thread

    async def read_history(self) -> tuple[Sequence[Message], Sequence[Mapping[str, Any] | None]]:
        found: tuple[list[Message], list[Mapping[str, Any] | None]] = await self._in_thread(
            self._read_history
        )
        return found

    def _read_history(self) -> tuple[list[Message], list[Mapping[str, Any] | None]]:
        if not callers.is_valid(self._principal):
            raise KeyRevoked
        return sessions.read_history(self._session, self._budget)

    async def record_answer(self, answer: ModelCompletion, usage: ModelUsage) -> None:
        await self._in_thread(
            partial(sessions.record_answer, self._session, self._turn, answer, usage)
        )

    async def record_result(self, message: Message) -> None:
        await self._in_thread(partial(sessions.record_result, self._session, self._turn, message))

    async def end_turn(
        self, stop: TurnStopEvent, usage: ModelUsage, message: Message | None
    ) -> None:
        await self._in_thread(
            partial(sessions.end_turn, self._session, self._turn, stop, usage, message)
        )


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _request_of(scope: Scope, path: str, body: bytes) -> AgentRequest:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    joined = fields.combine_repeated(pairs)
    remote = scope["client"][0] if scope.get("client") else ""
    return AgentRequest(
        method=scope["method"],
        path=path,
        query=scope.get("query_string", b"").decode("latin-1"),
        headers=joined,
        body=body,
        address=peer.client_address(remote, joined.get("x-forwarded-for")),
    )


def _raw(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


async def _send_whole(
    send: Send,
    reply: AgentReply,
    readable: Headers,
    request: RequestBody | None = None,
    *,
    is_head: bool = False,
) -> None:
    body = reply.body
    headers = {"Cache-Control": "no-store", **readable, **reply.headers}
    if reply.value is not None:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    if is_head:  # with the length of what GET returns (RFC 9110 section 9.3.2)
        body = b""
    await send({"type": "http.response.start", "status": reply.status, "headers": _raw(headers)})
    if request is not None and "Connection" in reply.headers:
        # Refused before all of the request was read.
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await request.discard()
        body = b""
    await send({"type": "http.response.body", "body": body})


async def _send_part(send: Send, data: bytes, *, is_last: bool = False) -> None:
    if data or is_last:
        await send({"type": "http.response.body", "body": data, "more_body": not is_last})
