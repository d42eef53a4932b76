"""The database of a peer: a lasting connection for each thread, prepared statements, no ORM."""

import json
import sqlite3
import threading
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import orjson
import psycopg
from psycopg.types.json import Jsonb

Row: TypeAlias = tuple[Any, ...]
SQLITE_SETTINGS: Final = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16000;"
)


class Database(Protocol):
    """Rows of a statement, or a committed write; values in the form that the columns take."""

    def rows(self, text: str, values: Sequence[Any]) -> list[Row]: ...
    def write(self, text: str, values: Sequence[Any]) -> None: ...
    def json(self, value: Any) -> Any: ...
    def key(self, value: Any) -> Any: ...
    def now(self) -> Any: ...
    def ago(self, seconds: int) -> Any: ...


def build(url: str) -> Database:
    return OnSqlite(urlsplit(url).path) if url.startswith("sqlite:") else OnPostgresql(url)


class OnPostgresql(threading.local):
    """Every statement commits by itself.

    A thread keeps one cursor for good: a new one for every statement costs half as much again.
    """

    def __init__(self, url: str) -> None:
        # As the product's connections have it (`foundation/db/planning.py`).
        planning = "-c random_page_cost=1.1"
        connection = psycopg.connect(url, autocommit=True, options=planning)
        self._cursor: psycopg.RawCursor[Row] = psycopg.RawCursor(connection)

    def rows(self, text: str, values: Sequence[Any]) -> list[Row]:
        self._cursor.execute(_numbered(text), values, prepare=True, binary=True)
        return self._cursor.fetchall()

    def write(self, text: str, values: Sequence[Any]) -> None:
        self._cursor.execute(_numbered(text), values, prepare=True)

    def json(self, value: Any) -> Any:
        return Jsonb(value, orjson.dumps)

    def key(self, value: Any) -> Any:
        return value

    def now(self) -> Any:
        return datetime.now(UTC)

    def ago(self, seconds: int) -> Any:
        return datetime.now(UTC) - timedelta(seconds=seconds)


class OnSqlite(threading.local):
    """As ours has it: every thread reads and writes on a connection of its own."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=20)
        self._connection.executescript(SQLITE_SETTINGS)

    def rows(self, text: str, values: Sequence[Any]) -> list[Row]:
        return self._connection.execute(_marked(text), values).fetchall()

    def write(self, text: str, values: Sequence[Any]) -> None:
        self._connection.execute(_marked(text), values)

    def json(self, value: Any) -> Any:
        return json.dumps(value)

    def key(self, value: Any) -> Any:
        return value.hex

    def now(self) -> Any:
        return self.ago(0)

    def ago(self, seconds: int) -> Any:
        return str(datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=seconds))


def text(key: uuid.UUID | str) -> str:
    """A key as text; SQLite keeps the digits alone."""
    return str(uuid.UUID(key) if isinstance(key, str) else key)


def moment(value: datetime | str) -> datetime:
    """A time; SQLite keeps it as text."""
    return datetime.fromisoformat(f"{value}+00:00") if isinstance(value, str) else value


@cache
def _numbered(text: str) -> str:
    """The statement with PostgreSQL's own marks: $1, $2 and so on."""
    first, *rest = text.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


@cache
def _marked(text: str) -> str:
    """The statement with SQLite's own marks."""
    return text.replace("%s", "?")
