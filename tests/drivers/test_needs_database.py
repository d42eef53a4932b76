"""The run on PostgreSQL leaves out what would repeat the run on SQLite, and nothing else."""

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
    assert "2 passed, 2 skipped" in done.stdout
    assert "needs neither database nor Redis; the run on SQLite has it" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_a_file_that_mentions_a_server_of_ours_runs(tmp_path: Path) -> None:
    mentions = f"REDIS_URL = 'of somebody'\n{KINDS}"
    done = outcome(tmp_path, "-p", "tests.drivers.needs_database", source=mentions)

    assert "3 passed, 1 skipped" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_the_slowest_files_are_named(tmp_path: Path) -> None:
    done = outcome(tmp_path, "-p", "tests.drivers.slowest_files", source=KINDS)

    assert "slow: 0 s in test_a.py" in done.stdout
