"""The servers of the comparison: how each is started, and what a right reply of it is.

All of one set-up run at once, each with a database of its own, and only one is driven at a time: an
idle one costs nothing.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from bench import wires
from bench.greeting import ARGUMENTS
from bench.scratch import ROOT, Server
from bench.wires import HANDSHAKE, WIRES, Request

START_SECONDS: Final = 60
OK: Final = 200
# How often a server is asked by itself on each wire, and by then altogether.
PROBES: Final = 2
PROVED: Final = PROBES * len(WIRES)
# The same of all, so that only what they serve differs.
SERVED: Final = ("--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level")
QUIET: Final = ("warning", "--no-server-header", "--no-proxy-headers")
RESIDENT: Final = re.compile(r"^Rss:\s+(\d+) kB", re.MULTILINE)
SHARED: Final = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


class Unready(Exception):
    """A server does not start, or answers wrongly before anything is measured."""


@dataclass(frozen=True)
class Kind:
    """A server of the comparison. `writes` says that it leaves an audit row of every call."""

    name: str
    title: str
    application: tuple[str, ...]
    writes: bool
    peer: bool = True


PEERS: Final = str(ROOT / "bench" / "peers")
OURS: Final = Kind("ours", "ours", ("bench.greeting_server:application",), writes=True, peer=False)
EQUAL: Final = Kind(
    "sdk-equal",
    "SDK, equal work",
    ("--app-dir", PEERS, "--factory", "sdk_server:equal"),
    writes=True,
)
EMPTY: Final = Kind(
    "sdk-empty", "SDK, empty", ("--app-dir", PEERS, "--factory", "sdk_server:empty"), writes=False
)
FASTMCP: Final = Kind(
    "fastmcp-empty",
    "FastMCP, empty",
    ("--app-dir", PEERS, "--factory", "fastmcp_server:empty"),
    writes=False,
)
KINDS: Final = {kind.name: kind for kind in (OURS, EQUAL, EMPTY, FASTMCP)}


@dataclass(frozen=True)
class Setting:
    """What a server is started in: its database, the settings of ours, the order of a peer."""

    database: str
    environment: Mapping[str, str]
    work: Mapping[str, Any]
    token: str
    workers: int
    interpreter: Path


@dataclass(frozen=True)
class Contestant:
    """A server that runs. Bodies of right replies by wire."""

    kind: Kind
    database: str
    server: Server
    requests: Mapping[str, Request]
    replies: Mapping[str, bytes]
    workers: int

    @property
    def url(self) -> str:
        return self.server.url + wires.PATH

    def memory(self) -> tuple[int, int]:
        """KiB of its largest worker: resident, and with shared pages counted in parts."""
        sizes = sorted(map(_memory, self.server.family()), reverse=True)[: self.workers]
        return sizes[0]

    def call(self, wire: str) -> tuple[int, bytes]:
        """One call by itself: status and body."""
        request = self.requests[wire]
        answer = httpx2.post(
            self.url, headers=dict(request.headers), content=request.body, timeout=30
        )
        return answer.status_code, answer.content


@contextmanager
def running(kind: Kind, setting: Setting, folder: Path) -> Iterator[Contestant]:
    """A server that has answered rightly on both wires, until the block ends.

    Raises Unready with the log's end when it does not.
    """
    server, log = _start(kind, setting, folder)
    try:
        yield _proved(kind, setting, server, log)
    finally:
        server.process.terminate()
        server.process.wait(30)


def _start(kind: Kind, setting: Setting, folder: Path) -> tuple[Server, Path]:
    port = _free_port()
    order = folder / f"{kind.name}.json"
    told = {"token": setting.token, "database": setting.database, "work": setting.work}
    order.write_text(json.dumps(told))
    interpreter = str(setting.interpreter) if kind.peer else sys.executable
    served = [*SERVED, *QUIET, "--port", str(port), "--workers", str(setting.workers)]
    log = folder / f"{kind.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  every word is ours
            [interpreter, "-m", "uvicorn", *kind.application, *served],
            cwd=ROOT,
            env=_environment(kind, setting, order),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Server(f"http://127.0.0.1:{port}", process), log


def _environment(kind: Kind, setting: Setting, order: Path) -> Mapping[str, str]:
    if kind.peer:
        return {**os.environ, "BENCH_ORDER": str(order)}
    own = {"DATABASE_URL": setting.database, "HALO_PROCESSES": str(setting.workers)}
    return {**os.environ, **setting.environment, **own}


def _proved(kind: Kind, setting: Setting, server: Server, log: Path) -> Contestant:
    tool = setting.work["tool"]
    requests = {wire: wires.call(wire, tool, ARGUMENTS, setting.token) for wire in WIRES}
    raw = Contestant(kind, setting.database, server, requests, {}, setting.workers)
    _wait_until_ready(raw, log)
    replies = {wire: _right_reply(raw, wire, setting.work["text"]) for wire in WIRES}
    return Contestant(kind, setting.database, server, requests, replies, setting.workers)


def _right_reply(contestant: Contestant, wire: str, text: str) -> bytes:
    """The body of a right reply, which is the same every time. Raises Unready."""
    replies = {contestant.call(wire) for _ in range(PROBES)}
    status, body = next(iter(replies))
    if len(replies) > 1 or status != OK or wires.said(body) != text:
        raise Unready(f"{contestant.kind.title} answers wrongly on {wire}: {replies}")
    return body


def _wait_until_ready(contestant: Contestant, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and contestant.server.process.poll() is None:
        with suppress(httpx2.TransportError):
            # Without a token: it asks nothing of the tool, and leaves no row.
            httpx2.post(contestant.url, content=contestant.requests[HANDSHAKE].body, timeout=5)
            return
        time.sleep(0.1)
    raise Unready(f"{contestant.kind.title} did not start:\n{log.read_text()[-2000:]}")


def _memory(pid: int) -> tuple[int, int]:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        resident, shared = RESIDENT.search(text), SHARED.search(text)
        if resident and shared:
            return int(resident[1]), int(shared[1])
    return 0, 0


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
