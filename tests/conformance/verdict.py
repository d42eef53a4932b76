"""What the suite found, scenario by scenario, and what is to be made of it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

# The suite's notes, which say neither that something holds nor that it does not.
NEUTRAL: Final = frozenset({"INFO"})
# The folder of a scenario's results: what it was run as, its name, and when.
RESULTS: Final = re.compile(
    r"(?:authorization-server|server)-(?P<name>[a-z0-9-]+?)-\d{4}-\d{2}-\d{2}T[\w-]+"
)


@dataclass(frozen=True)
class Check:
    """One check of the suite, as the `checks.json` of its scenario reports it."""

    name: str
    status: str
    message: str = ""

    @property
    def succeeded(self) -> bool:
        return self.status == "SUCCESS"


@dataclass(frozen=True)
class Scenario:
    """A scenario with its checks; it passed if there are any and each of them succeeded."""

    name: str
    checks: tuple[Check, ...]

    @property
    def counted(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status not in NEUTRAL)

    @property
    def passed(self) -> bool:
        return bool(self.counted) and all(check.succeeded for check in self.counted)


@dataclass(frozen=True)
class Report:
    """What a part of the suite found, and the words it printed meanwhile."""

    scenarios: tuple[Scenario, ...]
    output: str

    @property
    def passed(self) -> bool:
        return bool(self.scenarios) and all(scenario.passed for scenario in self.scenarios)


def read(folder: Path) -> list[Scenario]:
    """The scenarios whose results the suite left in a folder."""
    return [scenario(path) for path in sorted(folder.glob("*/checks.json"))]


def scenario(path: Path) -> Scenario:
    matched = RESULTS.fullmatch(path.parent.name)
    assert matched, path.parent.name
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    checks = [Check(each["id"], each["status"], each.get("errorMessage", "")) for each in found]
    return Scenario(matched["name"], tuple(checks))


def held_against(
    required: Mapping[str, Collection[str]], found: Sequence[Scenario]
) -> tuple[Scenario, ...]:
    """What was found, with a row that failed for each scenario and check that has to be there.

    The suite ends with 0 when it skipped a scenario, and leaves out what it came to by no way: so
    what has to succeed is named here, and absence is no success.
    """
    absent = [Scenario(name, ()) for name in required if name not in {each.name for each in found}]
    return tuple(complete(each, required.get(each.name, ())) for each in [*found, *absent])


def complete(given: Scenario, required: Collection[str]) -> Scenario:
    told = {check.name for check in given.counted}
    missing = [
        Check(name, "MISSING", "the suite did not report it")
        for name in required
        if name not in told
    ]
    return replace(given, checks=(*given.checks, *missing))


def table(scenarios: Sequence[Scenario]) -> str:
    """A line a scenario, below it what did not succeed, and at the end the count."""
    width = max(len(scenario.name) for scenario in scenarios)
    lines = [line for scenario in scenarios for line in rows(scenario, width)]
    passed = sum(scenario.passed for scenario in scenarios)
    return "\n".join([*lines, f"{passed} of {len(scenarios)} scenarios passed"])


def rows(scenario: Scenario, width: int) -> Iterator[str]:
    succeeded = sum(check.succeeded for check in scenario.counted)
    word = "passed" if scenario.passed else "FAILED"
    yield f"{word}  {scenario.name:{width}}  {succeeded} of {len(scenario.counted)} checks"
    for check in scenario.counted:
        if not check.succeeded:
            yield f"        {check.status} {check.name}: {check.message}".rstrip(" :")
