"""How long this process waits for PostgreSQL, by the kind of work that it does.

A process says once what it does (`begin`). Commands and migrations have no limits, and a connection
of their own. The threads of other processes share a bounded pool of connections
(docs/decisions/0077-limits-of-waits.md).
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections

T = TypeVar("T")

# A statement of a call finds a few rows; what takes long is in a `time_limit` of its own.
CALL_SECONDS: Final = 10.0
# PostgreSQL cancels a statement first, so that it can say so.
REPLY_MARGIN_SECONDS: Final = 2.0
# The background worker has a process for short tasks and one for long ones.
WORKER_PROCESSES: Final = 2
# Of each of them: more than it has threads.
WORKER_CONNECTIONS: Final = 6

# How long after its last use a connection that its thread keeps is taken for alive.
TRUSTED_SECONDS: Final = 1.0


class _Thread(threading.local):
    worked_at: float = -math.inf


_thread: Final = _Thread()


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """The limits of a process in seconds; None is no limit.

    PostgreSQL ends what exceeds `statement`, `lock` or `idle_in_transaction`. `reply` is how long
    this end waits for the answer to a statement: a peer that is silent ends nothing.
    """

    connections: int = 0
    statement: float | None = None
    lock: float | None = None
    idle_in_transaction: float | None = None
    reply: float | None = None

    @property
    def is_pooled(self) -> bool:
        """Returns whether the threads of the process share its connections."""
        return self.connections > 0


COMMAND: Final = WaitLimits()

_current: WaitLimits = COMMAND
_reply_seconds: Final[ContextVar[float | None]] = ContextVar("reply_seconds", default=None)


def web_limits() -> WaitLimits:
    """Returns the limits of a web process, for its slowest page or call that is allowed."""
    longest = max(settings.HALO_PAGE_SECONDS, settings.HALO_DATA_SECONDS, CALL_SECONDS)
    statement = longest + 5
    return WaitLimits(
        connections=settings.HALO_DATABASE_CONNECTIONS,
        statement=statement,
        lock=5,
        idle_in_transaction=60,
        reply=statement + REPLY_MARGIN_SECONDS,
    )


def worker_limits() -> WaitLimits:
    """Returns the limits of a process of the background worker."""
    return WaitLimits(
        connections=min(WORKER_CONNECTIONS, settings.HALO_DATABASE_CONNECTIONS),
        statement=600,
        lock=60,
        idle_in_transaction=300,
        reply=600 + REPLY_MARGIN_SECONDS,
    )


def begin(limits: WaitLimits) -> None:
    """Sets what this process does, before its threads start.

    A connection that is open already keeps the limits that it has.
    """
    global _current  # noqa: PLW0603  one value for each process
    _current = limits


def give_back_connection() -> None:
    """Gives the connection of this thread back to the pool, except within a transaction.

    A connection that its thread keeps, as on SQLite, stays.
    """
    for connection in connections.all(initialized_only=True):
        is_pooled = getattr(connection.connection, "_pool", None) is not None
        if is_pooled and not connection.in_atomic_block:
            connection.close()


def current() -> WaitLimits:
    """Returns the limits of this process."""
    return _current


def reply_seconds() -> float | None:
    """Returns how long the current thread waits for the answer to a statement."""
    return _reply_seconds.get() or _current.reply


@contextmanager
def reply_limit(seconds: float) -> Iterator[None]:
    """Limits how long the statements of the block wait for their answers."""
    before = _reply_seconds.set(seconds)
    try:
        yield
    finally:
        _reply_seconds.reset(before)


def with_connection(function: Callable[..., T], *args: Any) -> T:
    """Run a function in a thread, with a connection for as long as it runs; return its result."""
    # Django tries a connection that its thread keeps, on SQLite, before its next statement once
    # this has been called: right for one that was quiet for a while.
    if time.monotonic() - _thread.worked_at > TRUSTED_SECONDS:
        close_old_connections()
    try:
        with reply_limit(CALL_SECONDS):
            return function(*args)
    finally:
        # A connection that an error broke is dropped now, and another one goes back to the pool.
        database = connections[DEFAULT_DB_ALIAS]
        if database.errors_occurred:
            drop_connection()
        else:
            give_back_connection()
        _thread.worked_at = time.monotonic()


def drop_connection() -> None:
    """Let go of the thread's connection, even where it still answers."""
    connections[DEFAULT_DB_ALIAS].close()
