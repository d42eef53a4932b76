"""The real server process, as `./run` starts it, on a port and data folder of its own."""

import atexit
import fcntl
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
import redis
from psycopg import sql

from tests.drivers import evaluation

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
# The id of this run of tests, which the processes that it starts have too.
RUN = "HALO_TEST_RUN"
# Below what the kernel gives out by itself, so that nobody takes one before it is listened on.
PORTS = range(20_000, 32_000)
DATABASE = "halo.sqlite3"
# Those of a Redis with the usual 16, without 0, which may hold data of a developer: for processes
# of tests and for servers. Where all are in use, one more process or server shares the last.
REDIS_OF_TESTS = range(1, 8)
REDIS_OF_SERVERS = range(8, 16)
EMAIL, PASSWORD = "ada@example.com", "correct horse battery staple"
# What many clients of one person run into, out of their way.
RATES = ("REGISTER", "REGISTER_ATTEMPTS", "TOKEN", "IP", "AUTHORIZE", "SIGNIN")
RAISED = {f"HALO_RATE_{name}": "100000/m" for name in RATES}


@dataclass(frozen=True)
class Server:
    """The process, where it answers, and the environment in which its database can be reached."""

    url: str
    log: Path
    process: subprocess.Popen[bytes]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/api/mcp"


@contextmanager
def running(
    folder: Path, env: Mapping[str, str] | None = None, *, name: str = "127.0.0.1"
) -> Iterator[Server]:
    """Start the server on a database without rows and stop it, by its own process, afterwards.

    It is known as `name`, which has to be a name of this computer.
    """
    port = free_port()
    with backends_of_its_own(port) as backends:
        given = environment(folder, port, name) | backends | dict(env or {})
        lay_tables(given)
        url = f"http://{name}:{port}"
        with start_server(url, folder / "server.log", given, "manage.py", "up") as server:
            yield server


@contextmanager
def start_server(
    url: str, log: Path, env: Mapping[str, str], *words: str, code: Path = ROOT
) -> Iterator[Server]:
    """Run Python with these words until the block ends, which begins once it answers at `url`.

    `code` is the folder of the version that runs.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=code, env=env, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        server = Server(url, log, process, env)
        _wait_until_ready(server)
        yield server
    finally:
        evaluation.forget(env)
        process.terminate()
        process.wait(60)


def environment(folder: Path, port: int, name: str = "127.0.0.1") -> dict[str, str]:
    """The parent's environment with everything of ours replaced."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HALO_")}
    return kept | {
        RUN: os.environ[RUN],
        "HALO_DATA_DIR": str(folder / "data"),
        "HALO_ADMIN_EMAIL": EMAIL,
        "HALO_ADMIN_PASSWORD": PASSWORD,
        "HALO_DEMO_DATA": "off",
        "HALO_CIMD": "yes",
        "HALO_STOP_SECONDS": "5",
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "HALO_PUBLIC_URL": f"http://{name}:{port}",
        "PYTHONWARNINGS": "ignore",
    }


def lay_tables(env: Mapping[str, str]) -> None:
    """Create the tables of a server that is about to start with this environment.

    They are copied: migrations take most of a first start. tests/commands starts from nothing.
    """
    if url := env.get("DATABASE_URL"):
        server, _, name = url.rpartition("/")
        _recreate(server, name, template=migrated_on_postgresql(server))
        return
    data = Path(env["HALO_DATA_DIR"])
    data.mkdir(parents=True)
    shutil.copyfile(migrated_on_sqlite(), data / DATABASE)


def migrated_on_sqlite() -> Path:
    """A database file with every table, made once in a run of tests by its first process."""
    path = Path(tempfile.gettempdir()) / f"halo_migrated_{os.environ[RUN]}.sqlite3"
    with _one_at_a_time(path.stem):
        if not path.exists():
            _make_migrated_file(path)
    return path


def _make_migrated_file(path: Path) -> None:
    """It has its name only once it is complete."""
    with tempfile.TemporaryDirectory(prefix="halo-migrated-") as folder:
        env = environment(Path(folder), free_port())
        _migrate({name: value for name, value in env.items() if name != "DATABASE_URL"})
        # Rows in a journal file next to it are not copied.
        (made,) = (Path(folder) / "data").glob(f"{DATABASE}*")
        unfinished = path.with_suffix(".unfinished")
        shutil.copyfile(made, unfinished)
        unfinished.rename(path)


