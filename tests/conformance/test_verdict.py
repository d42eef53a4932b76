"""What is reported of the official suite is what the suite found, and never more."""

import json
from pathlib import Path

import pytest

from tests.conformance import verdict
from tests.conformance.verdict import Check, Report, Scenario

REQUIRED = {"first": ("a", "b"), "second": ("c",)}
FIRST = Scenario("first", (Check("a", "SUCCESS"), Check("b", "SUCCESS")))
SECOND = Scenario("second", (Check("c", "SUCCESS"),))


def make_report(*scenarios: Scenario) -> Report:
    return Report(verdict.add_missing(REQUIRED, scenarios), "")


def test_a_report_passes_when_every_check_of_every_scenario_succeeded() -> None:
    report = make_report(FIRST, SECOND)

    assert report.has_passed
    assert verdict.table("part", report.scenarios).splitlines() == [
        "passed  first   2 of 2 checks",
        "passed  second  1 of 1 checks",
        "part: 2 of 2 scenarios passed",
    ]


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED"])
def test_a_check_that_did_not_succeed_fails_its_scenario_and_is_reported(status: str) -> None:
    report = make_report(FIRST, Scenario("second", (Check("c", status, "the reason"),)))

    assert not report.has_passed
    assert verdict.table("part", report.scenarios).splitlines()[1:] == [
        "FAILED  second  0 of 1 checks",
        f"        {status} c: the reason",
        "part: 1 of 2 scenarios passed",
    ]


def test_a_note_is_neither_for_nor_against() -> None:
    noted = Scenario("first", (*FIRST.checks, Check("n", "INFO")))

    assert verdict.table("part", make_report(noted, SECOND).scenarios).startswith(
        "passed  first   2 of 2 checks\n"
    )


@pytest.mark.parametrize(
    "checks", [(), (Check("c", "INFO"),), (Check("z", "SUCCESS"),)], ids=["none", "note", "other"]
)
def test_a_required_check_that_was_not_made_fails_its_scenario(checks: tuple[Check, ...]) -> None:
    report = make_report(FIRST, Scenario("second", checks))

    assert not report.has_passed
    assert "MISSING c: the suite did not report it" in verdict.table("part", report.scenarios)


def test_a_scenario_that_reports_nothing_is_a_row_that_failed() -> None:
    report = make_report(FIRST)

    assert not report.has_passed
    assert "FAILED  second  0 of 1 checks" in verdict.table("part", report.scenarios)


def test_a_scenario_beyond_the_required_ones_has_to_pass_too() -> None:
    new = Scenario("third", (Check("d", "FAILURE"),))

    assert not make_report(FIRST, SECOND, new).has_passed
    assert not Report((Scenario("third", ()),), "").has_passed
    assert not Report((), "").has_passed


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


WARNED = Scenario("second", (Check("c", "WARNING", "the reason"), Check("d", "SUCCESS")))


def make_excused_report(known: dict[str, str], *scenarios: Scenario) -> Report:
    return Report(verdict.apply_excuses(known, scenarios), "")


def test_a_check_that_is_known_is_shown_with_its_reason_and_fails_nothing() -> None:
    report = make_excused_report({"second:c": "for a reason"}, FIRST, WARNED)

    assert report.has_passed
    assert verdict.table("part", report.scenarios).splitlines()[1:] == [
        "passed  second  1 of 2 checks",
        "        WARNING c: the reason",
        "        known: for a reason",
        "part: 2 of 2 scenarios passed",
    ]


def test_a_known_check_excuses_no_other_of_its_scenario() -> None:
    assert not make_excused_report({"second:d": "for a reason"}, FIRST, WARNED).has_passed


def test_a_scenario_that_is_known_is_counted_apart() -> None:
    report = make_excused_report({"second": "for a reason"}, FIRST, WARNED)

    assert report.has_passed
    assert verdict.table("part", report.scenarios).splitlines()[1:] == [
        "known   second  1 of 2 checks: for a reason",
        "part: 1 of 2 scenarios passed, 1 known not to",
    ]


@pytest.mark.parametrize("key", ["first", "first:b", "third", "first:z"])
def test_an_excuse_that_nothing_needs_is_a_failure(key: str) -> None:
    report = make_excused_report({key: "for a reason"}, FIRST, SECOND)

    assert not report.has_passed
    assert "passes or is gone, and is excused: for a reason" in verdict.table(
        "part", report.scenarios
    )


def test_a_known_scenario_of_which_nothing_was_reported_has_failed() -> None:
    assert not make_excused_report(
        {"second": "for a reason"}, FIRST, Scenario("second", ())
    ).has_passed
