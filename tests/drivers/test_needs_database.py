"""What `.ci/run` leaves out on PostgreSQL, and what it reads from a run of tests."""

from pathlib import Path

import pytest

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
def test_tests_without_database_are_left_out_with_the_reason(tmp_path: Path) -> None:
    done = outcome(tmp_path, "-rs", "-p", "tests.drivers.needs_database", source=KINDS)

    assert done.returncode == 0, done.stdout
    assert "3 passed, 2 skipped" in done.stdout
    assert "needs neither database nor Redis; the run on SQLite has it" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_a_file_that_mentions_a_server_of_ours_runs(tmp_path: Path) -> None:
    mentions = f"REDIS_URL = 'of somebody'\n{KINDS}"
    done = outcome(tmp_path, "-p", "tests.drivers.needs_database", source=mentions)

    assert "4 passed, 1 skipped" in done.stdout


FAILING = """
import pytest

@pytest.fixture
def broken():
    raise LookupError("no such fixture")

def test_that_is_wrong():
    assert 1 == 2, "one is not two"

def test_whose_fixture_fails(broken):
    pass
"""


@pytest.mark.slow
@pytest.mark.once
def test_failed_tests_are_listed_with_their_errors_and_the_slowest_files(tmp_path: Path) -> None:
    done = outcome(tmp_path, "-p", "tests.drivers.run_report", source=FAILING)

    listed = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("failed:")]
    assert [(name.rpartition("::")[2], error) for _, name, error in listed] == [
        ("test_that_is_wrong", "AssertionError: one is not two"),
        ("test_whose_fixture_fails", "LookupError: no such fixture"),
    ]
    assert "slow: 0 s in test_a.py" in done.stdout
