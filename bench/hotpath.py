"""`./run bench`: tools/call of shipped tools here and at the official SDK's server.

Scratch PostgreSQL and Redis, or SQLite; the servers take turns, round by round. Exits with 1 when
any reply was wrong or the records do not hold what was answered, with 2 when something that is
needed is missing, with 3 when the machine was too busy for the figures to say anything.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bench import backends, comparison, drive, report
from bench.comparison import Plan
from bench.contestants import EMPTY, EQUAL, OURS, Unready
from bench.stores import Missing
from bench.tools import SHIPPED
from bench.wires import WIRES

VOID, CANNOT, NOISY = 1, 2, 3
TERMINATED: Final = 143

FULL: Final = Plan(
    calls=SHIPPED,
    switch="switch_off_server",
    layer="flag",
    stores=("postgresql", "sqlite"),
    workers=(2, 1),
    concurrency=(1, 16, 64),
    wires=WIRES,
    kinds=(OURS, EQUAL, EMPTY),
    rounds=5,
    seconds=4,
)


@dataclass(frozen=True)
class Suite:
    """A comparison: its command, what it does by itself and in short, and what it documents."""

    command: str
    description: str | None
    full: Plan
    quick: Plan
    writes_results: bool = False

    @property
    def choices(self) -> dict[str, Sequence[str]]:
        """What the options that name things may name."""
        return {
            "stores": tuple(backends.BACKENDS),
            "tools": tuple(self.full.calls),
            "wires": WIRES,
            "servers": [kind.name for kind in self.full.kinds],
        }


def quick(full: Plan) -> Plan:
    """What the goals are about."""
    return replace(full, stores=("postgresql",), workers=(2,), concurrency=(16,))


HOTPATH: Final = Suite("./run bench", __doc__, FULL, quick(FULL), writes_results=True)


def main(suite: Suite = HOTPATH) -> int:
    # As an exception, so that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    options = _options(suite)
    backends.forget_surroundings()
    try:
        run = comparison.run(_plan(suite, options), options.driver or drive.usual())
    except (Missing, Unready) as problem:
        sys.stderr.write(f"bench: {problem}\n")
        return CANNOT
    results = suite.writes_results and options.write_results
    report.deliver(run, json_to=options.json, results=results)
    if run.faults:
        return VOID
    return 0 if run.is_quiet else NOISY


def _options(suite: Suite) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=suite.command, description=suite.description)
    add = parser.add_argument
    add("--quick", action="store_true", help="what the goals are about, in under 8 minutes")
    for name, allowed in suite.choices.items():
        add(f"--{name}", type=_several(str, allowed), help=f"some of {','.join(allowed)}")
    add("--workers", type=_several(int), help="web processes of each server, such as 1,2")
    add("--concurrency", type=_several(int), help="connections, such as 1,16,64")
    add("--rounds", type=_several(int))
    add("--seconds", type=_several(int), help="of each turn")
    add("--driver", choices=sorted(drive.DRIVERS), help="wrk, where it is installed")
    add("--json", metavar="FILE", help="the figures for a program; - is standard output")
    if suite.writes_results:
        add("--write-results", action="store_true", help="into bench/RESULTS.md")
    return parser.parse_args()


def _several(read: Callable[[str], Any], allowed: Sequence[str] = ()) -> Callable[[str], Any]:
    def parse(text: str) -> list[Any]:
        words = text.split(",")
        found = [read(word) for word in words]
        strangers = [word for word in words if allowed and word not in allowed]
        if strangers or any(isinstance(each, int) and each < 1 for each in found):
            raise ValueError(text)
        return found

    parse.__name__ = "choice"  # what argparse calls it when it refuses one
    return parse


def _plan(suite: Suite, options: argparse.Namespace) -> Plan:
    plan = suite.quick if options.quick else suite.full
    given = {name: getattr(options, name) for name in ("stores", "wires", "workers", "concurrency")}
    single = {name: getattr(options, name) for name in ("rounds", "seconds")}
    chosen = {name: value for name, value in given.items() if value}
    chosen |= {name: value[0] for name, value in single.items() if value}
    if options.tools:
        chosen["calls"] = {name: plan.calls[name] for name in options.tools}
    if options.servers:
        # The baseline is always there: without it there is nothing to compare.
        baseline, *peers = plan.kinds
        chosen["kinds"] = (baseline, *(kind for kind in peers if kind.name in options.servers))
    return replace(plan, **chosen)


if __name__ == "__main__":
    sys.exit(main())
