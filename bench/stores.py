"""The database of a measurement: PostgreSQL with Redis, or an SQLite file; gone after it.

PostgreSQL and Redis are servers that run already, or scratch ones on unix sockets in a folder, as
they come and durable: fsync and synchronous_commit stay on.
"""

import argparse
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import psycopg
import redis
from psycopg import sql

from bench.servers import ROOT, process_cpu_seconds

SCRATCH: Final = "scratch"
KEPT: Final = ROOT / "var" / "bench"
INSTALLED: Final = Path("/usr/lib/postgresql")  # where Debian keeps the server's programs
START_SECONDS: Final = 30
INITDB: Final = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
# PostgreSQL's own writers (WAL, checkpoints) belong to no database and are left out.
BACKENDS: Final = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Missing(Exception):
    """A program or server that a run needs is not here; the message is for a person."""


@dataclass(frozen=True)
class Store:
    """A database and the Redis that counts limits, by their URLs; empty without Redis."""

    kind: str
    url: str
    redis: str = ""

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time so far of the backends of this database, and of Redis."""
        if self.kind == "sqlite":
            return {}
        with psycopg.connect(self.url) as connection:
            pids = [pid for (pid,) in connection.execute(BACKENDS).fetchall()]
        seconds = {"postgresql": _local_cpu_seconds(pids, "postgres")}
        if self.redis:
            pid = int(redis.Redis.from_url(self.redis).info("server")["process_id"])
            seconds["redis"] = _local_cpu_seconds([pid], "redis-server")
        return seconds


@contextmanager
def open_store(options: argparse.Namespace, folder: Path) -> Iterator[Store]:
    """The store that the options name. A database with a name is kept. Raises Missing."""
    if options.store == "sqlite":
        place = KEPT if options.database else folder
        place.mkdir(parents=True, exist_ok=True)
        yield Store("sqlite", f"sqlite:///{place / (options.database or 'bench')}.sqlite3")
    elif options.server == SCRATCH:
        with (
            postgresql(folder) as server,
            redis_server(folder) as counters,
            _database(server, options.database) as url,
        ):
            yield Store("postgresql", url, counters)
    else:
        with _database(options.server, options.database) as url:
            yield Store("postgresql", url, options.redis if _answers(options.redis) else "")


@contextmanager
def _database(server: str, name: str) -> Iterator[str]:
    """The URL of a database of a server: a new one until the block ends, or one that is kept."""
    database = name or f"halo_bench_{secrets.token_hex(4)}"
    identifier = sql.Identifier(database)
    try:
        admin = psycopg.connect(server, autocommit=True)
    except psycopg.OperationalError as error:
        raise Missing(f"PostgreSQL does not answer: {error}. See --server.") from error
    with admin:
        known = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database])
        if known.fetchone() is None:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        try:
            yield urlsplit(server)._replace(path=f"/{database}").geturl()
        finally:
            if not name:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that other users may enter, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="halo-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """The URL of a PostgreSQL server in this folder. Raises Missing."""
    programs = _postgresql_programs()
    home = folder / "postgresql"
    home.mkdir()
    user = _unprivileged_user()
    if user:
        os.chown(home, user.pw_uid, user.pw_gid)
    data = f"--pgdata={home}/data"
    _run(user, home, [str(programs / "initdb"), *INITDB, data])
    control = [str(programs / "pg_ctl"), data]
    settings = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c max_connections=200"
    _run(user, home, [*control, "--wait", f"--log={home}/log", f"--options={settings}", "start"])
    try:
        yield f"postgres://postgres@/postgres?host={quote(str(home), safe='')}"
    finally:  # its data is thrown away, so nothing is waited for
        _run(user, home, [*control, "--mode=immediate", "stop"])


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The URL of a Redis server in this folder, without a file. Raises Missing."""
    program = shutil.which("redis-server")
    if program is None:
        raise Missing("redis-server is needed (on Debian: apt-get install redis-server).")
    path = folder / "redis.sock"
    settings = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"]
    command = [program, *settings, "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603  every word is ours
    url, deadline = f"unix://{path}", time.monotonic() + START_SECONDS
    try:
        while not _answers(url):
            if time.monotonic() > deadline:
                raise Missing("redis-server did not start.")
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _answers(url: str) -> bool:
    with suppress(redis.RedisError):
        return bool(redis.Redis.from_url(url, socket_timeout=1).ping())
    return False


def _postgresql_programs() -> Path:
    """The folder of the newest initdb here. Raises Missing."""
    found = [path.parent for path in INSTALLED.glob("*/bin/initdb")]
    if found:
        return max(found, key=lambda path: float(path.parent.name))
    on_path = shutil.which("initdb")
    if on_path is None:
        raise Missing("PostgreSQL's server is needed (on Debian: apt-get install postgresql).")
    return Path(on_path).resolve().parent


def _unprivileged_user() -> pwd.struct_passwd | None:
    """The user for PostgreSQL, which refuses to run as root; None for the current user."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")


def _run(user: pwd.struct_passwd | None, home: Path, command: list[str]) -> None:
    """Run a command of PostgreSQL. Raises Missing with its output when it fails."""
    identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    log = home.with_suffix(".output")
    # Into a file: the server that pg_ctl leaves behind would keep a pipe open.
    with log.open("wb") as out:
        done = subprocess.run(command, cwd=home, stdout=out, stderr=out, check=False, **identity)  # noqa: S603  every word is ours
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} failed: {log.read_text()[-500:]}")


def _local_cpu_seconds(pids: list[int], program: str) -> float:
    """CPU time of these processes; NaN where one of them is not a process of this machine."""
    for pid in pids:
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith(program):
                continue
        return float("nan")
    return sum(map(process_cpu_seconds, pids))
