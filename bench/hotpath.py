"""`./run bench`: a tools/call here against the official SDK's server and FastMCP's.

Scratch PostgreSQL and Redis, or SQLite; the servers take turns, round by round. Exits with 1 when
any reply was wrong or the records do not hold what was answered, with 2 when something that is
needed is missing, with 3 when the machine was too busy for the figures to say anything.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from bench import comparison, drive, grounds, report
from bench.comparison import Plan
from bench.contestants import EMPTY, EQUAL, FASTMCP, KINDS, OURS, Unready
from bench.stores import Missing
from bench.wires import HANDSHAKE, WIRES

VOID, CANNOT, NOISY = 1, 2, 3
TERMINATED: Final = 143

FULL: Final = Plan(
    stores=("postgresql", "sqlite"),
    workers=(2, 1),
    concurrency=(1, 16, 64),
    wires=WIRES,
    kinds=(OURS, EQUAL, EMPTY, FASTMCP),
    rounds=5,
    seconds=4,
)
QUICK: Final = replace(
    FULL,
    stores=("postgresql",),
    workers=(2,),
    concurrency=(16,),
    only={FASTMCP.name: (HANDSHAKE,)},
)
CHOICES: Final = {"stores": tuple(grounds.GROUNDS), "wires": WIRES, "servers": tuple(KINDS)}


def main() -> int:
    # As an exception, so that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    options = _options()
    grounds.forget_surroundings()
    try:
        run = comparison.run(_plan(options), options.driver or drive.usual())
    except (Missing, Unready) as problem:
        sys.stderr.write(f"bench: {problem}\n")
        return CANNOT
    report.deliver(run, json_to=options.json, results=options.write_results)
    if run.faults:
        return VOID
    return 0 if run.is_quiet else NOISY


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="what the goals are about, in under 8 minutes")
    for name, allowed in CHOICES.items():
        add(f"--{name}", type=_several(str, allowed), help=f"some of {','.join(allowed)}")
    add("--workers", type=_several(int), help="web processes of each server, such as 1,2")
    add("--concurrency", type=_several(int), help="connections, such as 1,16,64")
    add("--rounds", type=_several(int))
    add("--seconds", type=_several(int), help="of each turn")
    add("--driver", choices=sorted(drive.DRIVERS), help="wrk, where it is installed")
    add("--json", metavar="FILE", help="the figures for a program; - is standard output")
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


def _plan(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else FULL
    given = {name: getattr(options, name) for name in ("stores", "wires", "workers", "concurrency")}
    single = {name: getattr(options, name) for name in ("rounds", "seconds")}
    chosen = {name: value for name, value in given.items() if value}
    chosen |= {name: value[0] for name, value in single.items() if value}
    if options.servers:
        # The baseline is always there: without it there is nothing to compare.
        peers = [KINDS[name] for name in options.servers if name != OURS.name]
        chosen["kinds"] = (OURS, *peers)
    return replace(plan, **chosen)


if __name__ == "__main__":
    sys.exit(main())
