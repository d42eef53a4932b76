"""`./run bench tools`: how long each data tool takes on the demo data.

Every call runs through the pipeline in this process, from the gate to its committed audit row, with
the rows of another customer, ticket or conversation each time. A call that fails is named, and the
others are measured. Exits with 1 when a goal is missed, with 2 when a call failed, with 3 when a
goal is missed and the first call was not as fast at the end as at the beginning. The goals are
those of the large demo data.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from typing import Any, Final

from bench import harness
from bench.harness import Bench
from bench.measures import percentile
from bench.servers import ROOT, process_cpu_seconds

# How far p50 of the first call may differ between beginning and end.
QUIET: Final = (0.8, 1.25)
WARM_UP: Final = 2
SAMPLES: Final = 200
HEAD: Final = ("tool", "call", "p50 ms", "p95 ms", "goal", "", "CPU ms", "statements", "rows")
# Goals for p95 on PostgreSQL with the large demo data, in milliseconds; on SQLite twice that.
RECORD, FIGURES, SEARCH = 50, 150, 100
GOALS: Final = {
    "data_query_metrics": FIGURES,
    "data_query_activity_time_series": FIGURES,
    "data_search_knowledge": SEARCH,
}

Sample = Mapping[str, str]


class CallFailed(Exception):
    """A call that is measured was refused or failed."""


@dataclass(frozen=True)
class Case:
    """A call of a tool; names in braces are replaced by values of a sample."""

    tool: str
    title: str
    arguments: Mapping[str, Any]

    def goal_on(self, store: str) -> int:
        """Milliseconds that p95 may be."""
        return GOALS.get(self.tool, RECORD) * (2 if store == "sqlite" else 1)

    def fill(self, sample: Sample) -> dict[str, Any]:
        """The arguments with the values of a sample."""
        return {
            name: value.format_map(sample) if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }


def read_cases() -> list[Case]:
    """The calls of bench/data-tools.tsv: a tool, a title, and arguments as JSON in each line."""
    lines = (ROOT / "bench" / "data-tools.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return [Case(tool, title, json.loads(arguments)) for tool, title, arguments in rows]


def main() -> int:
    options = _options()
    with harness.prepare(options, settings={"HALO_LIMIT_STORE": "memory"}) as bench:
        from bench import tenant  # noqa: PLC0415  settings first

        member = tenant.find_member(tenant.seed_demo_data(options.size))
        chosen = [each for each in read_cases() if options.tools in f"{each.tool} {each.title}"]
        rows: list[tuple[Case, dict[str, float]]] = []
        for case in chosen:
            try:
                rows.append((case, _measure(bench, member, case)))
                harness.say(f"{case.tool}, {case.title}: p95 {rows[-1][1]['p95']:.1f} ms")
            except CallFailed as failure:
                harness.say(str(failure))
        if not rows:
            return harness.INCOMPLETE
        null_check = _measure(bench, member, rows[0][0])["p50"] / rows[0][1]["p50"]
    missed = [case for case, figures in rows if figures["p95"] > case.goal_on(options.store)]
    plan = f"{options.store}, {options.size} demo data, {options.rounds} calls of each kind"
    lines = [
        f"{plan}; null check {null_check:.2f}, load {os.getloadavg()[0]:.1f}",
        "",
        f"| {' | '.join(HEAD)} |",
        "|---" * len(HEAD) + "|",
        *(_row(case, figures, case.goal_on(options.store)) for case, figures in rows),
        "",
        f"{len(rows) - len(missed)} of {len(rows)} within their goal",
    ]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    if len(rows) < len(chosen):
        return harness.INCOMPLETE
    is_quiet = QUIET[0] <= null_check <= QUIET[1]
    return (harness.MISSED if is_quiet else harness.NOISY) if missed else harness.GOOD


def _options() -> argparse.Namespace:
    parser = harness.options_parser("tools", __doc__, rounds=20)
    add = parser.add_argument
    add("--size", choices=("small", "large"), default="small", help="of the demo data")
    add("--tools", default="", help="only tools and calls with this text in their name")
    options = parser.parse_args()
    if options.rounds < WARM_UP:
        parser.error(f"--rounds: at least {WARM_UP}.")
    return options


def _measure(bench: Bench, member: Any, case: Case) -> dict[str, float]:
    """Milliseconds of the calls, mean CPU time of this process and its database connection.

    Raises CallFailed.
    """
    from django.db import connection  # noqa: PLC0415  settings first

    counts: list[int] = []

    def count(execute: Callable[..., Any], *statement: Any) -> Any:
        counts[-1] += 1
        return execute(*statement)

    def cpu_seconds() -> float:
        connection.ensure_connection()
        is_sqlite = bench.store.kind == "sqlite"
        backend = 0 if is_sqlite else connection.connection.info.backend_pid
        return time.process_time() + (process_cpu_seconds(backend) if backend else 0.0)

    samples = _samples(member.organization)
    for sample in islice(samples, WARM_UP):
        # Counting costs time, so that the calls that are counted are not measured.
        counts.append(0)
        with connection.execute_wrapper(count):
            _call(member, case, sample)
    taken, rows, cpu = [], [], cpu_seconds()
    for sample in islice(samples, bench.options.rounds):
        start = time.perf_counter()
        rows.append(_call(member, case, sample))
        taken.append((time.perf_counter() - start) * 1000)
    return {
        "p50": median(taken),
        "p95": percentile(taken, 95),
        "cpu": (cpu_seconds() - cpu) / bench.options.rounds * 1000,
        "statements": max(counts),
        "rows": median(rows),
    }


def _samples(organization: Any) -> Iterator[Sample]:
    """Endlessly: a customer, their company, a ticket and a conversation, the same every run."""
    from workspace.models import Conversation, Customer, Ticket  # noqa: PLC0415  settings first

    chance, own = random.Random(1), {"organization": organization}  # noqa: S311  the same every run
    # Half of them have tickets, and so more than the others.
    customers = Customer.objects.filter(**own, company__isnull=False).exclude(email="")
    first = list(customers.order_by("pk")[: SAMPLES * 10])
    tickets = cycle(Ticket.objects.filter(**own).order_by("pk")[:SAMPLES])
    talks = cycle(Conversation.objects.filter(**own).order_by("pk")[:SAMPLES])
    for customer in cycle(chance.sample(first, min(SAMPLES, len(first)))):
        yield {
            "customer": customer.pk,
            "email": customer.email,
            "name": customer.name,
            "company": str(customer.company_id),
            "ticket": next(tickets).pk,
            "conversation": next(talks).pk,
        }


def _call(member: Any, case: Case, sample: Sample) -> int:
    """Make a call through the pipeline; returns how many rows its result has. Raises CallFailed."""
    from foundation import ids  # noqa: PLC0415  settings first
    from oauth import scopes  # noqa: PLC0415  the same
    from oauth.principal import Principal  # noqa: PLC0415  the same
    from tools_registry.endpoint.surface import WORKSPACE_SURFACE  # noqa: PLC0415  the same
    from tools_registry.pipeline import calls  # noqa: PLC0415  the same
    from tools_registry.pipeline.invocation import Invocation  # noqa: PLC0415  the same

    principal = Principal(
        token_id=ids.uuid7(),
        authorization_id=ids.uuid7(),
        organization_id=member.organization_id,
        user_id=member.user_id,
        user_email=member.user.email,
        client_id="bench",
        client_name="Bench",
        scope=scopes.parse("data:read"),
        mcp_server_on=True,
        # There is no token: nothing to check again after a second.
        as_of=float("inf"),
    )
    is_bound = case.title.startswith("bound")
    outcome = calls.prepare_and_run(
        Invocation(
            surface=WORKSPACE_SURFACE,
            principal=principal,
            name=case.tool,
            arguments=case.fill(sample),
            request_id=ids.uuid7().hex,
            binding={"bound_end_user_id": sample["customer"]} if is_bound else {},
        )
    )
    value = getattr(getattr(outcome, "result", None), "value", None)
    if value is None:
        raise CallFailed(f"{case.tool}, {case.title}: {outcome}")
    listed = value.get("items") or value.get("groups") or value.get("candidates")
    return len(listed) if listed else int("user" in value or "company" in value)


def _row(case: Case, figures: Mapping[str, float], goal: int) -> str:
    verdict = "pass" if figures["p95"] <= goal else "MISS"
    times = f"{figures['p50']:.1f} | {figures['p95']:.1f} | {goal} | {verdict}"
    counts = f"{figures['cpu']:.1f} | {figures['statements']:.0f} | {figures['rows']:.0f}"
    return f"| {case.tool} | {case.title} | {times} | {counts} |"


if __name__ == "__main__":
    harness.run(main)
