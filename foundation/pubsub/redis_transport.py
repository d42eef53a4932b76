"""Notifications through PUBLISH and SUBSCRIBE of Redis."""

import threading
from collections.abc import Callable
from typing import Final

import redis
from redis.client import PubSub

CHANNEL: Final = "halo:notices"
SOCKET_SECONDS: Final = 2.0


class RedisTransport:
    """Publishes on one channel of the Redis at `url`."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=SOCKET_SECONDS, socket_connect_timeout=SOCKET_SECONDS
        )

    def send(self, topic: str) -> None:
        self._client.publish(CHANNEL, topic)

    def receive(self, deliver: Callable[[str | None], None], stopping: threading.Event) -> None:
        pubsub: PubSub = self._client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # has no annotations
        with pubsub as subscription:
            subscription.subscribe(CHANNEL)
            deliver(None)
            while not stopping.is_set():
                message = subscription.get_message(timeout=SOCKET_SECONDS / 2)
                if message is not None:
                    deliver(message["data"].decode())
