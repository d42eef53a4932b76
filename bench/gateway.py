"""`./run bench gateway`: tools/call of a read that runs at once, with the API on loopback.

In turns: this server's gateway, a bare loop of httpx in one process that calls the API itself, and
FastMCP's server over the same OpenAPI document. Ends with 1 if a response was wrong or a call of
ours has no audit row, and with 2 if a server cannot be started.
"""

import argparse
import asyncio
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from bench import books, environments, scratch, starting, wires
from bench.stores import Missing

POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
REDIS: Final = "redis://127.0.0.1:6379/15"
LIMITS: Final = ("GATEWAY_CALL", "GATEWAY_LIST", "GATEWAY_OTHER", "IP")
RAISED: Final = {f"HALO_RATE_{name}": "1000000/s" for name in LIMITS} | {
    # One organization may have a share of the calls to APIs; here it is alone.
    "HALO_VENDOR_CALLS": "64",
}
WARM_UP_SECONDS: Final = 1.0
START_SECONDS: Final = 60.0
QUIET: Final = ("--no-access-log", "--log-level", "error")


@dataclass(frozen=True)
class Turn:
    """What one contestant did in one round."""

    calls: int
    wrong: int
    seconds: float
    p50: float
    p99: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.calls / self.seconds if self.seconds else 0.0


Drive = Callable[[float], Turn]


@dataclass(frozen=True)
class Setting:
    """What the contestants are started in."""

    options: argparse.Namespace
    folder: Path
    stack: ExitStack
    document: Path
    target: str
    database: str


def main() -> int:
    options = _options()
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            return _measured(options, Path(folder), stack)
    except (Missing, RuntimeError) as problem:
        sys.stderr.write(f"run: {problem}\n")
        return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench gateway", description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=4, help="of each turn")
    add("--rounds", type=int, default=3)
    add("--concurrency", type=int, default=16)
    add("--processes", type=int, default=2, help="of this server; with sqlite it is 1")
    add("--servers", type=lambda text: text.split(","), default=list(SERVERS))
    add("--database", default=os.environ.get("DATABASE_URL") or POSTGRESQL, help="or sqlite")
    given = parser.parse_args()
    if unknown := set(given.servers) - set(SERVERS):
        parser.error(f"argument --servers: unknown: {', '.join(sorted(unknown))}")
    if given.seconds <= 0 or min(given.rounds, given.concurrency, given.processes) < 1:
        parser.error("argument --seconds, --rounds, --concurrency, --processes: must be positive")
    return given


def _measured(options: argparse.Namespace, folder: Path, stack: ExitStack) -> int:
    database = _started(options, folder, stack)
    api = stack.enter_context(_uvicorn(sys.executable, "bench.books:application", folder / "api"))
    document = folder / "books.json"
    document.write_text(json.dumps(books.document(api.url)))
    setting = Setting(options, folder, stack, document, api.url, database)
    drives = {name: SERVERS[name](setting) for name in options.servers}
    turns: dict[str, list[Turn]] = {name: [] for name in drives}
    for _ in range(options.rounds):
        for name, drive in drives.items():
            drive(WARM_UP_SECONDS)
            turns[name].append(drive(options.seconds))
    sys.stdout.write(_report(options, turns))
    return 1 if any(turn.wrong for each in turns.values() for turn in each) else 0


def _started(options: argparse.Namespace, folder: Path, stack: ExitStack) -> str:
    """Starts Django on a new database; returns its URL."""
    if options.database == "sqlite":
        options.processes, store = 1, {}
        database = f"sqlite:///{folder / 'bench.sqlite3'}"
    else:
        database = stack.enter_context(scratch.database(options.database))
        store = scratch.redis_if_up(os.environ.get("REDIS_URL") or REDIS)
    processes = {"HALO_PROCESSES": str(options.processes)}
    starting.start(folder, database, RAISED | store | processes)
    return database