def migrated_on_postgresql(server: str) -> str:
    """The name of a database with every table, made once in a run of tests by its first process."""
    name = f"halo_migrated_{os.environ[RUN]}"
    with _one_at_a_time(name):
        if not _exists(server, name):
            _make_migrated(server, name)
    return name


@contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    """Among the processes of a run."""
    lock = Path(tempfile.gettempdir()) / f"{name}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_migrated(server: str, name: str) -> None:
    """It has its name only once it is complete."""
    unfinished = f"{name}_unfinished"
    _recreate(server, unfinished)
    with tempfile.TemporaryDirectory(prefix="halo-migrated-") as folder:
        url = f"{server}/{unfinished}"
        _migrate(environment(Path(folder), free_port()) | {"DATABASE_URL": url})
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(rename.format(sql.Identifier(unfinished), sql.Identifier(name)))


def _forget_migrated(name: str) -> None:
    """At the end of the process that began the run."""
    server = os.environ.get("DATABASE_URL", "").rpartition("/")[0]
    temporary = Path(tempfile.gettempdir())
    lock = temporary / f"{name}.lock"
    if not lock.exists():
        return
    if server.startswith("postgres"):
        _drop(server, name)
    (temporary / f"{name}.sqlite3").unlink(missing_ok=True)
    lock.unlink()


if RUN not in os.environ:
    os.environ[RUN] = secrets.token_hex(4)
    atexit.register(_forget_migrated, f"halo_migrated_{os.environ[RUN]}")


def _migrate(env: Mapping[str, str]) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=ROOT,
        env=env,
        check=True,
        timeout=START_SECONDS,
    )


@contextmanager
def backends_of_its_own(port: int) -> Iterator[dict[str, str]]:
    """The settings of a database and a Redis database that no other server uses.

    On SQLite and without Redis there is nothing to set.
    """
    with _database_of_its_own(port) as database, _redis_of_its_own() as store:
        yield database | store


@contextmanager
def _database_of_its_own(port: int) -> Iterator[dict[str, str]]:
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield {}
        return
    server, name = url.rpartition("/")[0], f"halo_process_{port}"
    _recreate(server, name)
    try:
        yield {"DATABASE_URL": f"{server}/{name}"}
    finally:
        _drop(server, name)


@contextmanager
def _redis_of_its_own() -> Iterator[dict[str, str]]:
    """Where two servers used one, the worker of the first would take the tasks of the second."""
    url = os.environ.get("REDIS_URL")
    if not url:
        yield {}
        return
    with ExitStack() as locks:
        own = free_redis_database(url, REDIS_OF_SERVERS, locks)
        with redis.Redis.from_url(own) as store:
            store.flushdb()
        yield {"REDIS_URL": own}


def free_redis_database(url: str, numbers: range, locks: ExitStack) -> str:
    """The address of a database that no other process has, in this run of tests or another.

    A locked file says which are in use, and the kernel unlocks it when its process ends.
    """
    number = next((number for number in numbers if _lock(number, locks)), numbers[-1])
    return urlsplit(url)._replace(path=f"/{number}").geturl()


def _lock(number: int, locks: ExitStack) -> bool:
    path = Path(tempfile.gettempdir()) / f"halo-tests-redis-{number}.lock"
    file = locks.enter_context(path.open("w"))
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _recreate(server: str, name: str, template: str = "template1") -> None:
    _drop(server, name)
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(create.format(sql.Identifier(name), sql.Identifier(template)))


def _exists(server: str, name: str) -> bool:
    with psycopg.connect(f"{server}/postgres") as admin:
        found = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        return found.fetchone() is not None


def _drop(server: str, name: str) -> None:
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(drop.format(sql.Identifier(name)))


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            pytest.fail(f"the server ended:\n{server.log.read_text()}")
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{server.url}/health", timeout=2).status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{server.log.read_text()}")


def free_port() -> int:
    while True:
        port = secrets.choice(PORTS)  # pytest-randomly seeds `random` alike in all processes
        with socket.socket() as sock, suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
