"""The conformance suite: a correct server passes, and each broken one fails where it is broken."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aap_conformance import command_line
from aap_conformance.checks import CHECKS
from tests.aap_conformance.broken_servers import BROKEN
from tests.aap_conformance.reference_server import KEY, Reference, serving

pytestmark = [pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]


def run_suite(reference: Reference, folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Returns the exit code and the checks of the report, by number."""
    file = folder / "report.json"
    with serving(reference) as url:
        given = ["--url", url, "--key", KEY, "--json", str(file), *options]
        code = command_line.main(given)
    if not file.exists():
        return code, {}
    return code, {one["number"]: one for one in json.loads(file.read_text())["checks"]}


def test_a_correct_server_shows_and_passes_everything(tmp_path: Path) -> None:
    reference = Reference()
    code, checks = run_suite(reference, tmp_path, "--strict")
    wrong = [one for one in checks.values() if one["verdict"] not in {"passed", "note"}]
    assert (code, wrong) == (0, [])
    assert not reference.sessions, "sessions of the examination are left behind"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_server_fails_where_it_is_broken(name: str, tmp_path: Path) -> None:
    server, number = BROKEN[name]
    code, checks = run_suite(server(), tmp_path)
    if number == "1.1":
        assert (code, checks) == (2, {})
        return
    assert code == 1
    assert checks[number]["verdict"] == "failed", checks[number]


def test_a_server_that_is_not_there_cannot_be_examined(capsys: pytest.CaptureFixture[str]) -> None:
    code = command_line.main(["--url", "http://127.0.0.1:9", "--key", KEY])
    assert code == 2
    assert "cannot be examined" in capsys.readouterr().err


def test_the_key_and_the_address_are_required(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AAP_KEY", raising=False)
    assert command_line.main(["--url", "http://127.0.0.1:9"]) == 2
    assert "AAP_KEY" in capsys.readouterr().err


def test_numbers_are_unique_and_sentences_are_quoted_from_the_pages() -> None:
    numbers = [check.number for check in CHECKS]
    assert len(set(numbers)) == len(numbers)
    assert {check.page for check in CHECKS} == {
        *("Endpoints", "Response", "Tool Call Flow", "History Management"),
    }
    assert all(check.sentence for check in CHECKS)


def test_the_package_runs_by_itself(tmp_path: Path) -> None:
    """From another folder, with nothing of this product to import."""
    (tmp_path / "aap_conformance").symlink_to(ROOT / "aap_conformance")
    command = [sys.executable, "-m", "aap_conformance", "--list"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(said.stdout.splitlines()) == len(CHECKS)
