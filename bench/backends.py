"""The databases of a comparison, which all begin alike, and their settings."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from bench import scratch, stores
from bench.scratch import ROOT, Server
from bench.stores import Postgresql, Redis

TEMPLATE: Final = "template"
RAISED: Final = {f"HALO_RATE_{name}": "1000000/s" for name in ("TOOLS_CALL", "OTHER", "IP")}
# Tokens are for this address, whatever port a server listens on.
PUBLIC_URL: Final = "http://127.0.0.1:8000"
ACT_SECONDS: Final = 300


@dataclass(frozen=True)
class Tenant:
    """What every database begins with. `rows` are on record before the first call."""

    token: str
    work: Mapping[str, Any]
    rows: int


class Backend(Protocol):
    """A kind of database, with or without Redis."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings of whoever opens one of its databases."""
        ...

    @property
    def version(self) -> str: ...

    def address(self, name: str) -> str:
        """The URL of the database by this name; made by `fresh`, or by the first who opens it."""
        ...

    def fresh(self, name: str) -> str:
        """A copy of what TEMPLATE holds; returns its URL."""
        ...

    def cpu_seconds(self, address: str) -> Mapping[str, float]:
        """CPU time so far of whom this database keeps busy, by name."""
        ...


@dataclass(frozen=True)
class OnPostgresql:
    postgresql: Postgresql
    redis: Redis
    environment: Mapping[str, str]
    version: str

    def address(self, name: str) -> str:
        return self.postgresql.address(name)

    def fresh(self, name: str) -> str:
        return self.postgresql.create(name, TEMPLATE)

    def cpu_seconds(self, address: str) -> Mapping[str, float]:
        return {
            "postgresql": scratch.postgresql_cpu_seconds(address),
            "redis": Server("", self.redis.process).cpu_seconds(),
        }


@dataclass(frozen=True)
class OnSqlite:
    folder: Path
    environment: Mapping[str, str]
    version: str = f"SQLite {sqlite3.sqlite_version}"

    def address(self, name: str) -> str:
        return f"sqlite:///{quote(str(self._file(name)))}"

    def fresh(self, name: str) -> str:
        shutil.copy(self._file(TEMPLATE), self._file(name))
        return self.address(name)

    def cpu_seconds(self, address: str) -> Mapping[str, float]:  # noqa: ARG002  no process of its own
        return {}

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.sqlite3"


@contextmanager
def postgresql(folder: Path) -> Iterator[Backend]:
    """PostgreSQL with Redis. Raises stores.Missing."""
    with stores.postgresql(folder) as database, stores.redis_server(folder) as counters:
        settings = {**_settings(folder), "REDIS_URL": counters.address}
        database.create(TEMPLATE)
        version = f"PostgreSQL {database.version}, Redis {counters.version}"
        yield OnPostgresql(database, counters, settings, version)


@contextmanager
def sqlite(folder: Path) -> Iterator[Backend]:
    """SQLite alone; limits are counted in the server's memory."""
    yield OnSqlite(folder, _settings(folder))


BACKENDS: Final = {"postgresql": postgresql, "sqlite": sqlite}


def found(backend: Backend, tools: Iterable[str]) -> Tenant:
    """Fill the template for calls of these tools."""
    return Tenant(**ask(backend, backend.address(TEMPLATE), "found", *tools))


def ask(backend: Backend, address: str, act: str, *tools: str) -> Any:
    """What an act of bench/tenant.py says of a database."""
    done = subprocess.run(  # noqa: S603  every word is ours
        [sys.executable, "-m", "bench.tenant", act, *tools],
        cwd=ROOT,
        env={**os.environ, **backend.environment, "DATABASE_URL": address},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=ACT_SECONDS,
    )
    return json.loads(done.stdout)


def forget_surroundings(kept: Sequence[str] = ()) -> None:
    """Take the caller's own settings out of the environment: they are another deployment's.

    Those whose names begin with one of `kept` stay.
    """
    for name in [name for name in os.environ if not name.startswith(tuple(kept))]:
        if name.startswith("HALO_") or name in {"DATABASE_URL", "REDIS_URL", "HOST", "PORT"}:
            del os.environ[name]


def _settings(folder: Path) -> Mapping[str, str]:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    own = {"HALO_DATA_DIR": str(data), "HALO_LOG_LEVEL": "ERROR"}
    return RAISED | own | {"HALO_PUBLIC_URL": PUBLIC_URL}
