"""The official conformance suite against this server, part by part.

    python -m tests.conformance [PART ...]
    python -m tests.conformance --serve-only

Ends with 0 only if every scenario passed or is known not to (`known.py`), with 1 if one did not,
and with 2 where the suite cannot be run. What the suite itself printed is shown for a part that
did not pass. With --serve-only just the server is started that the suite is pointed at.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tests.conformance import authorization, fixture_server, scenarios, server, suite, verdict
from tests.conformance.known_failures import KNOWN
from tests.conformance.verdict import Report
from tests.drivers.node import Unavailable

Part = Callable[[Sequence[str], Path], Report]
PARTS: Final[Mapping[str, Part]] = {
    **{f"server-{each}": partial(server.run_required, each) for each in scenarios.REQUIRED},
    "unscored": server.run_unscored,
    "authorization": authorization.report,
}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run conformance")
    parser.add_argument("part", nargs="*", help=f"of these, or all: {', '.join(PARTS)}")
    parser.add_argument(
        "--serve-only",
        action="store_true",
        help="start the server with the suite's fixtures, print its address and a token, and serve",
    )
    given = parser.parse_args(words)
    if unknown := set(given.part) - PARTS.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there is: {', '.join(PARTS)}")
    if given.serve_only:
        fixture_server.main()
        return 0
    return run(given.part or list(PARTS))


def run(parts: Sequence[str]) -> int:
    try:
        command = suite.command()
    except Unavailable as problem:
        tell(f"conformance: {problem}")
        return 2
    return print_verdict({name: run_part(name, command) for name in parts})


def run_part(name: str, command: Sequence[str]) -> Report:
    tell(f"conformance: {name} ...")
    with tempfile.TemporaryDirectory(prefix="halo-conformance-") as folder:
        report = PARTS[name](command, Path(folder))
    return Report(verdict.apply_excuses(KNOWN.get(name, {}), report.scenarios), report.output)


def print_verdict(reports: Mapping[str, Report]) -> int:
    for report in reports.values():
        if not report.has_passed:
            tell(report.output)
    for name, report in reports.items():
        tell(verdict.table(name, report.scenarios))
    return 0 if all(report.has_passed for report in reports.values()) else 1


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
