"""SQL statements of the hot path, executed without the ORM.

Django's cursor costs more than the statements. A statement here runs on the driver's connection
that Django keeps for the thread, with the same checks. While queries are recorded or wrapped, it
runs through Django's cursor.
"""

import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from foundation.db.rows import Row, Writers

if TYPE_CHECKING:
    from foundation.db.prepared import Prepared

Value: TypeAlias = str | int | UUID | datetime | None

# How values are stored in SQLite, as Django does it.
WRITERS: Final[Writers[str | int | None]] = Writers(
    {
        type(None): lambda none: none,
        str: str.__str__,
        int: int.__int__,
        UUID: attrgetter("hex"),
        datetime: lambda time: str(time.astimezone(UTC).replace(tzinfo=None)),
    }
)
# SQLite lets those who wait for its lock try again by chance, and on a slow disk some never get it.
# Threads that write one statement wait here for each other instead.
SQLITE_WRITE: Final = threading.Lock()


class Statement:
    """A statement with `%s` for its values, which has the same meaning in every database here.

    Values are text, integers, UUIDs, aware datetimes and None. Keys are returned as the database
    has them: a UUID from PostgreSQL, 32 hexadecimal digits from SQLite. SQLite returns 1 for true.
    """

    __slots__ = ("_for_sqlite", "_prepared", "_writes", "sql")

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._for_sqlite = sql.replace("%s", "?")
        self._prepared: Prepared | None = None
        self._writes = not sql.lstrip().startswith("SELECT")

    def row(self, *values: Value) -> Row | None:
        """Returns the first row, or None. Raises the errors of Django's cursor."""
        rows = self.rows(*values)
        return rows[0] if rows else None

    def rows(self, *values: Value) -> list[Row]:
        """Returns all rows, if any. Raises the errors of Django's cursor."""
        database = connections[DEFAULT_DB_ALIAS]
        if database.execute_wrappers or database.force_debug_cursor:
            return self._execute_with_cursor(database, values)
        if database.connection is None or not database.health_check_done:  # type: ignore[attr-defined]  # the stubs lack it
            database.close_if_health_check_failed()
            database.ensure_connection()
        database.validate_no_broken_transaction()
        # Without Django's check of the thread: this connection was taken from the current thread.
        with database.wrap_database_errors:
            raw: Any = database.connection
            if not isinstance(raw, sqlite3.Connection):
                return (self._prepared or self._prepare()).run(raw, values)
            # Read all rows: a cursor with unread rows would hold the lock of the database.
            written = [WRITERS[type(value)](value) for value in values]
            # A transaction has SQLite's lock already: another thread may wait for it with ours.
            if self._writes and not database.in_atomic_block:
                return self._write_exclusively(raw, written)
            return raw.execute(self._for_sqlite, written).fetchall()

    def _prepare(self) -> "Prepared":
        from foundation.db.prepared import Prepared  # noqa: PLC0415  psycopg, for PostgreSQL only

        self._prepared = Prepared(self.sql)
        return self._prepared

    def _write_exclusively(
        self, raw: sqlite3.Connection, written: Sequence[str | int | None]
    ) -> list[Row]:
        """Runs a write when no other thread does; waits as long for them as for a transaction."""
        if not SQLITE_WRITE.acquire(timeout=settings.SQLITE_TIMEOUT_SECONDS):
            raise sqlite3.OperationalError("database is locked")
        try:
            return raw.execute(self._for_sqlite, written).fetchall()
        finally:
            SQLITE_WRITE.release()

    def _execute_with_cursor(
        self, database: BaseDatabaseWrapper, values: Sequence[Value]
    ) -> list[Row]:
        adapted = WRITERS.adapt_values(values) if database.vendor == "sqlite" else values
        with database.cursor() as cursor:
            cursor.execute(self.sql, adapted)
            return cursor.fetchall() if cursor.description else []
