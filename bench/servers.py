"""Servers of a measurement: start, CPU time and memory, read from /proc."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

ROOT: Final = Path(__file__).resolve().parents[1]
PRODUCT: Final = "halo_mcp.asgi:application"
START_SECONDS: Final = 120
TICKS: Final = os.sysconf("SC_CLK_TCK")  # a second, in the unit of /proc/<pid>/stat
PARENT, USER, KERNEL = 1, 11, 12  # fields of /proc/<pid>/stat behind the name, counted from 0
# The product's choices for uvicorn, for the servers that are compared with it.
UVICORN: Final = ("-m", "uvicorn", "--loop", "uvloop", "--http", "httptools", "--no-access-log")
QUIET: Final = ("--log-level", "warning", "--no-server-header", "--no-proxy-headers")


class Unready(Exception):
    """A server does not start, or its first response is wrong."""


@dataclass(frozen=True)
class Server:
    """A process that serves HTTP, with the processes that it started."""

    url: str
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """CPU time of all its processes so far."""
        return sum(map(process_cpu_seconds, self._processes()))

    def memory(self) -> tuple[int, int]:
        """KiB of its largest process: resident, and with shared pages counted in parts (PSS)."""
        return max(map(_memory, self._processes()))

    def status(self, name: str) -> int:
        """A number of /proc/<pid>/status of its first process, such as VmRSS in KiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(dict(line.split(":", 1) for line in lines)[name].split()[0])

    def _processes(self) -> set[int]:
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        parents = {pid: int(fields[PARENT]) for pid in pids if (fields := _fields(pid))}
        family = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return family


@contextmanager
def serve(application: str, processes: int, folder: Path) -> Iterator[Server]:
    """The product as `./run serve` starts it, with the environment of this process.

    Raises Unready with the end of the log when it does not start.
    """
    words = f"from halo_mcp.server import serve; serve.main({application!r})"
    command = [sys.executable, "-c", words, "--workers", str(processes)]
    with _running(command, {}, folder) as server:
        yield server


@contextmanager
def serve_uvicorn(
    python: Path, words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[Server]:
    """Another ASGI application on uvicorn, with the settings of the product. Raises Unready."""
    with _running([str(python), *UVICORN, *QUIET, *words], environment, folder) as server:
        yield server


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> Iterator[Server]:
    port = _free_port()
    log = folder / f"server-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  every word is ours
            [*command, "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, **environment},
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


def _wait_until_ready(server: Server, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        with suppress(httpx2.TransportError):
            # Without a token it leaves no row, and loads nothing that calls do not need.
            httpx2.post(f"{server.url}/api/mcp", timeout=5)
            return
        time.sleep(0.1)
    raise Unready(f"a server did not start:\n{log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def process_cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, in user and kernel mode."""
    fields = _fields(pid)
    return (int(fields[USER]) + int(fields[KERNEL])) / TICKS if fields else 0.0


def _fields(pid: int) -> list[str]:
    """The fields behind the name in /proc/<pid>/stat; empty for a process that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _memory(pid: int) -> tuple[int, int]:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = dict(re.findall(r"^(Rss|Pss):\s+(\d+) kB", text, re.MULTILINE))
        return int(found["Rss"]), int(found["Pss"])
    return 0, 0
