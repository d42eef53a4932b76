"""A run that has to prove something does not pass over what it could not run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPING = """
import pytest

def test_of_a_program_that_is_not_there():
    pytest.skip("no such program")

def test_that_runs():
    pass
"""


def outcome(folder: Path, *words: str, source: str = SKIPPING) -> subprocess.CompletedProcess[str]:
    (folder / "test_a.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "-q", *words]
    return subprocess.run(
        [*command, str(folder)],
        cwd=Path(__file__).resolve().parents[2],
        # The plugins that are installed take a second or two to import.
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.once
def test_a_skipped_test_fails_the_run_with_its_reason(tmp_path: Path) -> None:
    done = outcome(tmp_path, "-p", "tests.drivers.no_skips")

    assert done.returncode == 1
    assert "has to run everything: Skipped: no such program" in done.stdout
    assert "1 failed, 1 passed" in done.stdout


@pytest.mark.slow
@pytest.mark.once
def test_without_the_plugin_it_is_only_skipped(tmp_path: Path) -> None:
    assert outcome(tmp_path).returncode == 0
