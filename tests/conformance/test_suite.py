"""The official suite is run only as it wants to be run, and ended when it does not end."""

import sys
from pathlib import Path

import pytest

from tests.conformance import __main__ as conformance
from tests.conformance import authorization, suite
from tests.conformance.verdict import Check, Report, Scenario
from tests.drivers import node
from tests.drivers.node import Unavailable
from tests.drivers.server import Server

PASSED = Report((Scenario("first", (Check("a", "SUCCESS"),)),), "its own words")
FAILED = Report((Scenario("first", (Check("a", "FAILURE"),)),), "its own words")


def test_a_suite_that_is_not_installed_is_reported_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(node, "program", lambda _least: "node")
    monkeypatch.setattr(suite, "PACKAGE", tmp_path / "absent")

    assert conformance.main([]) == 2
    assert "the suite is not installed: npm ci in tests/conformance" in capsys.readouterr().out


def test_a_part_that_there_is_not_is_reported_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        conformance.main(["server-tour"])

    assert ended.value.code == 2
    assert "there is no part server-tour; there is: server-2026-07-28" in capsys.readouterr().err


@pytest.mark.parametrize(("report", "code"), [(PASSED, 0), (FAILED, 1)])
def test_the_words_of_the_suite_are_shown_where_it_found_something(
    capsys: pytest.CaptureFixture[str], report: Report, code: int
) -> None:
    assert conformance.print_verdict({"part": report}) == code
    assert ("its own words" in capsys.readouterr().out) is (code == 1)


def test_one_part_that_failed_fails_them_all() -> None:
    assert conformance.print_verdict({"a": FAILED, "b": PASSED}) == 1


def test_a_node_that_is_too_old_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(node, "OWN", a_node(tmp_path / "node", "v20.19.0"))
    assert node.program(20) == str(tmp_path / "node")

    with pytest.raises(Unavailable, match="node 22 or newer"):
        node.program(22)


def test_the_node_among_the_packages_serves_where_the_machine_s_own_is_too_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_node(tmp_path / "node", "v20.19.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(node, "OWN", a_node(tmp_path / "own", "v22.23.3"))

    assert node.program(22) == str(tmp_path / "own")


def a_node(path: Path, version: str) -> Path:
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def test_node_takes_no_code_and_no_detour_from_the_environment() -> None:
    given = {
        "PATH": "/bin",
        "NODE_OPTIONS": "--require=x",
        "https_proxy": "a",
        "HTTP_PROXY": "b",
    }

    assert node.plain_environment(given) == {"PATH": "/bin"}


def test_a_suite_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "SECONDS", 0.5)
    waiting = "import time; print('early', flush=True); time.sleep(50); print('late')"

    with suite.start_program([sys.executable, "-c", waiting]) as output:
        assert "late" not in output.read()


@pytest.fixture
def command() -> list[str]:
    try:
        return suite.command()
    except Unavailable as problem:
        pytest.skip(str(problem))


@pytest.mark.process
def test_the_official_suite_passes_with_a_person_who_approves(
    server: Server, command: list[str], tmp_path: Path
) -> None:
    report = authorization.run(server, command, tmp_path / "results")

    assert report.has_passed, report.output
    assert {each.name for each in report.scenarios} == authorization.REQUIRED.keys()
