"""How the fibers of a loop share an SQLite file: what reads is read at once, what writes in groups.

A read takes microseconds, fewer than any way to a thread and back. A write waits for the disk, and
one at a time can: so one thread writes, and what has come while it wrote becomes durable with one
commit (https://www.sqlite.org/wal.html; synchronous=FULL). Nobody is answered before that.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from django.db import DEFAULT_DB_ALIAS, connections

from foundation.fibers import Fiber, Ground, awaited
from foundation.prepared import Row

Values: TypeAlias = Sequence[str | int | None]

# Readers wait for nobody but whoever repairs the file after a crash, and the loop with them.
READS_WAIT: Final = "PRAGMA busy_timeout = 250"


@dataclass(slots=True, eq=False)
class _Write:
    """A statement that changes something, and what came of it."""

    fiber: Fiber
    sql: str
    values: Values
    rows: list[Row] = field(default_factory=list)
    error: Exception | None = None


class FileLine:
    """Two connections to the file: the loop reads on one, and a thread writes on the other.

    `errors` is the context in which the module's errors become Django's.
    """

    def __init__(self, ground: Ground) -> None:
        # Made once: Django's `connections` are others on every fiber, and are never opened there.
        self.errors: Final = connections.create_connection(DEFAULT_DB_ALIAS).wrap_database_errors
        self._ground = ground
        self._reading: asyncio.Future[sqlite3.Connection] | None = None
        self._writing: sqlite3.Connection | None = None
        self._waiting: list[_Write] = []
        self._is_writing = False
        self._is_closed = False

    def read(self, fiber: Fiber, sql: str, values: Values) -> list[Row]:
        """The rows of a statement that changes nothing. Raises what SQLite's module does."""
        if self._reading is None or _has_failed(self._reading):
            self._reading = self._ground.own(_read_connected)
        # Read to the end: a cursor left half-way would keep what it reads from being tidied up.
        return awaited(fiber, self._reading).execute(sql, values).fetchall()

    def write(self, fiber: Fiber, sql: str, values: Values) -> list[Row]:
        """Change something, for good once this returns. Raises what SQLite's module does."""
        if self._is_closed:
            raise _stopping()
        write = _Write(fiber, sql, values)
        self._waiting.append(write)
        if not self._is_writing:
            self._begin()
        fiber.pause()
        error, write.error = write.error, None
        if error is None:
            return write.rows
        try:
            raise error
        finally:
            del error  # it knows this frame, which would keep it

    def close(self) -> None:
        """Let go of the file, once what is being written is; what waits is refused."""
        self._is_closed = True
        if self._reading is not None:
            self._reading.add_done_callback(_close)
        if not self._is_writing:
            self._let_go()

    def _begin(self) -> None:
        """Have all that wait written; their fibers go on when that is done."""
        group, self._waiting = self._waiting, []
        try:
            written = self._ground.own(partial(self._write_all, group))
        except RuntimeError as error:  # there is no thread to be had
            _fail(group, error)
            self._ground.loop.call_soon(_resume, group)
            return
        self._is_writing = True
        written.add_done_callback(partial(self._go_on, group))

    def _go_on(self, group: list[_Write], written: "asyncio.Future[None]") -> None:
        self._is_writing = False
        if _has_failed(written):
            _fail(group, _stopping())
        # First, so that the next group is on its way to the disk while these go on.
        if self._is_closed:
            group += self._lost()
        elif self._waiting:
            self._begin()
        _resume(group)

    def _lost(self) -> list[_Write]:
        """What comes too late to be written."""
        self._let_go()
        lost, self._waiting = self._waiting, []
        _fail(lost, _stopping())
        return lost

    def _write_all(self, group: Sequence[_Write]) -> None:
        """Carry out a group with one commit. In a thread, one group at a time."""
        try:
            connection = self._writing = self._writing or _connected()
            connection.execute("BEGIN IMMEDIATE")
            for write in group:
                _carry_out(connection, write)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  it is for those who wait
            _fail(group, error)
            self._let_go()

    def _let_go(self) -> None:
        if self._writing is not None:
            # What was begun and not committed is undone with it.
            self._writing.close()
            self._writing = None


def _carry_out(connection: sqlite3.Connection, write: _Write) -> None:
    try:
        write.rows = connection.execute(write.sql, write.values).fetchall()
    except Exception as error:
        # One that fails leaves nothing behind, and the others alone, unless SQLite has given up
        # the whole transaction (https://www.sqlite.org/lang_transaction.html, section 3).
        write.error = error
        if not connection.in_transaction:
            raise


def _fail(group: Sequence[_Write], error: Exception) -> None:
    """The error for all that have none of their own; one each, for each is raised by itself."""
    for write in group:
        write.error = write.error or type(error)(*error.args)


def _resume(group: Sequence[_Write]) -> None:
    for write in group:
        write.fiber.resume()


def _connected() -> sqlite3.Connection:
    """A connection with the settings of Django's."""
    database = connections.create_connection(DEFAULT_DB_ALIAS)
    database.connect()
    connection: sqlite3.Connection = database.connection
    return connection


def _read_connected() -> sqlite3.Connection:
    connection = _connected()
    connection.execute(READS_WAIT)
    return connection


def _close(opening: "asyncio.Future[sqlite3.Connection]") -> None:
    if not _has_failed(opening):
        opening.result().close()


def _stopping() -> sqlite3.OperationalError:
    return sqlite3.OperationalError("the server is about to stop")


def _has_failed(opening: "asyncio.Future[Any]") -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)
