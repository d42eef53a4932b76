"""PostgreSQL and Redis for one run, on unix sockets in a folder that is removed with them.

Both as they come, and durable: fsync and synchronous_commit stay on.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg
import redis
from psycopg import sql

INSTALLED: Final = Path("/usr/lib/postgresql")  # where Debian keeps the server's programs
# A unix socket's whole path has to fit 107 bytes (unix(7)); this much is what stands behind ours.
MAX_FOLDER_LENGTH: Final = 80
START_SECONDS: Final = 30
CONNECTIONS: Final = 200


class Missing(Exception):
    """A program that the run needs is not here; the message is for a person."""


@dataclass(frozen=True)
class Postgresql:
    """A cluster of our own. `address(name)` is the URL of one of its databases."""

    folder: Path
    version: str

    def address(self, name: str) -> str:
        return f"postgres://postgres@/{name}?host={quote(str(self.folder), safe='')}"

    def create(self, name: str, template: str = "template1") -> str:
        """Make a database that begins as a copy of another; returns its URL."""
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(self.address("postgres"), autocommit=True) as admin:
            admin.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))
        return self.address(name)


@dataclass(frozen=True)
class Redis:
    """A server of our own, without a file."""

    address: str
    process: subprocess.Popen[bytes]
    version: str


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that other users may enter; gone with everything in it when the block ends.

    Raises Missing when sockets in it would have names too long.
    """
    folder = Path(tempfile.mkdtemp(prefix="halo-bench-"))
    try:
        if len(str(folder)) > MAX_FOLDER_LENGTH:
            raise Missing("the temporary folder's name is too long for sockets: set TMPDIR.")
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgresql(folder: Path) -> Iterator[Postgresql]:
    """A PostgreSQL server in this folder until the block ends. Raises Missing."""
    programs = _postgresql_programs()
    home = folder / "postgresql"
    home.mkdir()
    user = _unprivileged()
    if user:
        os.chown(home, user.pw_uid, user.pw_gid)
    initdb = ["initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8"]
    _as(user, home, [*_in(programs, initdb), "--locale=C.UTF-8", f"--pgdata={home}/data"])
    control = [str(programs / "pg_ctl"), f"--pgdata={home}/data"]
    settings = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c max_connections="
    start = ["--wait", f"--log={home}/log", f"--options={settings}{CONNECTIONS}", "start"]
    _as(user, home, [*control, *start])
    try:
        with psycopg.connect(Postgresql(home, "").address("postgres")) as connection:
            version = str(connection.info.parameter_status("server_version"))
        yield Postgresql(home, version)
    finally:
        # What is in it is thrown away, so nothing is waited for.
        _as(user, home, [*control, "--mode=immediate", "stop"])


@contextmanager
def redis_server(folder: Path) -> Iterator[Redis]:
    """A Redis server in this folder until the block ends. Raises Missing."""
    program = shutil.which("redis-server")
    if program is None:
        raise Missing("redis-server is needed (on Debian: apt-get install redis-server).")
    socket = folder / "redis.sock"
    settings = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(  # noqa: S603  every word is ours
        [program, *settings, "--dir", str(folder)], stdout=subprocess.DEVNULL
    )
    try:
        address = f"unix://{socket}"
        yield Redis(address, process, _redis_version(address))
    finally:
        process.terminate()
        process.wait(30)


def _redis_version(address: str) -> str:
    deadline = time.monotonic() + START_SECONDS
    client = redis.Redis.from_url(address)
    while time.monotonic() < deadline:
        with suppress(redis.RedisError):
            return str(client.info("server")["redis_version"])
        time.sleep(0.05)
    raise Missing("redis-server did not start.")


def _postgresql_programs() -> Path:
    """The folder of the newest initdb here. Raises Missing."""
    found = [path.parent for path in INSTALLED.glob("*/bin/initdb")]
    if found:
        return max(found, key=lambda path: float(path.parent.name))
    on_path = shutil.which("initdb")
    if on_path is None:
        raise Missing("PostgreSQL's server is needed (on Debian: apt-get install postgresql).")
    return Path(on_path).resolve().parent


def _unprivileged() -> pwd.struct_passwd | None:
    """Returns the user for PostgreSQL, which refuses to run as root; None for the current user."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")


def _in(programs: Path, command: Sequence[str]) -> list[str]:
    return [str(programs / command[0]), *command[1:]]


def _as(user: pwd.struct_passwd | None, home: Path, command: Sequence[str]) -> None:
    """Run one command of PostgreSQL's. Raises Missing with what it said when it fails."""
    output = home.with_suffix(".output")
    with output.open("wb") as said:
        # Into a file: the server that pg_ctl leaves behind would keep a pipe open.
        done = subprocess.run(  # noqa: S603  every word is ours
            command,
            cwd=home,
            stdout=said,
            stderr=said,
            check=False,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} failed: {output.read_text()[-500:]}")
