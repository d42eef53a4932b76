"""`./run bench ingest`: how much slower data tools are while events arrive.

Tools are called at a low fixed rate: for half of the time alone, then while batches of events
arrive by the SDK API, then for the other half alone again. A request is sent when it is due, even
if earlier ones have no answer yet, and its time is measured from then. Exits with 1 when p95 with
the events is more than the goal, when a call or batch fails, or when the database does not have
every event; with 3 when p95 is over the goal and the two halves differ too much.
"""

import argparse
import asyncio
import itertools
import json
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from bench import harness, protocol
from bench.harness import Bench
from bench.measures import percentile
from bench.protocol import MODERN, Request
from bench.servers import Server
from bench.tools import QUIET

GOAL: Final = 1.5
WARM_UP_SECONDS: Final = 2.0
OK: Final = 200
LIMITS: Final = ("TOOLS_CALL", "OTHER", "SDK")
EVENTS: Final = "/api/sdk/events"
PAGES: Final = ("/boards", "/boards/1", "/billing", "/settings", "/reports")
CALLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "data_find_user": {"user": "maria@acme.example"},
    "data_search_tickets": {"status": "unresolved"},
    "data_search_events": {},
    "data_query_activity_time_series": {"metric": "active_users"},
}
MAX_USERS: Final = 500
HEAD: Final = ("tool", "calls", "p50 ms", "p95 ms", "with events: calls", "p50 ms", "p95 ms")


@dataclass
class Phase:
    """A part of the time: milliseconds of calls by tool and of batches, and CPU seconds."""

    calls: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in CALLS})
    failed: list[str] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)
    accepted: int = 0
    seconds: float = 0.0
    cpu: Mapping[str, float] = field(default_factory=dict)

    @property
    def taken(self) -> list[float]:
        return [taken for calls in self.calls.values() for taken in calls]

    def shares(self) -> str:
        """CPU time through the time that passed: 100 % is one processor."""
        parts = (self.cpu.get(group, 0.0) for group in ("server", "postgresql"))
        return ", ".join(f"{100 * part / self.seconds:.0f} %" for part in parts)


@dataclass(frozen=True)
class Clients:
    """What clients send to a server: calls of tools, and batches of events of these customers."""

    bench: Bench
    server: Server
    calls: Mapping[str, Request]
    key: str
    users: Sequence[str]

    def run(self, seconds: float, events: float) -> Phase:
        """Send for so many seconds, so many events a second."""
        before = self.bench.cpu_seconds(self.server)
        phase = asyncio.run(self._send_all(seconds, events))
        after = self.bench.cpu_seconds(self.server)
        phase.cpu = {group: after[group] - before[group] for group in after}
        return phase

    async def _send_all(self, seconds: float, events: float) -> Phase:
        """Send everything that is due, and await what has no answer at the end."""
        phase, calls = Phase(), itertools.cycle(self.calls.items())
        options, limits = self.bench.options, httpx2.Limits(max_connections=64)
        client = httpx2.AsyncClient(base_url=self.server.url, limits=limits, timeout=30)
        async with client as http:

            async def call(due: float) -> None:
                name, request = next(calls)
                response = await _post(http, protocol.PATH, request)
                phase.calls[name].append((time.perf_counter() - due) * 1000)
                if protocol.result_text(response.content) is None:
                    phase.failed.append(f"{name}: {response.status_code} {response.text[:200]}")

            async def send(due: float) -> None:
                response = await _post(http, EVENTS, self._batch(options.batch))
                phase.batches.append((time.perf_counter() - due) * 1000)
                phase.accepted += response.status_code == OK
                if response.status_code != OK:
                    phase.failed.append(f"batch: {response.status_code} {response.text[:200]}")

            began = time.perf_counter()
            await asyncio.gather(
                _at_rate(call, options.calls, seconds),
                _at_rate(send, events / options.batch, seconds),
            )
            phase.seconds = time.perf_counter() - began
        return phase

    def _batch(self, size: int) -> Request:
        session = secrets.token_hex(8)
        events = [
            {
                "id": f"{session}-{number}",
                "event_type": "page_view",
                "user_id": secrets.choice(self.users),
                "session_id": session,
                "page_url": secrets.choice(PAGES),
                "metadata": {"title": "Boards", "width": 1440},
            }
            for number in range(size)
        ]
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return Request(headers, json.dumps({"events": events}).encode())


async def _post(http: httpx2.AsyncClient, path: str, request: Request) -> httpx2.Response:
    return await http.post(path, headers=dict(request.headers), content=request.body)


