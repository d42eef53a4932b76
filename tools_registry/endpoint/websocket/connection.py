"""One open WebSocket: messages in, each with a task of its own, and messages out through a queue.

An idle one holds the task that waits for a frame and nothing else: thousands may be open.
"""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings

from foundation import ids
from foundation.asgi import Event, Receive, Send
from tools_registry.endpoint import sessions
from tools_registry.endpoint.asgi import McpApplication
from tools_registry.endpoint.http import Answer, Deferred, Headers, HttpRequest, Stream
from tools_registry.endpoint.websocket import frames
from tools_registry.endpoint.websocket.close_codes import CloseCode
from tools_registry.endpoint.websocket.frames import LINES, MAX_IN_FLIGHT, InFlightMessage
from tools_registry.endpoint.websocket.handshake import Admitted

log = structlog.get_logger(__name__)

# Of messages that wait because the client reads too slowly; one more may be as large as a result.
MAX_QUEUED_BYTES: Final = 4_194_304
# How long the client may read nothing of what was sent, as over HTTP (`HttpProtocol`).
WRITE_SECONDS: Final = 30.0
# How long the last messages have when the server stops.
FLUSH_SECONDS: Final = 2.0
TOO_SLOW: Final = "Messages are read too slowly."
NO_LONGER_VALID: Final = "The token is no longer valid."
LEFT: Final[Event] = {"type": "http.disconnect"}


