"""What `.ci/run` leaves out on PostgreSQL, and what it reads from a run of tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drivers import dialect, needs_database
from tests.drivers.dialect import Recorded
from tests.drivers.test_no_skips import outcome

KINDS = """
import pytest

@pytest.fixture
def db():
    pass

def test_plain():
    pass

def test_of_the_database(db):
    pass

@pytest.mark.slow
def test_of_a_process():
    pass

@pytest.mark.once
def test_of_arithmetic(db):
    pass

@pytest.mark.slow
@pytest.mark.once
def test_of_the_look_of_a_page():
    pass
"""


@pytest.mark.slow
@pytest.mark.once
def test_tests_without_database_are_left_out(tmp_path: Path) -> None:
    done = outcome(tmp_path, "-p", "tests.drivers.needs_database", source=KINDS)

    assert done.returncode == 0, done.stdout
    assert "3 passed, 2 deselected" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_a_file_that_mentions_a_server_of_ours_runs(tmp_path: Path) -> None:
    mentions = f"REDIS_URL = 'of somebody'\n{KINDS}"
    done = outcome(tmp_path, "-p", "tests.drivers.needs_database", source=mentions)

    assert "4 passed, 1 deselected" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_a_test_that_adds_nothing_to_those_that_run_again_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record"
    name = "test_a.py::test_of_the_database"
    others = [f"test_a.py::test_{number}" for number in range(needs_database.TESTS_OF_A_FILE)]
    record.write_text("".join(json.dumps([test, [], 1]) + "\n" for test in [*others, name]))
    monkeypatch.setenv(dialect.FILE, str(record))
    arguments = ("-p", "tests.drivers.needs_database", "--rootdir", str(tmp_path))
    done = outcome(tmp_path, *arguments, source=KINDS)

    assert "2 passed, 3 deselected" in done.stdout

    record.write_text(json.dumps([name, ["SQL in audit/record.py:finish"]]) + "\n")
    again = outcome(tmp_path, *arguments, source=KINDS)
    assert "3 passed, 2 deselected" in again.stdout


def test_each_place_is_reached_by_enough_tests_from_many_files() -> None:
    files = needs_database.TESTS_OF_A_PLACE - 5
    tests = [f"tests/test_{file:02}.py::test_{n}" for file in range(files) for n in range(5)]
    recorded = {test: Recorded(["SQL in audit/record.py:finish"], 1) for test in tests}
    locking = "locking in approvals/decisions.py:approve"
    recorded["tests/test_00.py::test_z"] = Recorded([locking], 1)

    chosen = list(needs_database.choose(recorded))

    assert "tests/test_00.py::test_z" in chosen
    assert {test.partition("::")[0] for test in chosen} == {t.partition("::")[0] for t in tests}
    assert len(chosen) == files * needs_database.TESTS_OF_A_FILE


def test_tests_of_many_statements_run_again_where_no_others_reach_a_place() -> None:
    many = 300
    recorded = {f"tests/test_a.py::test_{number}": Recorded(["SQL"], 1) for number in range(20)}
    recorded["tests/test_a.py::test_00"] = Recorded(["SQL"], many)
    recorded["tests/test_a.py::test_01"] = Recorded(["SQL", "locking"], many)

    chosen = list(needs_database.choose(recorded))

    assert "tests/test_a.py::test_00" not in chosen
    assert chosen[-1] == "tests/test_a.py::test_01"
    assert len(chosen) == needs_database.TESTS_OF_A_PLACE + 1


def test_one_test_that_reaches_many_places_runs_again_instead_of_one_for_each() -> None:
    places = [f"SQL in audit/place_{number}.py" for number in range(5)]
    recorded = {f"tests/test_a.py::test_{place[-4]}": Recorded([place], 20) for place in places}
    copies = [f"tests/test_z.py::test_{n}" for n in range(needs_database.TESTS_OF_A_PLACE)]
    recorded |= dict.fromkeys(copies, Recorded(places, 40))

    chosen = [*needs_database.choose(recorded)]

    assert chosen[: len(copies)] == copies
    assert len(chosen) == len(copies) + needs_database.TESTS_OF_A_FILE


def test_a_test_without_statements_counts_for_no_file() -> None:
    recorded = {f"tests/test_a.py::test_{number}": Recorded([], 0) for number in range(5)}
    recorded["tests/test_a.py::test_z"] = Recorded([], 2)

    assert [*needs_database.choose(recorded)] == ["tests/test_a.py::test_z"]


@pytest.mark.slow
@pytest.mark.once
def test_places_where_the_database_matters_are_recorded(tmp_path: Path) -> None:
    record = tmp_path / "record"
    test = (
        "tests/agents/test_calls_with_approval.py::"
        "test_a_request_that_nobody_decides_ends_as_rejected"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.drivers.dialect", test],
        env=os.environ | {dialect.FILE: str(record)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    ((name, (places, statements)),) = dialect.read(str(record)).items()
    assert name == test
    assert statements > 50
    kinds = {place.partition(" in ")[0] for place in places}
    assert {"SQL", "JSON", "locking", "ordering"} <= kinds
    assert "SQL in audit/record.py:insert_call" in places


FAILING = """
import pytest

@pytest.fixture
def broken_fixture():
    raise LookupError("no such fixture")

def test_that_is_wrong():
    assert 1 == 2, "one is not two"

def test_whose_fixture_fails(broken_fixture):
    pass
"""


@pytest.mark.slow
@pytest.mark.once
def test_failed_tests_are_listed_with_their_errors_and_the_slowest_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALO_TEST_DURATIONS", raising=False)
    done = outcome(tmp_path, "-p", "tests.drivers.run_report", source=FAILING)

    listed = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("failed:")]
    assert [(name.rpartition("::")[2], error) for _, name, error in listed] == [
        ("test_that_is_wrong", "AssertionError: one is not two"),
        ("test_whose_fixture_fails", "LookupError: no such fixture"),
    ]
    assert "slow: 0.0 test_a.py::test_that_is_wrong" in done.stdout


SLEEPING = """
import time
import pytest
from tests.drivers import run_report

run_report.MAX_SECONDS = 0.0001

def test_that_takes_long():
    time.sleep(0.05)

@pytest.mark.daily
def test_that_may_take_long():
    time.sleep(0.05)
"""


@pytest.mark.slow
@pytest.mark.once
def test_a_test_that_takes_too_long_fails_unless_its_family_is_daily(tmp_path: Path) -> None:
    plugin = ("-p", "tests.drivers.run_report", "-W", "ignore::pytest.PytestUnknownMarkWarning")
    done = outcome(tmp_path, *plugin, source=SLEEPING)

    assert "1 failed, 1 passed" in done.stdout
    assert "test_that_takes_long\ttook 0 s; a test may take 0 s" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_the_seconds_of_each_test_are_appended_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    durations = tmp_path / "durations"
    monkeypatch.setenv("HALO_TEST_DURATIONS", str(durations))
    for _run in range(2):
        outcome(
            tmp_path, "-p", "xdist", "-n", "2", "-p", "tests.drivers.run_report", source=FAILING
        )

    tests = [line.rpartition("::")[2] for line in durations.read_text().splitlines()]
    assert sorted(tests) == ["test_that_is_wrong"] * 2 + ["test_whose_fixture_fails"] * 2
