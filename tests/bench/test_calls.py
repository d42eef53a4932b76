"""`./run bench` itself, made as small as it gets: our server, for a moment."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import stores
from bench.harness import INCOMPLETE, NOISY
from bench.protocol import REVISIONS
from bench.stores import Missing
from tests.drivers.benchmarks import bench, short_run

SMALLEST = ("--concurrency=2", "--rounds=1", "--seconds=1", "--servers=ours", "--json=-")


@pytest.mark.process
@pytest.mark.parametrize(
    ("tools", "layer"),
    [
        pytest.param(["search_docs", "data_search_tickets"], "flag", marks=pytest.mark.daily),
        (["bench.hello"], "agent"),
    ],
)
def test_every_call_that_is_answered_is_on_record(tools: list[str], layer: str) -> None:
    run = short_run("calls", "--store=sqlite", f"--tools={','.join(tools)}", *SMALLEST)

    # The machine may well be busy: that the figures say nothing then is no failure here.
    assert run.returncode in {0, NOISY}, run.stderr
    message: dict[str, Any] = json.loads(run.stdout)
    assert message["void"] is False
    assert [cell["tool"] for cell in message["cells"]] == [
        tool for tool in tools for _ in REVISIONS
    ]
    for cell in message["cells"]:
        assert cell["rounds"][0]["ours"]["answered"] > 0
        assert cell["servers"]["ours"]["cpu_us_per_call"]["server"] > 0
    toggled, revoked, counted = message["checks"]
    assert "calls answered" in counted
    assert f"refused by {layer}" in toggled
    assert "401 after the revocation" in revoked


@pytest.mark.parametrize(
    "words",
    [
        ("--tools", "bench.goodbye"),
        ("--store", "mysql"),
        ("--workers", "0"),
        ("--concurrency", "many"),
        ("oauth",),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_words(words: tuple[str, ...]) -> None:
    run = bench("calls", *words)

    assert run.returncode == INCOMPLETE
    assert words[-1] in run.stderr.splitlines()[-1]


@pytest.mark.parametrize("program", ["initdb", "redis-server"])
def test_a_program_that_is_missing_is_named(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(stores, "INSTALLED", tmp_path)
    start = {"initdb": stores.postgresql, "redis-server": stores.redis_server}[program]

    with pytest.raises(Missing, match="apt-get install"), start(tmp_path):
        pytest.fail("it started something")
