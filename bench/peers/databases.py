"""The database of a peer: connections that last, statements that stay prepared, no ORM."""

import asyncio
import json
import sqlite3
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import orjson
import psycopg
from psycopg.types.json import Jsonb

Row: TypeAlias = tuple[Any, ...]
Cursor: TypeAlias = psycopg.AsyncRawCursor[Row]
# As many as the server under test has threads with a connection each.
CONNECTIONS: Final = 4
SQLITE_SETTINGS: Final = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16000;"
)


class Database(Protocol):
    """Rows of a statement, or a committed write; values in the form that the columns take."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def rows(self, text: str, values: Sequence[Any]) -> list[Row]: ...
    async def write(self, text: str, values: Sequence[Any]) -> None: ...
    def json(self, value: Any) -> Any: ...
    def key(self, value: Any) -> Any: ...
    def now(self) -> Any: ...


def build(url: str) -> Database:
    return OnSqlite(urlsplit(url).path) if url.startswith("sqlite:") else OnPostgresql(url)


class OnPostgresql:
    """A few connections that take turns, newest first; every statement commits by itself.

    Each keeps one cursor for good: a new one for every statement costs half as much again.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: deque[Cursor] = deque()
        self._places = asyncio.Semaphore(CONNECTIONS)

    async def open(self) -> None:
        for _ in range(CONNECTIONS):
            connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
            self._idle.append(psycopg.AsyncRawCursor(connection))

    async def close(self) -> None:
        for cursor in self._idle:
            await cursor.connection.close()

    async def rows(self, text: str, values: Sequence[Any]) -> list[Row]:
        async with self._places:
            cursor = self._idle.pop()
            try:
                await cursor.execute(_numbered(text), values, prepare=True, binary=True)
                return await cursor.fetchall()
            finally:
                self._idle.append(cursor)

    async def write(self, text: str, values: Sequence[Any]) -> None:
        async with self._places:
            cursor = self._idle.pop()
            try:
                await cursor.execute(_numbered(text), values, prepare=True)
            finally:
                self._idle.append(cursor)

    def json(self, value: Any) -> Any:
        return Jsonb(value, orjson.dumps)

    def key(self, value: Any) -> Any:
        return value

    def now(self) -> Any:
        return datetime.now(UTC)


class OnSqlite:
    """Reads on the event loop, which take microseconds; writes, which wait for the disk, beside it.

    One thread writes: more would only wait for one another.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._writer = ThreadPoolExecutor(1)

    async def open(self) -> None:
        self._reading, self._writing = self._connect(), self._connect()

    async def close(self) -> None:
        self._writer.shutdown()
        self._reading.close()
        self._writing.close()

    async def rows(self, text: str, values: Sequence[Any]) -> list[Row]:
        return self._reading.execute(_marked(text), values).fetchall()

    async def write(self, text: str, values: Sequence[Any]) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, self._writing.execute, _marked(text), values)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, timeout=20, check_same_thread=False
        )
        connection.executescript(SQLITE_SETTINGS)
        return connection

    def json(self, value: Any) -> Any:
        return json.dumps(value)

    def key(self, value: Any) -> Any:
        return value.hex

    def now(self) -> Any:
        return str(datetime.now(UTC).replace(tzinfo=None))


@cache
def _numbered(text: str) -> str:
    """The statement with PostgreSQL's own marks: $1, $2 and so on."""
    first, *rest = text.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


@cache
def _marked(text: str) -> str:
    """The statement with SQLite's own marks."""
    return text.replace("%s", "?")
