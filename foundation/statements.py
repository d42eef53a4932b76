"""SQL that is run with every call: written once, prepared by the database, without the ORM.

Django's cursor costs more than the statements behind it. Here a statement goes to the driver's
connection that Django keeps for the thread, with the same checks around it; while somebody watches
the queries it goes through Django's cursor like any other. On a fiber it goes out on a line of the
loop, and the fiber waits for the answer (foundation/fibers.py).
"""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from foundation.fibers import Fiber, current
from foundation.file_line import FileLine
from foundation.lines import Lines
from foundation.prepared import Prepared, Row, Writers

Value: TypeAlias = str | int | UUID | datetime | None

# Read once: to ask a setting takes longer than to ask for a row's column, and this one stays.
ON_SQLITE: Final[bool] = settings.ON_SQLITE
# How values stand in SQLite: as Django stores them there.
WRITERS: Final[Writers[str | int | None]] = Writers(
    {
        type(None): lambda none: none,
        str: str.__str__,
        int: int.__int__,
        UUID: attrgetter("hex"),
        datetime: lambda time: str(time.astimezone(UTC).replace(tzinfo=None)),
    }
)


class Statement:
    """One statement, with `%s` where its values go, that means the same to every database here.

    Values are text, integers, UUIDs, aware times and None. Keys come back as the database has
    them: a UUID from PostgreSQL, 32 hexadecimal digits from SQLite. What SQLite computes to be true
    is 1.
    """

    __slots__ = ("_for_sqlite", "_prepared", "_reads", "sql")

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._for_sqlite = sql.replace("%s", "?")
        self._prepared = Prepared(sql)
        self._reads = sql.split(maxsplit=1)[0].upper() == "SELECT"

    def row(self, *values: Value) -> Row | None:
        """The first row, None where there is none. Raises what Django's cursor would."""
        rows = self.rows(*values)
        return rows[0] if rows else None

    def rows(self, *values: Value) -> list[Row]:
        """All rows; none for a statement that returns none. Raises what Django's cursor would."""
        fiber = current()
        if fiber is not None:
            return self._on_fiber(fiber, values)
        database = connections[DEFAULT_DB_ALIAS]
        if database.execute_wrappers or database.force_debug_cursor:
            return self._watched(database, values)
        if database.connection is None or not database.health_check_done:  # type: ignore[attr-defined]  # the stubs lack it
            database.close_if_health_check_failed()
            database.ensure_connection()
        database.validate_no_broken_transaction()
        # Whose thread it is need not be asked: the thread's own was taken above.
        with database.wrap_database_errors:
            return self._run(database.connection, values)

    def _on_fiber(self, fiber: Fiber, values: Sequence[Value]) -> list[Row]:
        if ON_SQLITE:
            return self._on_file(fiber, values)
        lines = fiber.ground.shared(Lines, Lines)
        with lines.errors:
            line = lines.take(fiber, reads=self._reads)
            return self._prepared.ask(line, line.known, values)

    def _on_file(self, fiber: Fiber, values: Sequence[Value]) -> list[Row]:
        file = fiber.ground.shared(FileLine, FileLine)
        run = file.read if self._reads else file.write
        with file.errors:
            rows: list[Row] = run(fiber, self._for_sqlite, WRITERS.written(values))
            return rows

    def _run(self, raw: Any, values: Sequence[Value]) -> list[Row]:
        if isinstance(raw, sqlite3.Connection):
            # Read to the end: a cursor left half-way would hold the database's lock.
            return raw.execute(self._for_sqlite, WRITERS.written(values)).fetchall()
        return self._prepared.run(raw, values)

    def _watched(self, database: BaseDatabaseWrapper, values: Sequence[Value]) -> list[Row]:
        adapted = WRITERS.written(values) if database.vendor == "sqlite" else values
        with database.cursor() as cursor:
            cursor.execute(self.sql, adapted)
            return cursor.fetchall() if cursor.description else []
