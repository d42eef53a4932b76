"""`./run bench tools`: how long each data tool takes on the demo data.

Every call runs through the pipeline in this process, from the gate to its committed audit row, with
the rows of another customer, ticket or conversation each time. A call that fails is named, and the
others are measured. Exits with 1 when a goal is missed, with 2 when a call failed, with 3 when a
goal is missed and the first call was not as fast at the end as at the beginning. The goals are
those of the large demo data.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import data_calls, data_store, starting
from bench.data_calls import CASES, Case, Sample
from bench.scratch import process_cpu_seconds

MISSED, FAILED, NOISY = 1, 2, 3
STORES: Final = ("postgresql", "sqlite")
# How far p50 of the first call may differ between beginning and end.
QUIET: Final = (0.8, 1.25)
WARM_UP: Final = 2
HEAD: Final = ("tool", "call", "p50 ms", "p95 ms", "goal", "", "CPU ms", "statements", "rows")


class CallFailed(Exception):
    """A call that is measured was refused or failed."""


@dataclass(frozen=True)
class Figures:
    """Milliseconds of the calls of a case, its statements and rows; `goal` is for p95.

    `cpu` is the mean CPU time of this process and its database connection.
    """

    case: Case
    p50: float
    p95: float
    goal: int
    cpu: float
    statements: int
    rows: int

    @property
    def is_met(self) -> bool:
        return self.p95 <= self.goal

    def cells(self) -> list[str]:
        return [
            self.case.tool,
            self.case.title,
            f"{self.p50:.1f}",
            f"{self.p95:.1f}",
            str(self.goal),
            "pass" if self.is_met else "MISS",
            f"{self.cpu:.1f}",
            str(self.statements),
            str(self.rows),
        ]


def main() -> int:
    options = _options()
    if len(options.stores) == 1:
        return _measure(options, options.stores[0])
    # Settings are read once in a process, so every database has one.
    codes = [_in_a_process(store) for store in options.stores]
    return max(codes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench tools", description=__doc__)
    add = parser.add_argument
    add("--size", choices=("small", "large"), default="small", help="of the demo data")
    add("--stores", type=_stores, default=["postgresql"], help="some of postgresql,sqlite")
    add("--rounds", type=int, default=20, help="calls of each kind")
    add("--tools", default="", help="only tools and calls with this text in their name")
    add("--database", default="", metavar="NAME", help="keep the database, or use it again")
    add("--server", default=os.environ.get("DATABASE_URL") or data_store.SERVER)
    add("--write-plans", action="store_true", help="into docs/develop/data-tool-plans.md")
    options = parser.parse_args()
    if options.rounds < WARM_UP:
        parser.error(f"--rounds: at least {WARM_UP}.")
    return options


def _stores(text: str) -> list[str]:
    found = text.split(",")
    if not set(found) <= set(STORES):
        raise argparse.ArgumentTypeError(f"choose from {','.join(STORES)}.")
    return found


def _in_a_process(store: str) -> int:
    import subprocess  # noqa: PLC0415  only where there are several databases

    words = [sys.executable, "-m", "bench.data_tools", *sys.argv[1:], "--stores", store]
    return subprocess.run(words, check=False).returncode  # noqa: S603  our own command


def _measure(options: argparse.Namespace, store: str) -> int:
    with (
        TemporaryDirectory() as folder,
        data_store.prepared(store, options.server, options.database) as url,
    ):
        starting.start(Path(folder), url, {"HALO_LIMIT_STORE": "memory"})
        caller = Caller(data_store.filled(options.size))
        chosen = [case for case in CASES if options.tools in f"{case.tool} {case.title}"]
        try:
            if options.write_plans:
                from bench import data_plans  # noqa: PLC0415  settings first

                data_plans.write(caller, options.size)
                return 0
            figures, ratio = _figures(caller, chosen, options.rounds, store)
        except CallFailed as failed:
            sys.stderr.write(f"bench: {failed}\n")
            return FAILED
        finally:
            _close()
    _print(
        figures, ratio, f"{store}, {options.size} demo data, {options.rounds} calls of each kind"
    )
    if len(figures) < len(chosen):
        return FAILED
    if all(each.is_met for each in figures):
        return 0
    return MISSED if QUIET[0] <= ratio <= QUIET[1] else NOISY


def _figures(
    caller: "Caller", cases: Sequence[Case], rounds: int, store: str
) -> tuple[list[Figures], float]:
    """The figures of the cases that do not fail, and how p50 of the first differs at the end."""
    found: list[Figures] = []
    for case in cases:
        try:
            found.append(_of_case(caller, case, rounds, store))
            data_store.say(" ".join(found[-1].cells()))
        except CallFailed as failed:
            data_store.say(str(failed))
    if not found:
        raise CallFailed("no call was measured.")
    again = _of_case(caller, found[0].case, rounds, store)
    return found, again.p50 / found[0].p50


def _of_case(caller: "Caller", case: Case, rounds: int, store: str) -> Figures:
    samples = data_calls.samples(caller.member.organization)
    counts = []
    for sample in islice(samples, WARM_UP):
        # Counting costs time, so that the calls that are counted are not measured.
        counted: list[str] = []
        caller.call(case, sample, counted.append)
        counts.append(len(counted))
    taken, rows, cpu = [], [], caller.cpu_seconds()
    for sample in islice(samples, rounds):
        start = time.perf_counter()
        rows.append(caller.call(case, sample))
        taken.append((time.perf_counter() - start) * 1000)
    return Figures(
        case=case,
        p50=median(taken),
        p95=quantiles(taken, n=20, method="inclusive")[18],
        goal=case.goal_on(store),
        cpu=(caller.cpu_seconds() - cpu) / rounds * 1000,
        statements=max(counts),
        rows=round(median(rows)),
    )


class Caller:
    """Makes calls through the pipeline, as a member of an organization."""

    def __init__(self, organization: Any) -> None:
        from workspace.models import Membership  # noqa: PLC0415  settings first

        members = Membership.objects.filter(organization=organization)
        self.member = members.select_related("user", "organization").order_by("pk")[0]

    def cpu_seconds(self) -> float:
        """CPU time so far of this process and of the process of its database connection."""
        from django.db import connection  # noqa: PLC0415  settings first

        own = time.process_time()
        if connection.vendor == "sqlite":
            return own
        connection.ensure_connection()
        return own + process_cpu_seconds(connection.connection.info.backend_pid)

    def call(self, case: Case, sample: Sample, note: Callable[[str], None] | None = None) -> int:
        """Makes a call; returns how many rows its result has. `note` gets every statement.

        Raises CallFailed.
        """
        from django.db import connection  # noqa: PLC0415  settings first

        def noting(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            assert note is not None  # noqa: S101  only used with it
            note(sql)
            return execute(sql, *rest)

        with connection.execute_wrapper(noting) if note else nullcontext():
            return _rows(case, self._answer(case, sample))

    def _answer(self, case: Case, sample: Sample) -> Any:
        from foundation import ids  # noqa: PLC0415  settings first
        from tools_registry.endpoint.surface import WORKSPACE_SURFACE  # noqa: PLC0415  the same
        from tools_registry.pipeline import calls  # noqa: PLC0415  the same
        from tools_registry.pipeline.invocation import Invocation  # noqa: PLC0415  the same

        bound = {"bound_end_user_id": sample["customer"]} if case.is_bound else {}
        invocation = Invocation(
            surface=WORKSPACE_SURFACE,
            principal=self._principal(),
            name=case.tool,
            arguments=case.filled(sample),
            request_id=ids.uuid7().hex,
            binding=bound,
        )
        return calls.run(invocation)

    def _principal(self) -> Any:
        from foundation import ids  # noqa: PLC0415  settings first
        from oauth import scopes  # noqa: PLC0415  the same
        from oauth.principal import Principal  # noqa: PLC0415  the same

        return Principal(
            token_id=ids.uuid7(),
            authorization_id=ids.uuid7(),
            organization_id=self.member.organization_id,
            user_id=self.member.user_id,
            user_email=self.member.user.email,
            client_id="bench",
            client_name="Bench",
            scope=scopes.parse("data:read"),
            mcp_server_on=True,
            # There is no token: nothing to check again after a second.
            as_of=float("inf"),
        )


def _rows(case: Case, outcome: Any) -> int:
    value = getattr(getattr(outcome, "result", None), "value", None)
    if value is None:
        raise CallFailed(f"{case.tool}, {case.title}: {outcome}")
    listed = value.get("items") or value.get("groups") or value.get("candidates")
    return len(listed) if listed else int("user" in value or "company" in value)


def _close() -> None:
    from django.db import connections  # noqa: PLC0415  settings first

    connections.close_all()


def _print(figures: Sequence[Figures], ratio: float, conditions: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in _table(figures, ratio, conditions))


def _table(figures: Sequence[Figures], ratio: float, conditions: str) -> Iterator[str]:
    load = os.getloadavg()[0]
    yield f"{conditions}; null check {ratio:.2f}, load {load:.1f}"
    yield ""
    yield "| " + " | ".join(HEAD) + " |"
    yield "|---" * len(HEAD) + "|"
    yield from ("| " + " | ".join(each.cells()) + " |" for each in figures)
    missed = sum(not each.is_met for each in figures)
    yield ""
    yield f"{len(figures) - missed} of {len(figures)} within their goal"


if __name__ == "__main__":
    sys.exit(main())