class WebSocketConnection:
    """An open WebSocket; `run` it until it is closed."""

    __slots__ = (
        "__weakref__",
        "_edge",
        "_is_closed",
        "_is_ending",
        "_pushed",
        "_queue",
        "_queued_bytes",
        "_send",
        "_session",
        "_tasks",
        "_works",
        "_writer",
        "active_at",
        "caller",
    )

    def __init__(self, edge: McpApplication, caller: Admitted, send: Send) -> None:
        self._edge, self.caller, self._send = edge, caller, send
        self._session = ""
        self._works: set[InFlightMessage] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._pushed: frozenset[UUID] = frozenset()
        self._is_closed = self._is_ending = False
        self.active_at = time.monotonic()

    async def run(self, receive: Receive) -> None:
        """Answer every message until the client or the server closes the socket."""
        while (event := await receive())["type"] != "websocket.disconnect":
            if not self._is_closed:
                await self._take(event)
        self._is_closed = True
        for work in self._works:
            work.leave()
        if self._writer is not None:
            self._writer.cancel()

    async def finish(self) -> None:
        """Wait for what still runs for a client that has gone."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self, code: CloseCode, reason: str) -> None:
        """Close the socket; nothing more is sent."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._writer is not None:
            self._writer.cancel()
        self._queue.clear()
        log.info("websocket_closed", code=int(code), authorization=str(self._authorization))
        with suppress(OSError, RuntimeError):  # the client has gone
            await self._send({"type": "websocket.close", "code": int(code), "reason": reason})

    def end(self) -> None:
        """The server stops: close the socket as soon as everything is answered."""
        self._is_ending = True
        self._close_when_answered()

    def is_idle(self, seconds: float) -> bool:
        """Whether the client has sent nothing for so long, and waits for nothing."""
        return not self._works and time.monotonic() - self.active_at >= seconds

    def push(self, pending: dict[UUID, bytes]) -> None:
        """Send those of the pending messages of its authorization that it has not sent before."""
        for identifier, text in pending.items():
            if identifier not in self._pushed:
                self.put(text)
        self._pushed = frozenset(pending)

    def put(self, text: bytes) -> None:
        """Queue a message; closes the socket if too much waits already."""
        if self._is_closed:
            return
        if self._queued_bytes > MAX_QUEUED_BYTES:
            self._start(self.close(CloseCode.TIMEOUT, TOO_SLOW))
            return
        self._queue.append(text)
        self._queued_bytes += len(text)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())

    @property
    def _authorization(self) -> UUID:
        return self.caller.principal.authorization_id

    async def _take(self, event: Event) -> None:
        text = event.get("text")
        if text is None:
            await self.close(CloseCode.MALFORMED, "Send JSON-RPC messages as text frames.")
            return
        body = text.encode()
        if len(body) > settings.HALO_MAX_BODY_BYTES:
            limit = settings.HALO_MAX_BODY_BYTES
            await self.close(CloseCode.TOO_LARGE, f"A message exceeds {limit} bytes.")
            return
        if self._is_ending:
            return
        self.active_at = time.monotonic()
        if len(self._works) >= MAX_IN_FLIGHT:
            # Nothing further is read meanwhile.
            await self._do(InFlightMessage(), body, is_crowded=True)
            return
        work = InFlightMessage()
        self._works.add(work)
        task = self._start(self._do(work, body))
        if not self._session and frames.is_initialize(body):
            # The session that it opens has the revision of all messages behind it.
            await asyncio.wait({task})

    async def _do(self, work: InFlightMessage, body: bytes, *, is_crowded: bool = False) -> None:
        request = self._request(work, body)
        begin = partial(frames.answer, work, request, self.caller.principal, is_crowded=is_crowded)
        try:
            if is_crowded:
                # The other threads may be busy with those that it is refused for.
                answer: Answer | Deferred = await self._edge.look(begin)
            else:
                answer = await self._edge.answer(
                    work.cancellation, begin, owner=self._authorization
                )
            await self._respond(work, answer)
        except asyncio.CancelledError:
            if not self._is_ending:
                raise
            if work.has_response:
                self.put(frames.shutdown_response(work))
        finally:
            self._works.discard(work)
            self.active_at = time.monotonic()
            self._close_when_answered()

    async def _respond(self, work: InFlightMessage, answer: Answer | Deferred) -> None:
        if work.is_unauthenticated:
            await self.close(CloseCode.UNAUTHENTICATED, NO_LONGER_VALID)
            return
        if work.cancels is not None:
            self._cancel(work.cancels)
        if isinstance(answer, Stream):
            gone = partial(_wait_until_gone, work)
            await self._edge.deliver(
                work.streams(answer), gone, partial(self._forward, work), LINES
            )
            return
        if isinstance(answer, Deferred):
            raise TypeError("A message that is refused defers nothing.")
        self._session = dict(answer.headers).get(sessions.HEADER, self._session)
        if answer.body and work.has_response and not work.is_cancelled:
            self.put(answer.body)

    async def _forward(self, work: InFlightMessage, event: Event) -> None:
        """Send the lines of a stream's body as messages."""
        if work.is_cancelled:
            return
        for line in event.get("body", b"").splitlines():
            self.put(line)

    def _cancel(self, request_id: object) -> None:
        for work in self._works:
            if work.request_id == request_id and type(work.request_id) is type(request_id):
                work.cancel()

    def _request(self, work: InFlightMessage, body: bytes) -> HttpRequest:
        session = ((sessions.HEADER.lower(), self._session),) if self._session else ()
        headers: Headers = (
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("host", self.caller.host),
            *session,
        )
        return HttpRequest(
            method="POST",
            headers=headers,
            query="",
            body=body,
            address=self.caller.address,
            request_id=ids.uuid7().hex,
            surface=self.caller.surface,
            lasting=True,
            cancellation=work.cancellation,
            is_frame=True,
        )

    async def _write(self) -> None:
        try:
            while self._queue:
                text = self._queue.pop(0)
                async with asyncio.timeout(WRITE_SECONDS):
                    await self._send({"type": "websocket.send", "text": text.decode()})
                self._queued_bytes -= len(text)
        except TimeoutError:
            self._start(self.close(CloseCode.TIMEOUT, TOO_SLOW))
        except (OSError, RuntimeError):
            self._queue.clear()  # the client has gone
        finally:
            self._writer = None

    def _close_when_answered(self) -> None:
        if self._is_ending and not self._works and not self._is_closed:
            self._start(self._close_for_shutdown())

    async def _close_for_shutdown(self) -> None:
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=FLUSH_SECONDS)
        await self.close(CloseCode.SHUTDOWN, "The server is stopping.")

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _wait_until_gone(work: InFlightMessage) -> Event:
    await work.gone.wait()
    return LEFT
