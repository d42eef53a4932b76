"""Statements that PostgreSQL has prepared, executed without psycopg's cursor.

The cursor is written in Python and costs twice as much as a statement that finds one row. This
module uses the functions of libpq directly, and writes and reads the values as text (PostgreSQL 15,
34.4, PQsendQueryPrepared).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from foundation import ids
from foundation.db.postgresql.connection import LimitedConnection
from foundation.db.rows import Row, Writers

Read: TypeAlias = Callable[[bytes], object]
Written: TypeAlias = Sequence[bytes | None]
# The readers of the columns of each statement that a connection has prepared, by its name, after
# the first result.
ReadersByName: TypeAlias = dict[bytes, tuple[Read, ...]]

# By type number (pg_type.oid), for the types that the statements here return.
READERS: Final[Mapping[int, Read]] = {
    16: b"t".__eq__,  # boolean
    17: lambda text: bytes.fromhex(text[2:].decode()),  # bytea, in hexadecimal
    20: int,  # bigint
    21: int,  # smallint
    23: int,  # integer
    25: bytes.decode,  # text
    700: float,  # real
    701: float,  # double precision
    1043: bytes.decode,  # character varying
    2950: lambda text: ids.parse_stored_key(text.decode()),  # uuid
    3802: bytes.decode,  # jsonb
}


WRITERS: Final[Writers[bytes | None]] = Writers(
    {
        type(None): lambda none: none,
        str: str.encode,
        int: b"%d".__mod__,
        UUID: lambda key: b"%032x" % key.int,
        datetime: lambda time: time.isoformat().encode(),
    }
)
# The errors after a change of the tables, a DEALLOCATE or DISCARD, or a pooler that gives the
# connection to another client (PostgreSQL 15, appendix A: feature_not_supported,
# invalid_sql_statement_name, duplicate_prepared_statement).
OUTDATED: Final = (
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)

_known: Final["WeakKeyDictionary[LimitedConnection, ReadersByName]"] = WeakKeyDictionary()


class Prepared:
    """A statement with `%s` for its values, prepared by each connection that runs it."""

    __slots__ = ("_name", "_numbered", "_sql")

    def __init__(self, sql: str) -> None:
        self._sql = sql
        # Named by its text: a pooler may give a connection to another process or release.
        self._name = b"halo_" + hashlib.sha256(sql.encode()).hexdigest()[:32].encode()
        first, *others = sql.split("%s")
        marks = (f"${number}{part}" for number, part in enumerate(others, start=1))
        self._numbered = "".join((first, *marks)).encode()

    def run(self, raw: LimitedConnection, values: Sequence[Any]) -> list[Row]:
        """Runs the statement and returns its rows, if any. Raises psycopg.Error.

        In a transaction, and on connections that must not prepare statements, psycopg's cursor runs
        it: psycopg begins the transaction with its own first statement.
        """
        if not raw.autocommit or raw.prepare_threshold is None:
            return self._execute_with_cursor(raw, values)
        wire, known = raw.pgconn, _known.setdefault(raw, {})
        written = _encode_values(values)
        try:
            result = self._execute_prepared(raw, known, written)
        except OUTDATED:
            # The statement was not executed. The server may still know the name; the next run
            # prepares it again.
            known.pop(self._name, None)
            raw.result_of(wire.send_query, b"DEALLOCATE " + self._name)
            result = _check_result(
                wire, raw.result_of(wire.send_query_params, self._numbered, written)
            )
            return _rows(result, _readers_of(result))
        readers = known.get(self._name) or _readers_of(result)
        known[self._name] = readers
        return _rows(result, readers)

    def _execute_with_cursor(self, raw: LimitedConnection, values: Sequence[Any]) -> list[Row]:
        with raw.cursor() as cursor:
            cursor.execute(self._sql, values)
            return cursor.fetchall() if cursor.description else []

    def _execute_prepared(
        self, raw: LimitedConnection, known: ReadersByName, written: Written
    ) -> PGresult:
        wire = raw.pgconn
        if self._name not in known:
            _check_result(wire, raw.result_of(wire.send_prepare, self._name, self._numbered))
        return _check_result(wire, raw.result_of(wire.send_query_prepared, self._name, written))


def _encode_values(values: Sequence[Any]) -> Written:
    written = WRITERS.adapt_values(values)
    # libpq takes C strings and would silently drop what follows a NUL.
    if b"\0" in b"".join(filter(None, written)):
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return written


def _check_result(wire: PGconn, result: PGresult) -> PGresult:
    if result.status in {ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK}:
        return result
    if wire.status == ConnStatus.BAD:
        raise psycopg.OperationalError(wire.get_error_message())
    raise psycopg.errors.error_from_result(result)


def _readers_of(result: PGresult) -> tuple[Read, ...]:
    # From the result: psycopg's describe call would block every thread while it waits.
    return tuple(READERS[result.ftype(column)] for column in range(result.nfields))


def _rows(result: PGresult, readers: Sequence[Read]) -> list[Row]:
    columns = list(enumerate(readers))
    return [
        tuple(
            None if (value := result.get_value(row, column)) is None else read(value)
            for column, read in columns
        )
        for row in range(result.ntuples)
    ]
