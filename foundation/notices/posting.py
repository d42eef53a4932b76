"""Posting notices by the carrier that settings.HALO_NOTICES names."""

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Final, Protocol, TypeAlias

import structlog
from django.conf import settings
from django.db import transaction

from foundation.notices.by_file import FileCarrier
from foundation.notices.by_postgresql import PostgresqlCarrier
from foundation.notices.by_redis import RedisCarrier

# What a carrier calls with the topic of each notice; None says that some may have been missed.
Deliver: TypeAlias = Callable[[str | None], None]

MOST_CHARACTERS: Final = 200

log = structlog.get_logger(__name__)


class Carrier(Protocol):
    """Takes notices from process to process."""

    def send(self, topic: str) -> None:
        """Hand a notice over; raises whatever keeps it from going out."""

    def receive(self, deliver: Deliver, stopping: threading.Event) -> None:
        """Deliver what comes, and None once it listens, until told to stop; may raise."""


def post(topic: str) -> None:
    """Wake everybody who waits for `topic`, in every process, once the transaction is committed.

    At once outside a transaction. A carrier that is down is logged and nothing else: those who
    wait look for themselves from time to time.
    """
    if not topic.isascii() or not 0 < len(topic) <= MOST_CHARACTERS:
        raise ValueError(f"A topic is 1 to {MOST_CHARACTERS} ASCII characters.")
    transaction.on_commit(partial(_send, topic))


@cache
def build_carrier(name: str) -> Carrier:
    """The carrier for "postgresql", a redis URL, or the path of a file."""
    if name == "postgresql":
        return PostgresqlCarrier()
    if name.startswith(("redis://", "rediss://", "unix://")):
        return RedisCarrier(name)
    return FileCarrier(name)


def _send(topic: str) -> None:
    try:
        build_carrier(settings.HALO_NOTICES).send(topic)
    except Exception:
        log.exception("notice_lost", topic=topic)
