"""A statement that PostgreSQL has prepared, run below psycopg's cursor.

The cursor is written in Python and costs twice what a statement does that finds one row. Below it
stand the functions of libpq; what they leave to do is to write values as text and to read them back
(PostgreSQL 15, 34.3.1, PQexecPrepared).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from operator import call
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult

from foundation import ids

W = TypeVar("W")
Row: TypeAlias = tuple[Any, ...]
Read: TypeAlias = Callable[[bytes], object]
Written: TypeAlias = Sequence[bytes | None]
# What a connection has prepared, by name: how the columns are read, once there was a result.
Known: TypeAlias = dict[bytes, tuple[Read, ...]]

# By the number of the type (pg_type.oid); only what the statements here return.
READERS: Final[Mapping[int, Read]] = {
    16: b"t".__eq__,  # boolean
    17: lambda text: bytes.fromhex(text[2:].decode()),  # bytea, in hexadecimal
    20: int,  # bigint
    21: int,  # smallint
    23: int,  # integer
    25: bytes.decode,  # text
    1043: bytes.decode,  # character varying
    2950: lambda text: ids.stored(text.decode()),  # uuid
    3802: bytes.decode,  # jsonb
}


class Writers(dict[type, Callable[[Any], W]], Generic[W]):
    """How values are written, by type: like the nearest of those they are made of."""

    def __missing__(self, kind: type) -> Callable[[Any], W]:
        for base in kind.__mro__:
            if base in self:
                return self.setdefault(kind, self[base])
        raise TypeError(f"No statement takes a value of {kind.__name__}.")

    def written(self, values: Sequence[Any]) -> list[W]:
        # An audit row has thirty values: none of them costs a byte code here.
        return [*map(call, map(self.__getitem__, map(type, values)), values)]


WRITERS: Final[Writers[bytes | None]] = Writers(
    {
        type(None): lambda none: none,
        str: str.encode,
        int: b"%d".__mod__,
        UUID: lambda key: b"%032x" % key.int,
        datetime: lambda time: time.isoformat().encode(),
    }
)
# What a change of the tables leaves behind, what somebody's DEALLOCATE or DISCARD does, and what a
# pooler that hands connections on (PostgreSQL 15, appendix A: feature_not_supported,
# invalid_sql_statement_name, duplicate_prepared_statement).
OUTDATED: Final = (
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)

_known: Final["WeakKeyDictionary[psycopg.Connection[Any], Known]"] = WeakKeyDictionary()


class Wire(Protocol):
    """What a statement is asked on, by the names of libpq's functions (psycopg.pq.PGconn)."""

    @property
    def status(self) -> int: ...
    def get_error_message(self) -> str: ...
    def prepare(self, name: bytes, sql: bytes, /) -> PGresult: ...
    def exec_prepared(self, name: bytes, values: Any, /) -> PGresult: ...
    def exec_params(self, sql: bytes, values: Any, /) -> PGresult: ...


class Prepared:
    """One statement, with `%s` where its values go; prepared by each connection that runs it."""

    __slots__ = ("_name", "_numbered", "_sql")

    def __init__(self, sql: str) -> None:
        self._sql = sql
        # By what it says: a pooler may hand a connection on to another process or release.
        self._name = b"halo_" + hashlib.sha256(sql.encode()).hexdigest()[:32].encode()
        first, *others = sql.split("%s")
        marks = (f"${number}{part}" for number, part in enumerate(others, start=1))
        self._numbered = "".join((first, *marks)).encode()

    def run(self, raw: "psycopg.Connection[Any]", values: Sequence[Any]) -> list[Row]:
        """Run it and return its rows; none for one that returns none. Raises psycopg.Error.

        psycopg's cursor runs it inside a transaction, which psycopg begins with its own first
        statement, and where the connection is told to prepare nothing.
        """
        if not raw.autocommit or raw.prepare_threshold is None:
            return self._by_cursor(raw, values)
        return self.ask(raw.pgconn, _known.setdefault(raw, {}), values)

    def ask(self, wire: Wire, known: Known, values: Sequence[Any]) -> list[Row]:
        """Run it on a wire that has prepared what is `known`. Raises psycopg.Error.

        Others may ask on the wire while this waits, if it lets them.
        """
        written = _written(values)
        try:
            result = self._executed(wire, known, written)
        except OUTDATED:
            # Nothing was done. The server may know the name still; the next run prepares it anew.
            known.pop(self._name, None)
            wire.exec_params(b"DEALLOCATE " + self._name, None)
            result = _checked(wire, wire.exec_params(self._numbered, written))
            return _rows(result, _readers_of(result))
        readers = known.get(self._name) or _readers_of(result)
        if self._name in known:
            known[self._name] = readers
        return _rows(result, readers)

    def _by_cursor(self, raw: "psycopg.Connection[Any]", values: Sequence[Any]) -> list[Row]:
        with raw.cursor() as cursor:
            cursor.execute(self._sql, values)
            return cursor.fetchall() if cursor.description else []

    def _executed(self, wire: Wire, known: Known, written: Written) -> PGresult:
        if self._name not in known:
            # Said ahead of the answer: who asks meanwhile stands behind this in the line.
            known[self._name] = ()
            try:
                _checked(wire, wire.prepare(self._name, self._numbered))
            except psycopg.Error:
                known.pop(self._name, None)
                raise
        return _checked(wire, wire.exec_prepared(self._name, written))


def _written(values: Sequence[Any]) -> Written:
    written = WRITERS.written(values)
    # libpq takes C strings: what stands behind a NUL would be cut off without a word.
    if b"\0" in b"".join(filter(None, written)):
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return written


def _checked(wire: Wire, result: PGresult) -> PGresult:
    if result.status in {ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK}:
        return result
    if wire.status == ConnStatus.BAD:
        raise psycopg.OperationalError(wire.get_error_message())
    raise psycopg.errors.error_from_result(result)


def _readers_of(result: PGresult) -> tuple[Read, ...]:
    # From the result itself: psycopg's way to ask beforehand holds every thread while it waits.
    return tuple(READERS[result.ftype(column)] for column in range(result.nfields))


def _rows(result: PGresult, readers: Sequence[Read]) -> list[Row]:
    return [_row(result, row, readers) for row in range(result.ntuples)]


def _row(result: PGresult, row: int, readers: Sequence[Read]) -> Row:
    values = map(result.get_value, repeat(row), range(len(readers)))
    read = zip(values, readers, strict=True)
    return tuple([None if value is None else of(value) for value, of in read])
