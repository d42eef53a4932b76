"""`./run bench streams`: a thousand open streams in one process, mostly without events.

Exits with 1 if a stream costs 15 KB or more, or a thread, or does not receive a change.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO, cast

from bench import scratch, starting
from bench.scratch import Server

POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
REDIS: Final = "redis://127.0.0.1:6379/15"
SCOPE: Final = "docs:read actions:bench:*"
RAISED: Final = {f"HALO_RATE_{name}": "1000000/s" for name in ("TOOLS_CALL", "OTHER", "IP")}
MAX_BYTES: Final = 15_000
SPARE_FILES: Final = 100
WARM: Final = 64


@dataclass(frozen=True)
class Seen:
    """The server at one moment: KiB in memory, threads, and how long calls take."""

    memory: int
    threads: int
    calls: Sequence[float]

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.calls, n=100)[percent - 1]


@dataclass(frozen=True)
class Notified:
    """Seconds from a switch to the last stream, and of those the server's CPU time."""

    seconds: float
    cpu: float


class Clients:
    """The process with all connections in it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.listeners"],
            cwd=scratch.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._orders = cast("TextIO", self._process.stdin)
        self._answers = cast("TextIO", self._process.stdout)

    def open(self, tokens: Sequence[str]) -> int:
        self._order("open", url=self._url, tokens=tokens)
        return int(self._seen())

    def call(self, token: str, count: int) -> list[float]:
        self._order("call", url=self._url, token=token, count=count)
        return list(self._seen())

    def start_waiting(self) -> None:
        self._order("notified")

    def notified(self) -> float:
        return float(self._seen())

    def end(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)

    def _order(self, act: str, **given: object) -> None:
        self._orders.write(json.dumps({"act": act, **given}) + "\n")
        self._orders.flush()

    def _seen(self) -> Any:
        return json.loads(self._answers.readline())


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run bench streams", description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=1000, help="tools/call, one after the other")
    parser.add_argument("--silence", type=float, default=20, help="seconds before measuring")
    parser.add_argument("--database", default=os.environ.get("DATABASE_URL") or POSTGRESQL)
    options = parser.parse_args()
    _require_files(options.streams)
    with tempfile.TemporaryDirectory() as folder, scratch.database(options.database) as database:
        prepare(Path(folder), database)
        issued = tokens(options.streams + WARM)
        log = Path(folder, "server.log")
        with scratch.serving(1, log, "bench.switchable:application") as server:
            return _measure(server, issued, options)


def _require_files(streams: int) -> None:
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed < streams + SPARE_FILES:
        sys.exit(f"{streams} streams need more open files than the {allowed} that ulimit allows.")


def prepare(folder: Path, database: str) -> None:
    """The environment for this process and the server's, and an empty migrated database."""
    redis = scratch.redis_if_up(os.environ.get("REDIS_URL") or REDIS)
    starting.start(folder, database, RAISED | redis)


def tokens(count: int) -> list[str]:
    """As many connections of one person in one organization, with a token each."""
    from oauth import addresses, scopes  # noqa: PLC0415  settings first
    from oauth.grants import authorizations, tokens  # noqa: PLC0415  settings first
    from oauth.models import AuthorizationRequest, Client  # noqa: PLC0415
    from workspace import organizations  # noqa: PLC0415
    from workspace.models import Membership, User  # noqa: PLC0415

    organizations.found("Bench", owner=User.objects.create_user("bench@example.com"))
    membership = Membership.objects.select_related().get()
    client = Client.objects.create(client_id="bench", name="Bench")
    asked = AuthorizationRequest(client=client, resource=addresses.resource())
    scope = scopes.parse(SCOPE)
    roots = [authorizations.give(asked, membership, scope) for _ in range(count)]
    return [tokens.issue(root, scope).access for root in roots]


def _flip() -> None:
    """What the admin's page does when somebody connects an integration and enables its action."""
    from tools_registry.models import ActionToggle, IntegrationMode  # noqa: PLC0415
    from workspace import changes  # noqa: PLC0415
    from workspace.models import Agent, Organization  # noqa: PLC0415

    organization = Organization.objects.get()
    IntegrationMode.objects.create(
        organization=organization, integration="bench", connection="connected"
    )
    ActionToggle.objects.create(
        agent=Agent.objects.get(), integration="bench", action="hello", enabled=True
    )
    changes.publish([organization.pk])


def _measure(server: Server, tokens: Sequence[str], options: argparse.Namespace) -> int:
    with _clients(server.url) as warming:
        warming.open(tokens[:WARM])
        warming.call(tokens[0], options.calls // 4)
    time.sleep(2)
    with _clients(server.url) as clients:
        before = _look(server, clients, tokens[0], options.calls)
        listening = clients.open(tokens[WARM:])
        time.sleep(options.silence)
        after = _look(server, clients, tokens[0], options.calls)
        notified = _notify(server, clients)
    return _judge(listening, before, after, notified)


def _notify(server: Server, clients: Clients) -> Notified:
    busy = server.cpu_seconds()
    clients.start_waiting()
    _flip()
    since = time.perf_counter()
    clients.notified()
    return Notified(time.perf_counter() - since, server.cpu_seconds() - busy)


@contextmanager
def _clients(url: str) -> Iterator[Clients]:
    clients = Clients(url)
    try:
        yield clients
    finally:
        clients.end()


def _look(server: Server, clients: Clients, token: str, count: int) -> Seen:
    calls = clients.call(token, count)
    return Seen(server.status("VmRSS"), server.status("Threads"), calls)


def _judge(listening: int, before: Seen, after: Seen, notified: Notified) -> int:
    each = (after.memory - before.memory) * 1024 / listening
    lines = [
        f"{listening} streams listen to one process",
        f"memory: {each / 1000:.1f} KB a stream ({before.memory} KiB before, {after.memory} after)",
        f"threads: {before.threads} before, {after.threads} after",
        *(
            f"tools/call {name}: p50 {seen.percentile(50):.1f} ms, p99 {seen.percentile(99):.1f} ms"
            for name, seen in (("without", before), ("with", after))
        ),
        f"the last stream was notified of a switch {notified.seconds:.2f} s after it was turned",
        f"  CPU of the process for it: {1000 * notified.cpu / listening:.2f} ms a stream",
        "",
    ]
    sys.stdout.write("\n".join(lines))
    return int(each >= MAX_BYTES or after.threads - before.threads >= listening / 10)


if __name__ == "__main__":
    sys.exit(main())