async def _at_rate(act: Callable[[float], Awaitable[None]], rate: float, seconds: float) -> None:
    began, started = time.perf_counter(), []
    for number in range(round(rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(due - time.perf_counter())
        started.append(asyncio.ensure_future(act(due)))
    await asyncio.gather(*started)


def main() -> int:
    options = _options()
    with harness.prepare(options, LIMITS) as bench, bench.serve() as server:
        from workspace.models import Event  # noqa: PLC0415  settings first

        clients = _prepare(bench, server)
        clients.run(min(WARM_UP_SECONDS, options.seconds), options.events)
        known = Event.objects.count()
        harness.say(f"tools alone and with events, {2 * options.seconds:g} s together")
        first = clients.run(options.seconds / 2, 0)
        loaded = clients.run(options.seconds, options.events)
        second = clients.run(options.seconds / 2, 0)
        stored = Event.objects.count() - known
    factor = percentile(loaded.taken, 95) / percentile([*first.taken, *second.taken], 95)
    null_check = percentile(second.taken, 95) / percentile(first.taken, 95)
    accepted, sent = loaded.accepted * options.batch, len(loaded.batches) * options.batch
    faults = [line for phase in (first, loaded, second) for line in phase.failed[:3]]
    faults += [f"{accepted} events accepted, {stored} stored"] if stored != accepted else []
    plan = f"{options.seconds:g} s of {options.events:g} events a second in batches of"
    where = f"{options.store}, {options.size} demo data, one web process"
    p50, p95 = percentile(loaded.batches, 50), percentile(loaded.batches, 95)
    times = f"p50 {p50:.1f} ms, p95 {p95:.1f} ms"
    batches = f"{accepted / loaded.seconds:.0f} a second; a batch: {times}"
    lines = [
        f"{where}, {plan} {options.batch}; load {os.getloadavg()[0]:.1f}",
        *_table(first, loaded, second),
        f"p95 with events through p95 alone: {factor:.2f} (goal: {GOAL})",
        f"null check, p95 alone after the events through before: {null_check:.2f}",
        f"events: {accepted} accepted, {sent - accepted} refused, {stored} stored, {batches}",
        f"CPU alone (server, PostgreSQL): {first.shares()}; with events: {loaded.shares()}",
    ]
    sys.stdout.writelines(f"{line}\n" for line in [*lines, *faults])
    if factor <= GOAL and not faults:
        return harness.GOOD
    is_quiet = QUIET[0] <= null_check <= QUIET[1]
    return harness.MISSED if faults or is_quiet else harness.NOISY


def _options() -> argparse.Namespace:
    numbers = {"seconds": 60.0, "events": 500.0, "batch": 50, "calls": 10.0}
    parser = harness.options_parser("ingest", __doc__, **numbers)
    parser.add_argument("--size", choices=("small", "large"), default="small", help="demo data")
    options = parser.parse_args()
    if options.calls * options.seconds < 2 * len(CALLS):
        parser.error("--seconds: too few calls for percentiles.")
    return options


def _prepare(bench: Bench, server: Server) -> Clients:
    """Demo data, a token for the calls, and a server key for the events."""
    from bench import tenant  # noqa: PLC0415  settings first
    from oauth import server_keys  # noqa: PLC0415  the same
    from workspace.models import Customer  # noqa: PLC0415  the same

    organization = tenant.seed_demo_data(bench.options.size)
    (pair,) = tenant.create_grants(organization, "data:read")
    row = server_keys.build_row(organization, "Bench", [server_keys.SDK_WRITE], days=1)
    user = tenant.find_member(organization).user
    key = server_keys.issue(row, user=user, address="127.0.0.1").secret
    named = Customer.objects.filter(organization=organization).exclude(external_id="")
    users = list(named.order_by("pk").values_list("external_id", flat=True)[:MAX_USERS])
    calls = {
        name: protocol.call_tool(MODERN, name, arguments, pair.access)
        for name, arguments in CALLS.items()
    }
    return Clients(bench, server, calls, key, users)


def _table(first: Phase, loaded: Phase, second: Phase) -> Iterator[str]:
    yield "| " + " | ".join(HEAD) + " |"
    yield "|---" * len(HEAD) + "|"
    for name in CALLS:
        alone = [*first.calls[name], *second.calls[name]]
        yield f"| {name} | {_cells(alone)} | {_cells(loaded.calls[name])} |"
    yield f"| all | {_cells([*first.taken, *second.taken])} | {_cells(loaded.taken)} |"


def _cells(taken: Sequence[float]) -> str:
    return f"{len(taken)} | {percentile(taken, 50):.1f} | {percentile(taken, 95):.1f}"


if __name__ == "__main__":
    harness.run(main)