@contextmanager
def _uvicorn(
    python: str, application: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[scratch.Server]:
    """A server of one process, as ours is run: uvloop and httptools, without an access log."""
    port = scratch.free_port()
    words = ["-m", "uvicorn", *QUIET, "--port", str(port), *application.split()]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  every word is ours
            [python, *words],
            cwd=scratch.ROOT,
            env={**os.environ, **(environment or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = scratch.Server(f"http://127.0.0.1:{port}", process)
    try:
        _wait_until_it_listens(server, log)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_it_listens(server: scratch.Server, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        with suppress(httpx2.TransportError):
            httpx2.get(server.url, timeout=2)
            return
        time.sleep(0.1)
    raise RuntimeError(f"a server did not start:\n{log.read_text()[-2000:]}")


def _ours(setting: Setting) -> Drive:
    options = setting.options
    project = _project(setting.document, setting.target)
    log = setting.folder / "server.log"
    server = setting.stack.enter_context(scratch.serving(options.processes, log))
    url = server.url + urlsplit(project["mcp_url"]).path
    drive = _driven(url, project["token"], options.concurrency, server.cpu_seconds)
    answered = 1  # the response that all are compared with

    def counted(seconds: float) -> Turn:
        nonlocal answered
        turn = drive(seconds)
        answered += turn.calls
        return replace(turn, wrong=turn.wrong + abs(answered - _rows(setting.database)))

    return counted


def _project(document: Path, target: str) -> Mapping[str, Any]:
    """A project whose calls run at once, imported as an operator does."""
    from django.core.management import call_command  # noqa: PLC0415  settings first

    from workspace import organizations  # noqa: PLC0415  the same
    from workspace.models import User  # noqa: PLC0415  the same

    owner = User.objects.create_user("bench@example.com")
    organization = organizations.found("Bench", owner=owner)
    printed = io.StringIO()
    words = ["import", str(document), "--target", target, "--organization", organization.slug]
    call_command("gateway", *words, "--policy", "allow", "--json", stdout=printed)
    project: Mapping[str, Any] = json.loads(printed.getvalue())
    return project


def _rows(database: str) -> int:
    """The audit rows of calls, in a process of its own: this one's connection sees no others."""
    code = (
        "import django; django.setup(); from audit.models import ActionExecution as Row; "
        "print(Row.objects.filter(method='tools/call', outcome='success').count())"
    )
    counted = subprocess.run(  # noqa: S603  every word is ours
        [sys.executable, "-c", code],
        cwd=scratch.ROOT,
        env={**os.environ, "DATABASE_URL": database},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(counted.stdout)


def _httpx(setting: Setting) -> Drive:
    return lambda seconds: _loop(setting.target, setting.options.concurrency, seconds)


def _fastmcp(setting: Setting) -> Drive:
    given = {"BENCH_DOCUMENT": str(setting.document), "BENCH_TARGET": setting.target}
    words = "--app-dir bench/peers --factory openapi_server:application"
    python, log = str(environments.python()), setting.folder / "fastmcp.log"
    server = setting.stack.enter_context(_uvicorn(python, words, log, given))
    return _driven(f"{server.url}/mcp", "not-read", setting.options.concurrency, server.cpu_seconds)


def _driven(url: str, token: str, concurrency: int, cpu_seconds: Callable[[], float]) -> Drive:
    """A closed loop of calls at a server whose first response is right."""
    arguments: Any = {"id": books.BOOK["id"]}
    request = wires.call(wires.HANDSHAKE, "get_book", arguments, token)
    first = httpx2.post(url, headers=dict(request.headers), content=request.body, timeout=30)
    text = wires.said(first.content)
    if text is None or json.loads(text) != books.BOOK:
        raise RuntimeError(f"a server does not answer: {first.status_code} {first.text[:300]}")
    order = {
        "url": url,
        "headers": dict(request.headers),
        "body": request.body.decode(),
        "expected": first.text,
        "varying": [],
        "concurrency": concurrency,
    }

    def drive(seconds: float) -> Turn:
        before = cpu_seconds()
        driven = subprocess.run(
            [sys.executable, "-m", "bench.closed_loop"],
            cwd=scratch.ROOT,
            input=json.dumps({**order, "seconds": seconds}),
            capture_output=True,
            text=True,
            check=True,
        )
        figures, complaint = driven.stdout.splitlines()
        _, calls, bad, broken, took, p50, p99 = figures.split()
        if wrong := int(bad) + int(broken):
            sys.stderr.write(f"{bad} wrong, {broken} broken; {complaint}\n")
        cpu = cpu_seconds() - before
        return Turn(int(calls), wrong, float(took), float(p50), float(p99), cpu)

    return drive


def _loop(target: str, concurrency: int, seconds: float) -> Turn:
    """The same number of requests at a time by httpx, without a server between."""
    times: list[float] = []
    wrong = 0

    async def call(client: httpx2.AsyncClient, until: float) -> None:
        nonlocal wrong
        while (began := time.perf_counter()) < until:
            response = await client.get(f"{target}/books/{books.BOOK['id']}")
            wrong += response.json() != books.BOOK
            times.append((time.perf_counter() - began) * 1000)

    async def together() -> None:
        async with httpx2.AsyncClient() as client:
            until = time.perf_counter() + seconds
            await asyncio.gather(*(call(client, until) for _ in range(concurrency)))

    before, began = time.process_time(), time.perf_counter()
    asyncio.run(together())
    took, cpu = time.perf_counter() - began, time.process_time() - before
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    return Turn(len(times), wrong, took, cuts[49], cuts[98], cpu)


def _report(options: argparse.Namespace, turns: Mapping[str, list[Turn]]) -> str:
    """The medians of the rounds."""
    store = "SQLite" if options.database == "sqlite" else "PostgreSQL"
    plan = f"{options.concurrency} at a time, {options.rounds} rounds of {options.seconds:g} s"
    lines = [
        f"{store}, {options.processes} processes, {plan}",
        "",
        "| | calls/s | p50 ms | p99 ms | CPU us a call | wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in turns.items():
        rate, p50, p99 = (
            statistics.median(getattr(turn, figure) for turn in each)
            for figure in ("rate", "p50", "p99")
        )
        cpu = statistics.median(turn.cpu / turn.calls * 1e6 if turn.calls else 0 for turn in each)
        wrong = sum(turn.wrong for turn in each)
        lines.append(f"| {name} | {rate:.0f} | {p50:.1f} | {p99:.1f} | {cpu:.0f} | {wrong} |")
    return "\n".join([*lines, ""])


SERVERS: Final[Mapping[str, Callable[[Setting], Drive]]] = {
    "ours": _ours,
    "httpx": _httpx,
    "fastmcp": _fastmcp,
}

if __name__ == "__main__":
    sys.exit(main())
