"""A limit for how long a block may wait for the database, the same on PostgreSQL and SQLite.

To set and reset PostgreSQL's statement_timeout for one block takes two round trips, and SQLite has
no such setting. Here one thread of the process cancels the statements of overdue blocks
(PostgreSQL 15, 34.7; SQLite, sqlite3_interrupt). A block within its limit adds no round trip.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from foundation.db import waits

log = structlog.get_logger(__name__)
# Without blocks the thread looks so often. A block with a shorter limit wakes it.
IDLE_SECONDS: Final = 1.0
# An overdue block may be between two statements, so its next one is cancelled too.
REPEAT_SECONDS: Final = 0.1
# The code of a statement that was cancelled (PostgreSQL 15, appendix A).
QUERY_CANCELED: Final = "57014"
CANCEL_SECONDS: Final = 2.0  # to connect to PostgreSQL and send the request


class TimeLimitExceeded(Exception):
    """A statement was cancelled because its block took too long."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Cancels the statements that the current thread runs after so many seconds in the block.

    Raises TimeLimitExceeded in place of the error of the cancelled statement. A transaction around
    the block cannot be used afterwards.
    """
    block = _LimitedBlock(connections[DEFAULT_DB_ALIAS], time.monotonic() + seconds)
    _canceller.add(block)
    try:
        # PostgreSQL may be silent, and answer neither the statement nor its cancellation.
        with waits.reply_limit(seconds + waits.REPLY_MARGIN_SECONDS):
            yield
    except OperationalError as error:
        if _is_cancellation(error):
            raise TimeLimitExceeded from error
        raise
    finally:
        _canceller.remove(block)


class _LimitedBlock:
    """A running block: its connection, and when it is overdue."""

    __slots__ = ("_database", "_is_over", "_lock", "overdue_at")

    def __init__(self, database: Any, overdue_at: float) -> None:
        self._database = database
        self.overdue_at = overdue_at
        self._is_over = False
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """Cancels the statement that runs on the connection, if any."""
        # The block does not end in between: what follows it on the connection is not cancelled.
        with self._lock:
            raw = self._database.connection
            if self._is_over or raw is None:
                return
            if isinstance(raw, sqlite3.Connection):
                raw.interrupt()
            else:
                raw.cancel_safe(timeout=CANCEL_SECONDS)

    def end(self) -> None:
        """After this no statement is cancelled."""
        with self._lock:
            self._is_over = True


class _Canceller:
    """The running blocks, and the thread that cancels the statements of those that are overdue."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: set[_LimitedBlock] = set()
        self._thread: threading.Thread | None = None
        self._wakes_at = 0.0
        self._woken = threading.Event()

    def add(self, block: _LimitedBlock) -> None:
        with self._lock:
            self._blocks.add(block)
            # After a fork the thread is missing in the new process.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._watch, name="database-time-limit", daemon=True
                )
                self._thread.start()
            elif block.overdue_at < self._wakes_at:
                self._woken.set()

    def remove(self, block: _LimitedBlock) -> None:
        with self._lock:
            self._blocks.discard(block)
        block.end()

    def _watch(self) -> None:
        while True:
            self._woken.wait(self._seconds_to_wait())
            self._woken.clear()
            now = time.monotonic()
            with self._lock:
                overdue = [block for block in self._blocks if block.overdue_at <= now]
            for block in overdue:
                _cancel(block)

    def _seconds_to_wait(self) -> float:
        now = time.monotonic()
        with self._lock:
            nearest = min((block.overdue_at for block in self._blocks), default=now + IDLE_SECONDS)
            self._wakes_at = min(max(nearest, now + REPEAT_SECONDS), now + IDLE_SECONDS)
            return self._wakes_at - now


def _cancel(block: _LimitedBlock) -> None:
    try:
        block.cancel()
    except Exception:
        # The connection was closed, or PostgreSQL cannot be reached: the block has its own error.
        log.warning("statement_not_cancelled", exc_info=True)


def _is_cancellation(error: OperationalError) -> bool:
    cause = error.__cause__
    if isinstance(cause, sqlite3.OperationalError):
        return cause.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", None) == QUERY_CANCELED


_canceller: Final = _Canceller()
