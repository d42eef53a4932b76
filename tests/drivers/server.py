"""The real server process, as `./run` starts it, on a port and data folder of its own."""

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import httpx2
import psycopg
import pytest
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
# Below what the kernel gives out by itself, so that nobody takes one before it is listened on.
PORTS = range(20_000, 32_000)
DATABASE = "halo.sqlite3"
EMAIL, PASSWORD = "ada@example.com", "correct horse battery staple"
# What many clients of one person run into, out of their way.
RAISED = {
    f"HALO_RATE_{name}": "100000/m" for name in ("REGISTER", "TOKEN", "IP", "AUTHORIZE", "SIGNIN")
}


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
    with database_of_its_own(port) as database:
        log = folder / "server.log"
        lay_tables(folder)
        given = environment(folder, port, name) | database | dict(env or {})
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=ROOT,
                env=given,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            server = Server(f"http://{name}:{port}", log, process, given)
            wait_until_ready(server)
            yield server
        finally:
            process.terminate()
            process.wait(60)


def environment(folder: Path, port: int, name: str = "127.0.0.1") -> dict[str, str]:
    """The parent's environment with everything of ours replaced."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HALO_")}
    return kept | {
        "HALO_DATA_DIR": str(folder / "data"),
        "HALO_ADMIN_EMAIL": EMAIL,
        "HALO_ADMIN_PASSWORD": PASSWORD,
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "HALO_PUBLIC_URL": f"http://{name}:{port}",
        "PYTHONWARNINGS": "ignore",
    }


def lay_tables(folder: Path) -> None:
    """Spare a server that will start here its migrations, where its database is a file.

    They are most of the work of a first start; tests/commands starts from nothing.
    """
    if os.environ.get("DATABASE_URL"):
        return
    data = folder / "data"
    data.mkdir(parents=True)
    shutil.copyfile(_migrated(), data / DATABASE)


@cache
def _migrated() -> Path:
    """A database file with every table, made once in each test process."""
    folder = Path(tempfile.mkdtemp(prefix="halo-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=ROOT,
        env=environment(folder, free_port()),
        check=True,
        timeout=START_SECONDS,
    )
    # What stands in a journal beside it would not be copied.
    assert [path.name for path in (folder / "data").glob(f"{DATABASE}*")] == [DATABASE]
    return folder / "data" / DATABASE


def evaluate(env: Mapping[str, str], code: str) -> str:
    """What a few lines of Python print that have the database and settings of a server."""
    setup = "import django; django.setup()\n"
    finished = subprocess.run(
        [sys.executable, "-c", setup + code],
        cwd=ROOT,
        env={**env, "DJANGO_SETTINGS_MODULE": "halo_mcp.settings"},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return finished.stdout


@contextmanager
def database_of_its_own(port: int) -> Iterator[dict[str, str]]:
    """On PostgreSQL a scratch database beside the configured one; on SQLite nothing to do."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield {}
        return
    name = sql.Identifier(f"halo_process_{port}")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield {"DATABASE_URL": f"{url.rsplit('/', 1)[0]}/halo_process_{port}"}
        finally:
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def wait_until_ready(server: Server) -> None:
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
