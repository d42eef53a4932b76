"""The suite's `server` command, through the relay, against the product with the fixtures in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conformance import fixture_server, relay, suite, verdict
from tests.conformance.scenarios import ELSEWHERE, NOT_SCORED, REQUIRED
from tests.conformance.verdict import Report, Scenario


@dataclass(frozen=True)
class Run:
    """What one run of the suite found, and all that was said meanwhile."""

    scenarios: tuple[Scenario, ...]
    output: str


def run_required(revision: str, command: Sequence[str], _folder: Path) -> Report:
    """The scenarios that a revision requires, and any of which nothing was known."""
    run = run_revision(revision, tuple(command))
    found = [each for each in run.scenarios if each.name not in NOT_SCORED[revision]]
    return Report(verdict.add_missing(dict.fromkeys(REQUIRED[revision], ()), found), run.output)


def run_unscored(command: Sequence[str], _folder: Path) -> Report:
    """The scenarios that count towards no revision: those run with each, and the rest."""
    runs = [run_revision(revision, tuple(command)) for revision in REQUIRED]
    with_revisions = [
        row
        for revision, run in zip(REQUIRED, runs, strict=True)
        for row in scenarios_of(revision, run)
    ]
    rest = run_scenarios(tuple(command), ELSEWHERE)
    alone = verdict.add_missing(dict.fromkeys(ELSEWHERE, ()), rest.scenarios)
    said = "\n".join(run.output for run in [*runs, rest])
    return Report((*with_revisions, *alone), said)


def scenarios_of(revision: str, run: Run) -> list[Scenario]:
    """The unscored scenarios of a run, named with its revision: some are run at both."""
    names = NOT_SCORED[revision]
    found = [each for each in run.scenarios if each.name in names]
    rows = verdict.add_missing(dict.fromkeys(names, ()), found)
    return [replace(row, name=f"{row.name} at {revision}") for row in rows]


@cache
def run_revision(revision: str, command: tuple[str, ...]) -> Run:
    """All that the suite runs for a revision; run once, for the two parts that look at it."""
    return ran(command, ("--requirements", revision))


def run_scenarios(command: tuple[str, ...], names: Sequence[str]) -> Run:
    return ran(command, *(("--scenario", name) for name in names))


def ran(command: tuple[str, ...], *choices: tuple[str, ...]) -> Run:
    """Start the server, run the suite on it with each choice of scenarios, and read it out."""
    said: list[str] = []
    with TemporaryDirectory(prefix="halo-conformance-") as name:
        folder = Path(name)
        with (
            fixture_server.running(folder) as server,
            relay.relaying(server.port, server.token) as port,
        ):
            url = f"http://127.0.0.1:{port}/api/mcp"
            for choice in choices:
                words = ["server", "--url", url, *choice, "--output-dir", str(folder / "results")]
                with suite.start_program([*command, *words]) as output:
                    said.append(output.read())
        said.append(server.log.read_text())
        return Run(tuple(verdict.read(folder / "results")), "\n".join(said))
