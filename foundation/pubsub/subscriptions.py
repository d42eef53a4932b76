"""The subscriptions of a process: coroutines that wait for notifications, served by one thread."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from django.conf import settings

from foundation.pubsub.publishing import build_transport

RETRY_SECONDS: Final = 1.0

log = structlog.get_logger(__name__)


def _ignore() -> None:
    """The default of `wake`, for coroutines that call `wait`."""


class Subscription:
    """A subscription to a set of topics. Use it from the event loop that created it.

    Calls `wake` for each notification; a coroutine that waits for nothing else can `wait` instead.
    """

    __slots__ = ("_is_notified", "_subscriptions", "_topics", "_waiter", "_wake")

    def __init__(self, subscriptions: "Subscriptions", wake: Callable[[], None] = _ignore) -> None:
        self._subscriptions = subscriptions
        self._wake = wake
        self._topics: frozenset[str] = frozenset()
        self._is_notified = False
        self._waiter: asyncio.Future[None] | None = None

    def subscribe(self, topics: frozenset[str]) -> None:
        """Replaces the topics of this subscription.

        A new topic counts as a notification: something may have happened before the subscription.
        """
        if not topics <= self._topics:
            self._is_notified = True
        if topics != self._topics:
            self._subscriptions.replace(self, self._topics, topics)
            self._topics = topics

    def take_notified(self) -> bool:
        """Returns whether there was a notification since the last call."""
        is_notified, self._is_notified = self._is_notified, False
        return is_notified

    async def wait(self, topics: frozenset[str], seconds: float) -> None:
        """Waits for a notification on one of the topics, at most `seconds`.

        Notifications since the last wait count.
        """
        self.subscribe(topics)
        if not self._is_notified:
            await self._sleep(seconds)
        self._is_notified = False

    def notify(self, _topic: str | None = None) -> None:
        """Wakes the subscriber; the topic is None if notifications may have been missed."""
        self._is_notified = True
        self._wake()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Removes all topics."""
        self.subscribe(frozenset())

    async def _sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self.notify)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None


class ExclusiveSubscription(Subscription):
    """Calls `wake` for notifications on one topic, while no other one in the process has it.

    For events that cannot be looked up afterwards: notifications that may have been missed do not
    wake it. If several have the topic, a notification may be meant for any of them and wakes none.
    """

    __slots__ = ("_topic",)

    def __init__(
        self, subscriptions: "Subscriptions", topic: str, wake: Callable[[], None]
    ) -> None:
        super().__init__(subscriptions, wake)
        self._topic = topic
        self.subscribe(frozenset({topic}))

    def notify(self, topic: str | None = None) -> None:
        """Wakes the subscriber if this is its topic and no other subscription has it."""
        if topic == self._topic and self._subscriptions.count_exclusive(topic) == 1:
            self._wake()


class Subscriptions:
    """All subscriptions of this process, by topic; one thread receives the notifications."""

    def __init__(self) -> None:
        self._by_topic: dict[str, set[Subscription]] = {}
        self._stopping = threading.Event()
        self._is_receiving = False

    @contextmanager
    def subscription(self, wake: Callable[[], None] = _ignore) -> Iterator[Subscription]:
        """Yields a subscription without topics, and closes it after the block."""
        subscription = Subscription(self, wake)
        try:
            yield subscription
        finally:
            subscription.close()

    def replace(
        self, subscription: Subscription, before: frozenset[str], after: frozenset[str]
    ) -> None:
        """Replaces the topics `before` of a subscription with the topics `after`."""
        for topic in before - after:
            self._by_topic[topic].discard(subscription)
            if not self._by_topic[topic]:
                del self._by_topic[topic]
        for topic in after - before:
            self._by_topic.setdefault(topic, set()).add(subscription)
        if after and not self._is_receiving:
            self._is_receiving = True
            self._start(asyncio.get_running_loop())

    def count_exclusive(self, topic: str) -> int:
        """Returns the number of exclusive subscriptions to a topic in this process."""
        return sum(isinstance(one, ExclusiveSubscription) for one in self._by_topic.get(topic, ()))

    def close(self) -> None:
        """Stops the thread, without waiting for it."""
        self._stopping.set()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        receive = threading.Thread(target=self._receive, args=(loop,), name="pubsub", daemon=True)
        receive.start()

    def _receive(self, loop: asyncio.AbstractEventLoop) -> None:
        def deliver(topic: str | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._notify, topic)

        while not self._stopping.is_set():
            try:
                build_transport(settings.HALO_NOTICES).receive(deliver, self._stopping)
            except Exception as error:  # noqa: BLE001  whatever the transport's library raises
                log.warning("notices_interrupted", error=type(error).__name__)
                self._stopping.wait(RETRY_SECONDS)

    def _notify(self, topic: str | None) -> None:
        if topic is None:
            notified = {one for all_of in self._by_topic.values() for one in all_of}
        else:
            notified = set(self._by_topic.get(topic, ()))
        for subscription in notified:
            subscription.notify(topic)
