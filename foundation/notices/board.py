"""Waiting for notices, a coroutine at a time, without a thread for each."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from django.conf import settings

from foundation.notices.posting import build_carrier

TRIES_AGAIN_AFTER: Final = 1.0  # seconds

log = structlog.get_logger(__name__)


def _nobody() -> None:
    """Whoever looks for themselves needs no waking."""


class Listener:
    """One ear. Use it from the loop it was made in.

    `wake` is called at each ring; a coroutine that has nothing else to wait for can `wait` instead.
    """

    __slots__ = ("_board", "_rung", "_topics", "_waiter", "_wake")

    def __init__(self, board: "Board", wake: Callable[[], None] = _nobody) -> None:
        self._board = board
        self._wake = wake
        self._topics: frozenset[str] = frozenset()
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def hear(self, topics: frozenset[str]) -> None:
        """Hear these topics and no others from now on.

        Topics that are new to this listener count as a ring: something may have happened before it
        listened.
        """
        if not topics <= self._topics:
            self._rung = True
        if topics != self._topics:
            self._board.move(self, self._topics, topics)
            self._topics = topics

    def has_rung(self) -> bool:
        """Whether it has rung since this was last asked."""
        rung, self._rung = self._rung, False
        return rung

    async def wait(self, topics: frozenset[str], seconds: float) -> None:
        """Return once a notice on one of the topics has come, or after so many seconds.

        What came since the last wait counts.
        """
        self.hear(topics)
        if not self._rung:
            await self._sleep(seconds)
        self._rung = False

    def ring(self, _topic: str | None = None) -> None:
        """Wake whoever waits here; the topic is None where notices may have been missed."""
        self._rung = True
        self._wake()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def leave(self) -> None:
        """Hear nothing any more."""
        self.hear(frozenset())

    async def _sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self.ring)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None


class Ear(Listener):
    """Calls `wake` for notices on one very topic; one that may have been missed is none.

    For what nobody could look up. Where several here have an ear on one topic, a notice may mean
    any of them and wakes none.
    """

    __slots__ = ("_topic",)

    def __init__(self, board: "Board", topic: str, wake: Callable[[], None]) -> None:
        super().__init__(board, wake)
        self._topic = topic
        self.hear(frozenset({topic}))

    def ring(self, topic: str | None = None) -> None:
        """Wake whoever waits for this topic."""
        if topic == self._topic and self._board.ears(topic) == 1:
            self._wake()


class Board:
    """Everybody in this process who waits for a notice, by topic; one thread brings the notices."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}
        self._stopping = threading.Event()
        self._receiving = False

    @contextmanager
    def listener(self, wake: Callable[[], None] = _nobody) -> Iterator[Listener]:
        """A listener for as long as the block runs."""
        listener = Listener(self, wake)
        try:
            yield listener
        finally:
            listener.leave()

    def move(self, listener: Listener, before: frozenset[str], after: frozenset[str]) -> None:
        """Have a listener hear other topics than it did."""
        for topic in before - after:
            self._listeners[topic].discard(listener)
            if not self._listeners[topic]:
                del self._listeners[topic]
        for topic in after - before:
            self._listeners.setdefault(topic, set()).add(listener)
        if after and not self._receiving:
            self._receiving = True
            self._start(asyncio.get_running_loop())

    def ears(self, topic: str) -> int:
        """How many ears a topic has here, other listeners not counted."""
        return sum(isinstance(one, Ear) for one in self._listeners.get(topic, ()))

    def close(self) -> None:
        """End the thread, soon."""
        self._stopping.set()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        receive = threading.Thread(target=self._receive, args=(loop,), name="notices", daemon=True)
        receive.start()

    def _receive(self, loop: asyncio.AbstractEventLoop) -> None:
        def deliver(topic: str | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._ring, topic)

        while not self._stopping.is_set():
            try:
                build_carrier(settings.HALO_NOTICES).receive(deliver, self._stopping)
            except Exception as error:  # noqa: BLE001  whatever the carrier's library raises
                log.warning("notices_interrupted", error=type(error).__name__)
                self._stopping.wait(TRIES_AGAIN_AFTER)

    def _ring(self, topic: str | None) -> None:
        if topic is None:
            heard = {listener for all_of in self._listeners.values() for listener in all_of}
        else:
            heard = set(self._listeners.get(topic, ()))
        for listener in heard:
            listener.ring(topic)
