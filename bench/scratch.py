"""A scratch database, the real server, and the CPU time of both, for measurements."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx2
import psycopg
import redis
from psycopg import sql

ROOT: Final = Path(__file__).resolve().parents[1]
START_SECONDS: Final = 60
TICKS: Final = os.sysconf("SC_CLK_TCK")  # a second, in the unit of /proc/<pid>/stat
PARENT, USER, KERNEL = 1, 11, 12  # fields of /proc/<pid>/stat behind the name, counted from 0


@contextmanager
def database(url: str, template: str = "template1") -> Iterator[str]:
    """Yields the URL of a new PostgreSQL database on the server of the given one.

    It is dropped after the block. It is empty, or a copy of `template`, a database of the same
    server without connections.
    """
    fresh = f"halo_bench_{secrets.token_hex(4)}"
    name = sql.Identifier(fresh)
    with psycopg.connect(url, autocommit=True) as admin:
        copied = sql.Identifier(template)
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, copied))
        try:
            yield urlsplit(url)._replace(path=f"/{fresh}").geturl()
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def redis_if_up(url: str) -> dict[str, str]:
    """REDIS_URL where a server answers under it; nothing where none does."""
    client = redis.Redis.from_url(url, socket_timeout=1)
    with suppress(redis.RedisError):
        client.ping()
        return {"REDIS_URL": url}
    return {}


@contextmanager
def serving(
    processes: int,
    log: Path,
    application: str = "halo_mcp.asgi:application",
    environment: Mapping[str, str] | None = None,
    checkout: Path = ROOT,
) -> Iterator["Server"]:
    """The server as a deployment runs it, on a free loopback port, until the block ends.

    Settings are the environment's, with what else is given for this server alone; the code is that
    of a checkout. Raises RuntimeError with the log's end when it does not start.
    """
    from django.conf import settings  # noqa: PLC0415  the environment first

    port = free_port()
    words = [f"from halo_mcp.server import serve; serve.main({application!r})", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  every word is ours
            [sys.executable, "-c", *words, "--workers", str(processes)],
            cwd=checkout,
            # Tokens that are made here are for the address that this process goes by.
            env={**os.environ, "HALO_PUBLIC_URL": settings.HALO_PUBLIC_URL, **(environment or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", process)
    try:
        _wait_until_ready(server, log)
        yield server
    finally:
        process.terminate()
        process.wait(30)


@dataclass(frozen=True)
class Server:
    url: str
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """CPU time of all web processes so far, in user and kernel mode."""
        return sum(process_cpu_seconds(pid) for pid in self.family())

    def family(self) -> set[int]:
        """The process that was started and all that descend from it, by id."""
        return _family(self.process.pid)

    def status(self, name: str) -> int:
        """A number from /proc/<pid>/status, such as VmRSS in KiB; of the one process there is."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        found = dict(line.split(":", 1) for line in lines)
        return int(found[name].split()[0])


def postgresql_cpu_seconds(url: str) -> float:
    """The CPU time so far of the backends of this database; NaN if they run on another host.

    PostgreSQL's own writers (WAL, checkpoints) belong to no database and are left out.
    """
    with psycopg.connect(url) as watcher:
        rows = watcher.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    here = [pid for (pid,) in rows if _is_postgres(pid)]
    return sum(map(process_cpu_seconds, here)) if len(here) == len(rows) else float("nan")


def _family(root: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {pid: int(fields[PARENT]) for pid in _pids() if (fields := _fields(pid))}
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def process_cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far, in user and kernel mode."""
    fields = _fields(pid)
    return (int(fields[USER]) + int(fields[KERNEL])) / TICKS if fields else 0.0


def _fields(pid: int) -> list[str]:
    """What stands behind the name in /proc/<pid>/stat; empty for a process that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _is_postgres(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().startswith("postgres")
    return False


def _wait_until_ready(server: Server, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{server.url}/health", timeout=2).is_success:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
