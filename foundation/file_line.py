"""How the fibers of a loop share an SQLite file: what reads is read at once, what writes in groups.

To read, and to put a row into memory, takes microseconds, fewer than any way to a thread and back.
A commit waits for the disk, and one at a time can: so a thread commits, and what has come meanwhile
becomes durable with the next commit (https://www.sqlite.org/wal.html; synchronous=FULL). Nobody is
answered before that.
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
# Writers wait for each other; the loop does not wait with them.
WRITES_DO_NOT: Final = "PRAGMA busy_timeout = 0"
JOURNAL: Final = "PRAGMA journal_mode"
BEGIN: Final = "BEGIN IMMEDIATE"
COMMIT: Final = "COMMIT"
# Rows that are put down in one go: the loop does nothing else meanwhile.
MOST_AT_ONCE: Final = 64


@dataclass(slots=True, eq=False)
class _Write:
    """A statement that changes something, and what came of it."""

    fiber: Fiber
    sql: str
    values: Values
    rows: list[Row] = field(default_factory=list)
    error: Exception | None = None


class FileLine:
    """Two connections to the file: one to read on, one to write on, whose commits a thread does.

    `errors` is the context in which the module's errors become Django's.
    """

    def __init__(self, ground: Ground) -> None:
        # Made once: Django's `connections` are others on every fiber, and are never opened there.
        self.errors: Final = connections.create_connection(DEFAULT_DB_ALIAS).wrap_database_errors
        self._ground = ground
        self._reading: asyncio.Future[sqlite3.Connection] | None = None
        self._writing: sqlite3.Connection | None = None
        self._is_quick = False  # whether rows can be put down on the loop
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
            # Not at once: what else comes in this turn of the loop goes with it.
            self._is_writing = True
            self._ground.loop.call_soon(self._begin)
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
        """Have those that wait written; their fibers go on when that is done."""
        if self._is_closed:
            _resume(self._lost())
            return
        group = self._waiting[:MOST_AT_ONCE]
        del self._waiting[:MOST_AT_ONCE]
        connection = self._put_down(group)
        work = partial(self._commit, connection) if connection else self._write_all
        try:
            written = self._ground.own(partial(work, group))
        except Exception as error:  # noqa: BLE001  no thread is to be had, for those behind neither
            group += self._waiting
            self._waiting.clear()
            self._is_writing = False
            self._give_up(group, error)
            self._ground.loop.call_soon(_resume, group)
            return
        written.add_done_callback(partial(self._go_on, group))

    def _put_down(self, group: Sequence[_Write]) -> sqlite3.Connection | None:
        """Carry a group out on the loop, up to its commit.

        Returns the connection that has to commit, None where a thread has to begin anew: to wait
        for somebody else who writes, or to meet whatever is wrong once more.
        """
        connection = self._writing if self._is_quick else None
        if connection is None:
            return None
        try:
            connection.execute(BEGIN)
            _carry_out(connection, group)
        except Exception:  # noqa: BLE001  it is for those who wait, if it happens again
            self._let_go()
            for write in group:
                write.error = None
            return None
        return connection

    def _go_on(self, group: list[_Write], written: "asyncio.Future[None]") -> None:
        if _has_failed(written):
            self._give_up(group, _stopping())
        # First, so that the next group is on its way to the disk while these go on.
        if self._is_closed:
            group += self._lost()
        elif self._waiting:
            self._begin()
        else:
            self._is_writing = False
        _resume(group)

    def _lost(self) -> list[_Write]:
        """What comes too late to be written."""
        self._let_go()
        lost, self._waiting = self._waiting, []
        _fail(lost, _stopping())
        return lost

    def _commit(self, connection: sqlite3.Connection, group: Sequence[_Write]) -> None:
        """Make durable what was put down. In a thread."""
        try:
            connection.execute(COMMIT)
        except Exception as error:  # noqa: BLE001  it is for those who wait
            self._give_up(group, error)

    def _write_all(self, group: Sequence[_Write]) -> None:
        """Carry out a group with one commit. In a thread, which waits for others who write."""
        try:
            connection = self._writing = self._writing or _connected()
            connection.execute(BEGIN)
            # A commit waits for those who read where a file has no such log.
            self._is_quick = connection.execute(JOURNAL).fetchone() == ("wal",)
            if self._is_quick:
                connection.execute(WRITES_DO_NOT)
            _carry_out(connection, group)
            connection.execute(COMMIT)
        except Exception as error:  # noqa: BLE001  it is for those who wait
            self._give_up(group, error)

    def _give_up(self, group: Sequence[_Write], error: Exception) -> None:
        _fail(group, error)
        self._let_go()

    def _let_go(self) -> None:
        if self._writing is not None:
            # What was begun and not committed is undone with it.
            self._writing.close()
            self._writing = None


def _carry_out(connection: sqlite3.Connection, group: Sequence[_Write]) -> None:
    for write in group:
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
