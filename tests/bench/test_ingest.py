"""`./run bench ingest`: one short run with few events, and plans that are refused."""

import pytest

from bench.ingest import CALLS
from tests.drivers.benchmarks import bench, short_run


@pytest.mark.process
@pytest.mark.daily
@pytest.mark.once  # on SQLite wherever it runs
def test_a_short_run_prints_the_tools_the_factor_and_the_events() -> None:
    run = short_run(
        "ingest", "--store=sqlite", "--seconds=2", "--events=20", "--batch=5", "--calls=8"
    )

    # The machine may well be busy: a missed goal is no failure here.
    assert run.returncode in {0, 1, 3}, run.stderr
    head, *lines = run.stdout.splitlines()
    assert "2 s of 20 events a second in batches of 5" in head
    rows = [line.split(" | ") for line in lines if line.startswith(("| data_", "| all"))]
    assert [row[0].removeprefix("| ") for row in rows] == [*CALLS, "all"]
    assert [int(rows[-1][place]) for place in (1, 4)] == [16, 16]
    factor, null_check, events, cpu, *faults = lines[len(rows) + 2 :]
    assert float(factor.partition(": ")[2].split()[0]) > 0
    assert "null check" in null_check
    assert events.startswith("events: 40 accepted, 0 refused, 40 stored")
    assert "CPU alone" in cpu
    assert faults == []


@pytest.mark.parametrize("words", [("--events=0",), ("--seconds=0.1",), ("--store=mysql",)])
def test_a_plan_that_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    run = bench("ingest", *words)

    assert run.returncode == 2
    assert words[0].partition("=")[0] in run.stderr
