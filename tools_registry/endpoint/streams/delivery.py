"""One open stream at the edge: what its steps emit goes out, and silence is kept alive.

Thousands may be open and silent at once, so each holds little: its coroutine, a future and a timer
while it waits, and a task that waits for the client to disconnect.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from foundation.asgi import Event, Receive, Send
from foundation.pubsub import ExclusiveSubscription, Subscription, Subscriptions
from mcp_protocol import sse
from tools_registry.endpoint.http import Emit, Pool, Step, Stream, Suspend, response_start

# Words for so many messages that were left out, where there are any.
LeftOut: TypeAlias = Callable[[int], Mapping[str, Any] | None]
# Runs a step in a thread of the pool named.
Start: TypeAlias = Callable[[Pool, Step, Emit], "asyncio.Future[Suspend | None]"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """How messages are written: each one, a comment, and what keeps a silent stream open."""

    message: Callable[[Mapping[str, Any]], bytes]
    comment: Callable[[str], bytes]
    keep_alive: bytes


EVENTS: Final = Encoding(sse.event, sse.comment, sse.KEEP_ALIVE)

# Events kept for a client that reads too slowly; what a tool says beyond them is left out, and the
# client is informed how many were.
MAX_WAITING: Final = 1000


class Outbox:
    """The way of a stream's events from the thread that works to the loop that sends."""

    __slots__ = ("_dropped", "_encoding", "_left_out", "_loop", "_waiting", "_wake")

    def __init__(
        self, wake: Callable[[], None], left_out: LeftOut, encoding: Encoding = EVENTS
    ) -> None:
        self._encoding = encoding
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        self._dropped = 0
        self._left_out = left_out
        self._wake = wake

    def emit(self, message: Mapping[str, Any]) -> None:
        """Take over a message, from any thread; too many notifications are left out."""
        is_notification = "method" in message and "id" not in message
        keep = self._offer if is_notification else self._keep
        # A tool may still run when the loop is closed: its messages are dropped.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(keep, self._encoding.message(message))

    def take(self) -> bytes:
        """All events that wait, as the bytes to send."""
        self._own_up()
        waiting, self._waiting = self._waiting, []
        return b"".join(waiting)

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def _offer(self, event: bytes) -> None:
        if len(self._waiting) < MAX_WAITING:
            self._keep(event)
        else:
            self._dropped += 1

    def _keep(self, event: bytes) -> None:
        self._own_up()
        self._waiting.append(event)
        self._wake()

    def _own_up(self) -> None:
        """Say where it was that messages were left out, before whatever comes next."""
        if not self._dropped:
            return
        words = self._left_out(self._dropped)
        comment = self._encoding.comment(f"{self._dropped} messages left out")
        self._waiting.append(comment if words is None else self._encoding.message(words))
        self._dropped = 0


