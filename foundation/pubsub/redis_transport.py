"""Notifications through PUBLISH and SUBSCRIBE of Redis."""

import threading
from collections.abc import Callable
from typing import Final

from redis.client import PubSub

from foundation.outage import Outage
from foundation.redis_client import build_client

CHANNEL: Final = "halo:notices"
SOCKET_SECONDS: Final = 2.0
# Of a thread that answers; once a second, while Redis does not.
PUBLISH_SECONDS: Final = 0.5


class RedisTransport:
    """Publishes on one channel of the Redis at `url`."""

    def __init__(self, url: str) -> None:
        self._publisher = build_client(url, PUBLISH_SECONDS)
        self._client = build_client(url, SOCKET_SECONDS)
        self._outage = Outage()

    def send(self, topic: str) -> None:
        if self._outage.skips_store():
            raise ConnectionError("Redis failed a moment ago.")
        try:
            self._publisher.publish(CHANNEL, topic)
        except Exception:
            self._outage.record_failure()
            raise
        self._outage.record_success()

    def receive(self, deliver: Callable[[str | None], None], stopping: threading.Event) -> None:
        pubsub: PubSub = self._client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # has no annotations
        with pubsub as subscription:
            subscription.subscribe(CHANNEL)
            deliver(None)
            while not stopping.is_set():
                message = subscription.get_message(timeout=SOCKET_SECONDS / 2)
                if message is not None:
                    deliver(message["data"].decode())
