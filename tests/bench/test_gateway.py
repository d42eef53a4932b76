"""`./run bench gateway`: one short run without the peers' packages, and plans that are refused."""

import re

import pytest

from bench.harness import MISSED, NOISY
from tests.drivers.benchmarks import bench, short_run

ROW = re.compile(r"^\| (ours|httpx) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| \d+ \|", re.MULTILINE)
FULL_POOL = re.compile(r"^p99 with a full pool through p99 alone: [\d.]+ ", re.MULTILINE)
RECORDS = re.compile(r"^ours: (\d+) calls answered, (\d+) on record$", re.MULTILINE)


@pytest.mark.process
@pytest.mark.daily
@pytest.mark.once  # on SQLite wherever it runs
def test_a_short_run_prints_both_and_finds_every_call_on_record() -> None:
    run = short_run(
        "gateway", "--store=sqlite", "--servers=ours,httpx", "--rounds=1", "--seconds=1"
    )

    # The machine may well be busy: that the figures say nothing then is no failure here.
    assert run.returncode in {0, MISSED, NOISY}, run.stdout + run.stderr
    rates = {name: float(rate) for name, rate in ROW.findall(run.stdout)}
    assert rates.keys() == {"ours", "httpx"}
    assert all(rate > 0 for rate in rates.values())
    ((answered, recorded),) = RECORDS.findall(run.stdout)
    assert 0 < int(answered) == int(recorded)
    assert "VOID" not in run.stdout
    assert FULL_POOL.search(run.stdout)


@pytest.mark.parametrize("words", [("--servers=other",), ("--seconds=0",), ("--rounds=0",)])
def test_a_plan_that_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    run = bench("gateway", *words)

    assert run.returncode == 2
    assert words[0].partition("=")[0] in run.stderr
