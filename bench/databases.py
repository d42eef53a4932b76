"""Databases to measure on: an empty one, copies of it, and audit rows put in and counted.

Databases go by their URLs, as DATABASE_URL spells them. Audit rows are distinguished by their keys,
which begin with the time.
"""

import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql

from bench import scratch
from bench.filling import COLUMNS

NAMES: Final = ", ".join(COLUMNS)
COUNT: Final = "SELECT count(*) FROM action_executions WHERE id >= {}"
FORGET: Final = "DELETE FROM action_executions WHERE id >= {}"


class Store(Protocol):
    """Where databases are made. A copy and an empty one are gone after their block."""

    def empty(self) -> AbstractContextManager[str]: ...

    def copy(self, url: str) -> AbstractContextManager[str]:
        """A copy of a database that nobody is connected to."""

    def fill(self, url: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add audit rows in the order of COLUMNS, and leave the table as it is when at rest."""

    def count(self, url: str, since: str) -> int:
        """The audit rows from a key on."""

    def forget(self, url: str, since: str) -> None:
        """Delete the audit rows from a key on, and what is left of them."""

    def cpu_seconds(self, url: str) -> float:
        """CPU time so far of the processes that serve this database alone; 0 where none does."""


def key_now() -> str:
    """A key below all that are made from now on, and above all that have been made."""
    # A millisecond on: a key of the one that runs could be either.
    time.sleep(0.002)
    return f"{time.time_ns() // 1_000_000:012x}" + "0" * 20


@dataclass(frozen=True)
class Postgresql:
    """A server, by the URL of any of its databases."""

    url: str

    def empty(self) -> AbstractContextManager[str]:
        return scratch.database(self.url)

    @contextmanager
    def copy(self, url: str) -> Iterator[str]:
        with scratch.database(self.url, template=_name(url)) as copied:
            yield copied

    def fill(self, url: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET timezone = 'UTC'")
            statement = sql.SQL("COPY action_executions ({}) FROM STDIN").format(
                sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
            )
            with connection.cursor().copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
            connection.execute("VACUUM (ANALYZE) action_executions")
            connection.execute("CHECKPOINT")

    def count(self, url: str, since: str) -> int:
        with psycopg.connect(url) as connection:
            row = connection.execute(COUNT.format("%s"), [since]).fetchone()
        return int(row[0]) if row else 0

    def forget(self, url: str, since: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(FORGET.format("%s"), [since])
            connection.execute("VACUUM action_executions")

    def cpu_seconds(self, url: str) -> float:
        return scratch.postgresql_cpu_seconds(url)


@dataclass(frozen=True)
class Sqlite:
    """A folder of database files."""

    folder: Path

    @contextmanager
    def empty(self) -> Iterator[str]:
        path = self.folder / f"{time.time_ns()}.sqlite3"
        try:
            yield f"sqlite:///{path}"
        finally:
            for file in self.folder.glob(f"{path.name}*"):
                file.unlink()

    @contextmanager
    def copy(self, url: str) -> Iterator[str]:
        with self.empty() as fresh:
            # Nobody is connected, so that the log has been written back and is gone.
            shutil.copy(_path(url), _path(fresh))
            yield fresh

    def fill(self, url: str, rows: Iterable[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(COLUMNS))
        with closing(_connected(url)) as connection, connection:
            connection.executemany(
                f"INSERT INTO action_executions ({NAMES}) VALUES ({marks})",  # noqa: S608  ours
                rows,
            )
            connection.execute("ANALYZE")

    def count(self, url: str, since: str) -> int:
        with closing(_connected(url)) as connection:
            return int(connection.execute(COUNT.format("?"), [since]).fetchone()[0])

    def forget(self, url: str, since: str) -> None:
        with closing(_connected(url)) as connection, connection:
            connection.execute(FORGET.format("?"), [since])

    def cpu_seconds(self, url: str) -> float:  # noqa: ARG002  the port's: it works in the server
        return 0.0


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def _path(url: str) -> str:
    return unquote(url.removeprefix("sqlite:///"))


def _connected(url: str) -> sqlite3.Connection:
    connection = sqlite3.connect(_path(url), timeout=30)
    connection.execute("PRAGMA journal_mode=WAL")
    return connection
