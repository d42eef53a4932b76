"""Publishes notifications through the transport of settings.HALO_NOTICES."""

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Final, Protocol, TypeAlias

import structlog
from django.conf import settings
from django.db import transaction

from foundation.pubsub.file_transport import FileTransport
from foundation.pubsub.postgresql_transport import PostgresqlTransport

# Called with the topic of each notification; None means that some may have been missed.
Deliver: TypeAlias = Callable[[str | None], None]

MAX_CHARACTERS: Final = 200

log = structlog.get_logger(__name__)


class Transport(Protocol):
    """Sends notifications from process to process."""

    def send(self, topic: str) -> None:
        """Sends a notification. Raises whatever error prevents it."""

    def receive(self, deliver: Deliver, stopping: threading.Event) -> None:
        """Calls `deliver` with None once it listens, then with topics, until `stopping` is set."""


def publish(topic: str) -> None:
    """Notifies the subscribers of `topic` in every process, once the transaction is committed.

    Without a transaction it notifies at once. An error of the transport is only logged, because
    subscribers also poll. Raises ValueError for a topic that is not 1 to 200 ASCII characters.
    """
    if not topic.isascii() or not 0 < len(topic) <= MAX_CHARACTERS:
        raise ValueError(f"A topic is 1 to {MAX_CHARACTERS} ASCII characters.")
    transaction.on_commit(partial(_send, topic))


@cache
def build_transport(name: str) -> Transport:
    """Returns the transport for "postgresql", a Redis URL or the path of a file."""
    if name == "postgresql":
        return PostgresqlTransport()
    if name.startswith(("redis://", "rediss://", "unix://")):
        from foundation.pubsub.redis_transport import RedisTransport  # noqa: PLC0415  slow to import

        return RedisTransport(name)
    return FileTransport(name)


def _send(topic: str) -> None:
    try:
        build_transport(settings.HALO_NOTICES).send(topic)
    except Exception as error:  # noqa: BLE001  whatever the transport's library raises
        log.warning("notice_lost", topic=topic, error=type(error).__name__)
