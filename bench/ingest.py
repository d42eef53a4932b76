"""`./run bench ingest`: how much slower data tools are while events arrive.

One server process, and one process with all clients. Tools are called at a low fixed rate: for half
of the time alone, then while batches of events arrive by the SDK API, then for the other half alone
again. Exits with 1 when p95 with the events is more than the goal, when a call or batch fails, or
when the database does not have every event; with 3 when p95 is over the goal and the two halves
differ too much.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import data_store, scratch, starting, wires
from bench.data_tools import QUIET, STORES
from bench.scratch import Server

MISSED, NOISY = 1, 3
GOAL: Final = 1.5
WARM_UP_SECONDS: Final = 2.0
WAITING_SECONDS: Final = 90
OK: Final = "200"
REDIS: Final = "redis://127.0.0.1:6379/15"
RAISED: Final = {f"HALO_RATE_{name}": "1000000/s" for name in ("TOOLS_CALL", "OTHER", "IP", "SDK")}
CALLS: Final[Sequence[tuple[str, Mapping[str, Any]]]] = (
    ("data_find_user", {"user": "maria@acme.example"}),
    ("data_search_tickets", {"status": "unresolved"}),
    ("data_search_events", {}),
    ("data_query_activity_time_series", {"metric": "active_users"}),
)
MAX_USERS: Final = 500
HEAD: Final = ("tool", "calls", "p50 ms", "p95 ms", "with events: calls", "p50 ms", "p95 ms")


@dataclass(frozen=True)
class Phase:
    """What clients saw in a part of the time, and the CPU time of server and PostgreSQL."""

    seen: Mapping[str, Any]
    server: float
    postgresql: float

    @property
    def taken(self) -> list[float]:
        return [taken for calls in self.seen["calls"].values() for taken in calls]

    @property
    def accepted(self) -> int:
        """How many batches were stored."""
        return int(self.seen["statuses"].get(OK, 0))

    def shares(self) -> str:
        """CPU time through the time that passed: 100 % is one processor."""
        parts = (self.server, self.postgresql)
        return ", ".join(f"{100 * part / self.seen['seconds']:.0f} %" for part in parts)


@dataclass(frozen=True)
class Result:
    """The parts of a run in order, and the events that the database got."""

    first: Phase
    loaded: Phase
    second: Phase
    stored: int

    @property
    def alone(self) -> list[float]:
        return [*self.first.taken, *self.second.taken]

    @property
    def factor(self) -> float:
        return p95(self.loaded.taken) / p95(self.alone)

    @property
    def null_check(self) -> float:
        return p95(self.second.taken) / p95(self.first.taken)

    def faults(self, batch: int) -> list[str]:
        phases = (self.first, self.loaded, self.second)
        faults = [line for phase in phases for line in phase.seen["failed"][:3]]
        refused = {
            status: count for status, count in self.loaded.seen["statuses"].items() if status != OK
        }
        if refused:
            faults.append(f"batches refused, by status: {refused}")
        if self.stored != self.loaded.accepted * batch:
            faults.append(f"{self.loaded.accepted * batch} events accepted, {self.stored} stored")
        return faults


def main() -> int:
    options = _options()
    with (
        TemporaryDirectory() as folder,
        data_store.prepared(options.store, options.server, options.database) as url,
    ):
        redis = scratch.redis_if_up(os.environ.get("REDIS_URL") or REDIS)
        starting.start(Path(folder), url, RAISED | ({} if options.store == "sqlite" else redis))
        try:
            order = _order(options)
            with scratch.serving(1, Path(folder) / "server.log") as server:
                result = _measured(options, server, url, order)
        finally:
            _close()
    sys.stdout.writelines(f"{line}\n" for line in _report(options, result))
    if result.faults(options.batch):
        return MISSED
    if result.factor <= GOAL:
        return 0
    return MISSED if QUIET[0] <= result.null_check <= QUIET[1] else NOISY


def p95(taken: Sequence[float]) -> float:
    return quantiles(taken, n=20, method="inclusive")[18]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench ingest", description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=60, help="of events; tools alone are called as long")
    add("--events", type=float, default=500, help="a second")
    add("--batch", type=int, default=50, help="events in a request, up to 100")
    add("--calls", type=float, default=10, help="of tools a second")
    add("--size", choices=("small", "large"), default="small", help="of the demo data")
    add("--store", choices=STORES, default="postgresql")
    add("--database", default="", metavar="NAME", help="keep the database, or use it again")
    add("--server", default=os.environ.get("DATABASE_URL") or data_store.SERVER)
    options = parser.parse_args()
    if min(options.seconds, options.events, options.batch, options.calls) <= 0:
        parser.error("--seconds, --events, --batch and --calls are greater than 0.")
    if options.calls * options.seconds < 2 * len(CALLS):
        parser.error("--seconds: too few calls for percentiles.")
    return options


def _order(options: argparse.Namespace) -> dict[str, Any]:
    """What the clients send, as JSON: a token's calls, and a server key's events."""
    from oauth import addresses, scopes, server_keys  # noqa: PLC0415  settings first
    from oauth.grants import authorizations, tokens  # noqa: PLC0415  the same
    from oauth.models import AuthorizationRequest, Client  # noqa: PLC0415  the same
    from workspace.models import Customer, Membership  # noqa: PLC0415  the same

    organization = data_store.filled(options.size)
    members = Membership.objects.filter(organization=organization)
    member = members.select_related("user", "organization").order_by("pk")[0]
    client, _ = Client.objects.get_or_create(client_id="bench", defaults={"name": "Bench"})
    asked = AuthorizationRequest(client=client, resource=addresses.resource())
    scope = scopes.parse("data:read")
    token = tokens.issue(authorizations.give(asked, member, scope), scope).access
    row = server_keys.unsaved(organization, "Bench", [server_keys.SDK_WRITE], days=1)
    key = server_keys.issue(row, user=member.user, address="127.0.0.1").secret
    named = Customer.objects.filter(organization=organization).exclude(external_id="")
    requests = [(name, wires.call(wires.MODERN, name, given, token)) for name, given in CALLS]
    return {
        "calls": [(name, dict(one.headers), one.body.decode()) for name, one in requests],
        "calls_per_second": options.calls,
        "key": key,
        "users": list(named.order_by("pk").values_list("external_id", flat=True)[:MAX_USERS]),
        "batch": options.batch,
    }


def _measured(
    options: argparse.Namespace, server: Server, url: str, order: Mapping[str, Any]
) -> Result:
    from workspace.models import Event  # noqa: PLC0415  settings first

    def phase(seconds: float, events: float) -> Phase:
        before = server.cpu_seconds(), _database_cpu(options, url)
        rates = {"url": server.url, "seconds": seconds, "events_per_second": events}
        seen = _driven({**order, **rates})
        after = server.cpu_seconds(), _database_cpu(options, url)
        return Phase(seen, *(then - now for now, then in zip(before, after, strict=True)))

    phase(min(WARM_UP_SECONDS, options.seconds), options.events)
    _close()
    known = Event.objects.count()
    data_store.say(f"tools alone and with events, {2 * options.seconds:g} s together")
    first = phase(options.seconds / 2, 0)
    loaded = phase(options.seconds, options.events)
    second = phase(options.seconds / 2, 0)
    return Result(first, loaded, second, Event.objects.count() - known)


def _driven(order: Mapping[str, Any]) -> Mapping[str, Any]:
    driven = subprocess.run(
        [sys.executable, "-m", "bench.ingest_load"],
        cwd=scratch.ROOT,
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=order["seconds"] + WAITING_SECONDS,
    )
    seen: Mapping[str, Any] = json.loads(driven.stdout)
    return seen


def _database_cpu(options: argparse.Namespace, url: str) -> float:
    """CPU time of the backends; SQLite works in the server."""
    return 0.0 if options.store == "sqlite" else scratch.postgresql_cpu_seconds(url)


def _close() -> None:
    from django.db import connections  # noqa: PLC0415  settings first

    connections.close_all()


def _report(options: argparse.Namespace, result: Result) -> Iterator[str]:
    loaded, load = result.loaded, os.getloadavg()[0]
    yield (
        f"{options.store}, {options.size} demo data, one web process, {options.seconds:g} s of"
        f" {options.events:g} events a second in batches of {options.batch}; load {load:.1f}"
    )
    yield "| " + " | ".join(HEAD) + " |"
    yield "|---" * len(HEAD) + "|"
    for name, _ in CALLS:
        alone = [*result.first.seen["calls"][name], *result.second.seen["calls"][name]]
        yield "| " + " | ".join([name, *_cells(alone), *_cells(loaded.seen["calls"][name])]) + " |"
    yield f"| all | {' | '.join([*_cells(result.alone), *_cells(loaded.taken)])} |"
    yield f"p95 with events through p95 alone: {result.factor:.2f} (goal: {GOAL})"
    yield f"null check, p95 alone after the events through before: {result.null_check:.2f}"
    batches, seconds = loaded.seen["batches"], loaded.seen["seconds"]
    refused = len(batches) - loaded.accepted
    yield (
        f"events: {loaded.accepted * options.batch} accepted,"
        f" {refused * options.batch} refused, {result.stored} stored,"
        f" {loaded.accepted * options.batch / seconds:.0f} a second;"
        f" a batch: p50 {quantiles(batches, n=2)[0]:.1f} ms, p95 {p95(batches):.1f} ms"
    )
    yield f"CPU alone (server, PostgreSQL): {result.first.shares()}; with events: {loaded.shares()}"
    yield from result.faults(options.batch)


def _cells(taken: Sequence[float]) -> list[str]:
    return [str(len(taken)), f"{quantiles(taken, n=2)[0]:.1f}", f"{p95(taken):.1f}"]


if __name__ == "__main__":
    sys.exit(main())
