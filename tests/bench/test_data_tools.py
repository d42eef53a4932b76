"""`./run bench tools`: its cases, and one short run."""

import pytest

from bench.tools import read_cases
from tests.drivers.benchmarks import bench, short_run
from tests.drivers.data_tools import TOOLS

CASES = read_cases()


def test_every_data_tool_is_measured() -> None:
    assert {case.tool for case in CASES} == {tool.name for tool in TOOLS}


def test_goals_are_twice_as_high_on_sqlite() -> None:
    assert {case.goal_on("postgresql") for case in CASES} == {50, 100, 150}
    assert {case.goal_on("sqlite") for case in CASES} == {100, 200, 300}


@pytest.mark.process
def test_a_short_run_prints_figures_of_each_call() -> None:
    run = short_run("tools", "--stores=sqlite", "--rounds=2", "--tools=data_find_user")

    # The machine may well be busy: a missed goal is no failure here.
    assert run.returncode in {0, 1, 3}, run.stderr
    lines = [line.split(" | ") for line in run.stdout.splitlines() if "data_find_user" in line]
    assert len(lines) == sum(case.tool == "data_find_user" for case in CASES)
    for _, _, p50, *_, statements, rows in lines:
        assert float(p50) > 0
        assert int(statements) > 0
        assert rows.rstrip(" |").isdigit()


@pytest.mark.parametrize("words", [("--stores=mysql",), ("--rounds=1",), ("--size=huge",)])
def test_a_plan_that_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    run = bench("tools", *words)

    assert run.returncode == 2
    assert words[0].partition("=")[0] in run.stderr
