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
    """One check of the suite, as the `checks.json` of its scenario reports it.

    `excuse` is why it is known not to succeed; one without an excuse has to.
    """

    name: str
    status: str
    message: str = ""
    excuse: str = ""

    @property
    def has_succeeded(self) -> bool:
        return self.status == "SUCCESS"

    @property
    def acceptable(self) -> bool:
        return self.has_succeeded or bool(self.excuse)


@dataclass(frozen=True)
class Scenario:
    """A scenario with its checks; it passed if there are any and each of them is acceptable.

    `excuse` is why it is known not to pass as a whole.
    """

    name: str
    checks: tuple[Check, ...]
    excuse: str = ""

    @property
    def counted_checks(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status not in NEUTRAL)

    @property
    def has_passed(self) -> bool:
        return bool(self.counted_checks) and all(check.acceptable for check in self.counted_checks)

    @property
    def acceptable(self) -> bool:
        return self.has_passed or bool(self.excuse)


@dataclass(frozen=True)
class Report:
    """What a part of the suite found, and the words it printed meanwhile."""

    scenarios: tuple[Scenario, ...]
    output: str

    @property
    def has_passed(self) -> bool:
        return bool(self.scenarios) and all(scenario.acceptable for scenario in self.scenarios)


def read(folder: Path) -> list[Scenario]:
    """The scenarios whose results the suite left in a folder."""
    return [scenario(path) for path in sorted(folder.glob("*/checks.json"))]


def scenario(path: Path) -> Scenario:
    matched = RESULTS.fullmatch(path.parent.name)
    assert matched, path.parent.name
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    checks = [Check(each["id"], each["status"], each.get("errorMessage", "")) for each in found]
    return Scenario(matched["name"], tuple(checks))


def add_missing(
    required: Mapping[str, Collection[str]], found: Sequence[Scenario]
) -> tuple[Scenario, ...]:
    """What was found, with a row that failed for each scenario and check that has to be there.

    The suite ends with 0 when it skipped a scenario, and leaves out what it came to by no way: so
    what has to succeed is named here, and absence is no success.
    """
    absent = [Scenario(name, ()) for name in required if name not in {each.name for each in found}]
    return tuple(complete(each, required.get(each.name, ())) for each in [*found, *absent])


def complete(given: Scenario, required: Collection[str]) -> Scenario:
    reported = {check.name for check in given.counted_checks}
    missing = [
        Check(name, "MISSING", "the suite did not report it")
        for name in required
        if name not in reported
    ]
    return replace(given, checks=(*given.checks, *missing))


def apply_excuses(known: Mapping[str, str], found: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """What was found, with its excuses, by `scenario` or `scenario:check`.

    An excuse that nothing needs becomes a check that failed: it would hide the next regression.
    """
    named = {key.partition(":")[0] for key in known}
    absent = [Scenario(name, ()) for name in sorted(named - {each.name for each in found})]
    return tuple(_apply_excuses(known, each) for each in [*found, *absent])


def _apply_excuses(known: Mapping[str, str], given: Scenario) -> Scenario:
    excuses = {key.partition(":")[2]: why for key, why in known.items() if _is_of(key, given)}
    checks = tuple(
        check if check.has_succeeded else replace(check, excuse=excuses.get(check.name, ""))
        for check in given.checks
    )
    needed = {check.name for check in given.counted_checks if not check.has_succeeded}
    needed |= set() if given.has_passed or not given.checks else {""}
    stale = tuple(
        Check(name or given.name, "STALE", f"passes or is gone, and is excused: {why}")
        for name, why in excuses.items()
        if name not in needed
    )
    return Scenario(given.name, (*checks, *stale), "" if stale else excuses.get("", ""))


def _is_of(key: str, given: Scenario) -> bool:
    return key.partition(":")[0] == given.name


def table(part: str, scenarios: Sequence[Scenario]) -> str:
    """A line a scenario, below it what did not succeed, and at the end the count."""
    width = max((len(scenario.name) for scenario in scenarios), default=0)
    lines = [line for scenario in scenarios for line in rows(scenario, width)]
    passed = sum(scenario.has_passed for scenario in scenarios)
    excused = sum(bool(scenario.excuse) for scenario in scenarios)
    known = f", {excused} known not to" if excused else ""
    return "\n".join(
        [*lines, f"{part}: {passed} of {len(scenarios)} scenarios passed{known}"],
    )


def rows(scenario: Scenario, width: int) -> Iterator[str]:
    succeeded = sum(check.has_succeeded for check in scenario.counted_checks)
    facts = f"{scenario.name:{width}}  {succeeded} of {len(scenario.counted_checks)} checks"
    if scenario.excuse:
        yield f"known   {facts}: {scenario.excuse}"
        return
    yield f"{'passed' if scenario.has_passed else 'FAILED'}  {facts}"
    for check in scenario.counted_checks:
        if not check.has_succeeded:
            yield f"        {check.status} {check.name}: {check.message}".rstrip(" :")
        if check.excuse:
            yield f"        known: {check.excuse}"
