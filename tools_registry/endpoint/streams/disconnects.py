"""Learns, while a call that is answered in one piece runs, that its client has cancelled it.

Nearly every call is over before: a watcher is made only for a request that takes longer.
"""

import asyncio
from functools import partial
from typing import Final

from foundation.asgi import Receive
from foundation.pubsub import ExclusiveSubscription, Subscriptions
from tools_registry.endpoint.http import CancelState, InFlightCall
from tools_registry.endpoint.streams import cancellation

WATCHES_AFTER: Final = 0.05  # seconds


class DisconnectWatcher:
    """Watches one request until `CancelState.stop` is called."""

    __slots__ = (
        "_is_over",
        "_loop",
        "_receive",
        "_state",
        "_subscription",
        "_subscriptions",
        "_task",
    )

    def __init__(self, state: CancelState, receive: Receive, subscriptions: Subscriptions) -> None:
        self._state, self._receive, self._subscriptions = state, receive, subscriptions
        self._loop = asyncio.get_running_loop()
        self._subscription: ExclusiveSubscription | None = None
        self._is_over = False
        state.stop = self._stop
        # In this order: a call that begins in between is noticed twice, and never missed.
        state.on_begin = partial(self._loop.call_soon_threadsafe, self._watch_call)
        # Its client may leave before a thread is free for it.
        self._task = self._loop.create_task(self._wait_for_disconnect())
        self._watch_call()

    def _stop(self) -> None:
        self._is_over = True
        self._state.on_begin = None
        self._task.cancel()
        self._unsubscribe()

    def _watch_call(self) -> None:
        """Subscribe to the cancellation of the call that runs now."""
        call = self._state.call
        if self._is_over or call is None:
            return
        self._unsubscribe()
        topic = cancellation.topic(call.authorization_id, call.terms, call.id)
        if topic:
            self._subscription = ExclusiveSubscription(
                self._subscriptions, topic, partial(self._cancel, call)
            )

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
        self._subscription = None

    def _cancel(self, call: InFlightCall) -> None:
        self._state.cancelled = call

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._state.has_left = True
