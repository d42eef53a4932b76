"""What is told of the official suite is what the suite found, and never more."""

import json
from pathlib import Path

import pytest

from tests.conformance import verdict
from tests.conformance.verdict import Check, Report, Scenario

REQUIRED = {"first": ("a", "b"), "second": ("c",)}
FIRST = Scenario("first", (Check("a", "SUCCESS"), Check("b", "SUCCESS")))
SECOND = Scenario("second", (Check("c", "SUCCESS"),))


def judged(*scenarios: Scenario) -> Report:
    return Report(verdict.held_against(REQUIRED, scenarios), "")


def test_a_report_passes_when_every_check_of_every_scenario_succeeded() -> None:
    report = judged(FIRST, SECOND)

    assert report.passed
    assert verdict.table(report.scenarios).splitlines() == [
        "passed  first   2 of 2 checks",
        "passed  second  1 of 1 checks",
        "2 of 2 scenarios passed",
    ]


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED"])
def test_a_check_that_did_not_succeed_fails_its_scenario_and_is_told(status: str) -> None:
    report = judged(FIRST, Scenario("second", (Check("c", status, "told why"),)))

    assert not report.passed
    assert verdict.table(report.scenarios).splitlines()[1:] == [
        "FAILED  second  0 of 1 checks",
        f"        {status} c: told why",
        "1 of 2 scenarios passed",
    ]


def test_a_note_is_neither_for_nor_against() -> None:
    noted = Scenario("first", (*FIRST.checks, Check("n", "INFO")))

    assert verdict.table(judged(noted, SECOND).scenarios).startswith(
        "passed  first   2 of 2 checks\n"
    )


@pytest.mark.parametrize(
    "checks", [(), (Check("c", "INFO"),), (Check("z", "SUCCESS"),)], ids=["none", "note", "other"]
)
def test_a_required_check_that_was_not_made_fails_its_scenario(checks: tuple[Check, ...]) -> None:
    report = judged(FIRST, Scenario("second", checks))

    assert not report.passed
    assert "MISSING c: the suite did not report it" in verdict.table(report.scenarios)


def test_a_scenario_that_reports_nothing_is_a_row_that_failed() -> None:
    report = judged(FIRST)

    assert not report.passed
    assert "FAILED  second  0 of 1 checks" in verdict.table(report.scenarios)


def test_a_scenario_beyond_the_required_ones_has_to_pass_too() -> None:
    new = Scenario("third", (Check("d", "FAILURE"),))

    assert not judged(FIRST, SECOND, new).passed
    assert not Report((Scenario("third", ()),), "").passed
    assert not Report((), "").passed


def test_results_are_read_as_the_suite_writes_them(tmp_path: Path) -> None:
    folder = tmp_path / "authorization-server-a-name-2026-11-21T04-51-52-533Z"
    folder.mkdir()
    failed = {"id": "b", "name": "B", "status": "FAILURE", "errorMessage": "no"}
    (folder / "checks.json").write_text(
        json.dumps([{"id": "a", "name": "A", "status": "SUCCESS"}, failed])
    )

    assert verdict.read(tmp_path) == [
        Scenario("a-name", (Check("a", "SUCCESS"), Check("b", "FAILURE", "no")))
    ]
