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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx2

from bench import wires
from bench.scratch import ROOT, Server
from bench.tools import Calls
from bench.wires import WIRES, Reply, Request

START_SECONDS: Final = 60
OK: Final = 200
# How many calls of each tool on each wire a server answers before the comparison begins.
PROBES: Final = 2
# Of the peers; ours is started as a deployment does it.
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


# A tool, and the revision at which it is called.
Way = tuple[str, str]

PEERS: Final = str(ROOT / "bench" / "peers")
OURS: Final = Kind("ours", "ours", ("halo_mcp.asgi:application",), writes=True, peer=False)
# With the tool of `./run bench echo` next to its own.
OURS_WITH_ECHO: Final = replace(OURS, application=("bench.greeting_server:application",))
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
    calls: Calls
    token: str
    workers: int
    interpreter: Path

    @property
    def ways(self) -> list[Way]:
        return [(tool, wire) for tool in self.calls for wire in WIRES]


@dataclass(frozen=True)
class Contestant:
    """A server that runs. Requests, and the bodies of right replies to them."""

    kind: Kind
    database: str
    server: Server
    requests: Mapping[Way, Request]
    replies: Mapping[Way, Reply]
    workers: int

    @property
    def proved(self) -> int:
        """How many calls it has answered before it is driven."""
        return PROBES * len(self.requests)

    @property
    def url(self) -> str:
        return self.server.url + wires.PATH

    def memory(self) -> tuple[int, int]:
        """KiB of its largest worker: resident, and with shared pages counted in parts."""
        sizes = sorted(map(_memory, self.server.family()), reverse=True)[: self.workers]
        return sizes[0]

    def call(self, way: Way) -> tuple[int, bytes]:
        """One call by itself: status and body."""
        request = self.requests[way]
        answer = httpx2.post(
            self.url, headers=dict(request.headers), content=request.body, timeout=30
        )
        return answer.status_code, answer.content


@contextmanager
def running(kind: Kind, setting: Setting, folder: Path) -> Iterator[Contestant]:
    """A server that has answered rightly in every way, until the block ends.

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
    offered = {name: setting.work["tools"][name] for name in setting.calls}
    work = {**setting.work, "tools": offered}
    given = {"token": setting.token, "database": setting.database, "work": work}
    order.write_text(json.dumps(given))
    where = ["--port", str(port), "--workers", str(setting.workers)]
    if kind.peer:
        command = [str(setting.interpreter), "-m", "uvicorn", *kind.application, *SERVED, *QUIET]
    else:
        (application,) = kind.application
        words = f"from halo_mcp.server import serve; serve.main({application!r})"
        command = [sys.executable, "-c", words]
    log = folder / f"{kind.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  every word is ours
            [*command, *where],
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
    requests = {
        (tool, wire): wires.call(wire, tool, setting.calls[tool], setting.token)
        for tool, wire in setting.ways
    }
    raw = Contestant(kind, setting.database, server, requests, {}, setting.workers)
    _wait_until_ready(raw, log)
    texts = {tool: setting.work["tools"][tool]["text"] for tool in setting.calls}
    replies = {way: _right_reply(raw, way, texts[way[0]]) for way in requests}
    return Contestant(kind, setting.database, server, requests, replies, setting.workers)


def _right_reply(contestant: Contestant, way: Way, text: str) -> Reply:
    """A right reply; all are the same but for its varying parts. Raises Unready."""
    replies = [contestant.call(way) for _ in range(PROBES)]
    _, body = replies[0]
    reply, said = Reply.of(body), wires.said(body)
    is_right = said is not None and wires.without_varying(said) == wires.without_varying(text)
    if not is_right or any(each[0] != OK or not reply.fits(each[1]) for each in replies):
        raise Unready(f"{contestant.kind.title} answers {way} wrongly: {replies}")
    return reply


def _wait_until_ready(contestant: Contestant, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    anything = next(iter(contestant.requests.values()))
    while time.monotonic() < deadline and contestant.server.process.poll() is None:
        with suppress(httpx2.TransportError):
            # Without a token: it asks nothing of the tool, and leaves no row.
            httpx2.post(contestant.url, content=anything.body, timeout=5)
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