class StreamDelivery:
    """The delivery of one stream: `run` it to its end."""

    __slots__ = (
        "_begin",
        "_cancellation",
        "_encoding",
        "_given_up",
        "_is_abandoned",
        "_is_left",
        "_keep_alive",
        "_news",
        "_on_abandon",
        "_on_cancel",
        "_on_close",
        "_on_interrupt",
        "_on_shutdown",
        "_outbox",
        "_pool",
        "_send",
        "_spoke_at",
        "_start",
        "_step",
        "_subscription",
        "changes",
    )

    def __init__(
        self,
        stream: Stream,
        start: Start,
        send: Send,
        subscriptions: Subscriptions,
        keep_alive: float,
        *,
        encoding: Encoding = EVENTS,
    ) -> None:
        # Of the stream itself nothing is kept: most of it is done with once it has begun.
        self._begin: Event | None = response_start(stream.status, stream.headers)
        self._step: Step | None = stream.run
        self._pool = stream.pool
        self.changes = stream.changes
        self._on_abandon = stream.on_abandon
        self._on_close = stream.on_close
        self._on_cancel = stream.on_cancel
        self._on_shutdown = stream.on_shutdown
        self._on_interrupt = stream.on_interrupt
        self._start = start
        self._send = send
        self._keep_alive, self._encoding = keep_alive, encoding
        self._subscription = Subscription(subscriptions, self.wake)
        # Only the streams of some revisions can be cancelled by a notification.
        cancel = stream.cancel_topic
        self._cancellation = (
            ExclusiveSubscription(subscriptions, cancel, self._cancel) if cancel else None
        )
        self._outbox = Outbox(self.wake, stream.left_out, encoding)
        self._news: asyncio.Future[None] | None = None
        self._spoke_at = time.monotonic()
        self._is_left = self._given_up = self._is_abandoned = False

    async def run(self, receive: Receive) -> None:
        """Do every step and send every event."""
        watch = asyncio.ensure_future(self._watch(receive))
        try:
            await self._do_all()
        finally:
            watch.cancel()
            self._subscription.close()
            if self._cancellation is not None:
                self._cancellation.close()
        await self._send_on({"type": "http.response.body", "body": b""})

    def wake(self) -> None:
        """Look at what is new: an event, a notice, the end of a step, or the client's going."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def shut_down(self) -> None:
        """Have the stream come to its end soon."""
        self._on_shutdown()
        self._subscription.notify()

    def interrupt(self) -> None:
        """Have what runs stop at its next step."""
        self._on_interrupt()

    def abandon(self) -> None:
        """Wait for nothing any more: what runs and does not stop is left to itself."""
        self._is_abandoned = True
        self._subscription.notify()

    def _cancel(self) -> None:
        self._on_cancel()
        self._subscription.notify()

    async def _do_all(self) -> None:
        if self._begin is not None:
            await self._send_on(self._begin)
        self._begin = None
        while self._step is not None and not self._is_abandoned:
            pause = await self._run_step(self._step)
            self._step = pause.resume if pause is not None else None
            if pause is not None:
                self._pool = pause.pool
                await self._pause(pause.topics, pause.seconds)

    async def _run_step(self, step: Step) -> Suspend | None:
        work = self._start(self._pool, step, self._outbox.emit)
        work.add_done_callback(lambda _work: self.wake())
        while not work.done() and not self._is_abandoned:
            await self._look(self._keep_alive)
        await self._say(self._outbox.take())
        if work.done():
            return work.result()
        work.cancel()  # so that its callback does not wake this stream
        if (response := self._on_abandon()) is not None:
            await self._say(self._encoding.message(response))
        return None

    async def _pause(self, topics: frozenset[str], seconds: float) -> None:
        """Return once a notice has come, the time is over, or the stream is to end."""
        self._subscription.subscribe(topics)
        due = time.monotonic() + seconds
        while not self._subscription.take_notified() and (left := due - time.monotonic()) > 0:
            await self._look(left)

    async def _look(self, seconds: float) -> None:
        """Wait for news, but not for long, and send the events among them."""
        if self._outbox.is_empty:
            until_comment = self._spoke_at + self._keep_alive - time.monotonic()
            await self._silence(min(seconds, until_comment))
        await self._say(self._outbox.take() or self._comment())

    def _comment(self) -> bytes:
        """What keeps a quiet stream open, once it has been quiet for long."""
        now = time.monotonic()
        if now < self._spoke_at + self._keep_alive:
            return b""
        self._spoke_at = now
        return self._encoding.keep_alive

    async def _silence(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        timer = loop.call_later(max(seconds, 0), self.wake)
        try:
            await self._news
        except asyncio.CancelledError:
            self._give_up()
        finally:
            timer.cancel()
            self._news = None

    async def _say(self, body: bytes) -> None:
        if body:
            self._spoke_at = time.monotonic()
            await self._send_on({"type": "http.response.body", "body": body, "more_body": True})

    async def _send_on(self, event: Event) -> None:
        if self._is_left:
            return
        try:
            await self._send(event)
        except (OSError, RuntimeError):
            # The first is what a server may raise once the client has gone (ASGI, Disconnect); the
            # second what uvloop does where it did not say so before, as when a request stood behind
            # this one on the connection. The stream has to give back what it holds all the same.
            self._leave()
        except asyncio.CancelledError:
            self._give_up()

    def _give_up(self) -> None:
        """The server will wait no longer. What is under way still comes to its end.

        Its audit row has to be finished. When cancelled again it is abandoned. Either way this
        ends like any stream: a server would log an error for a task that is cancelled.
        """
        self._is_abandoned = self._given_up
        self._given_up = True
        self._leave()

    def _leave(self) -> None:
        self._is_left = True
        self._on_close()
        self._subscription.notify()

    async def _watch(self, receive: Receive) -> None:
        """Tell the stream, and the work that waits for a notice, when the client goes away."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._leave()
