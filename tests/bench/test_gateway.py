"""`./run bench gateway`: one short run without the peers' packages, and plans that are refused."""

import re

import pytest

from tests.drivers.benchmarks import bench, short_run

ROW = re.compile(r"^\| (\w+) \| (\d+) \| [\d.]+ \| [\d.]+ \| \d+ \| (\d+) \|$", re.MULTILINE)


@pytest.mark.process
@pytest.mark.once  # on SQLite wherever it runs
def test_a_short_run_prints_both_and_finds_every_call_on_record() -> None:
    run = short_run(
        "gateway", "--database=sqlite", "--servers=ours,httpx", "--rounds=1", "--seconds=0.5"
    )

    assert run.returncode == 0, run.stdout + run.stderr
    rows = {name: (int(rate), int(wrong)) for name, rate, wrong in ROW.findall(run.stdout)}
    assert rows.keys() == {"ours", "httpx"}
    assert all(rate > 0 and wrong == 0 for rate, wrong in rows.values())


@pytest.mark.parametrize("words", [("--servers=other",), ("--seconds=0",), ("--rounds=0",)])
def test_a_plan_that_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    run = bench("gateway", *words)

    assert run.returncode == 2
    assert words[0].partition("=")[0] in run.stderr
