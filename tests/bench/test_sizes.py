"""`./run bench sizes`: what it fills and reckons, and one short run."""

import json
import time
from pathlib import Path

import pytest

from audit.models import ActionExecution
from bench import cells, filling, made_up
from bench.cells import Figures
from tests.drivers.benchmarks import short_run

OWN = ("11111111-1111-7111-8111-111111111111", "22222222-2222-7222-8222-222222222222")


def _figures(server_us: float) -> Figures:
    return Figures(100, 1, 2, server_us, 50, 1_000)


def test_audit_rows_fill_every_column_there_is() -> None:
    columns = {field.column for field in ActionExecution._meta.concrete_fields}

    assert set(filling.COLUMNS) == columns
    assert {len(row) for row in filling.audit_rows(20, OWN)} == {len(columns)}


def test_keys_of_audit_rows_grow_and_are_older_than_those_made_now() -> None:
    keys = [row[0] for row in filling.audit_rows(500, OWN)]

    assert keys == sorted(set(keys))
    assert keys[-1] < f"{time.time_ns() // 1_000_000:012x}"


def test_some_audit_rows_are_the_callers_own() -> None:
    whose = [
        row[filling.COLUMNS.index("organization_id")] for row in filling.audit_rows(2_000, OWN)
    ]

    assert 0 < whose.count(OWN[0]) < len(whose) / 10


def test_the_same_number_makes_the_same_tools() -> None:
    first, second = made_up.toolset(300), made_up.toolset(300)

    assert [tool.input_schema for tool in first.tools] == [
        tool.input_schema for tool in second.tools
    ]
    assert len({tool.name for tool in first.tools}) == 300


def test_there_cannot_be_more_tools_than_names() -> None:
    with pytest.raises(ValueError, match="1 to 304"):
        made_up.names(305)


def test_a_median_is_of_each_figure() -> None:
    assert cells.median([_figures(1), _figures(7), _figures(3)]) == _figures(3)


def test_ratios_are_taken_round_by_round() -> None:
    first, second = [_figures(100), _figures(200), _figures(400)], [*map(_figures, (50, 100, 300))]

    assert cells.ratio(first, second, "server_us") == 0.5


def test_more_than_seven_percent_is_noise() -> None:
    assert cells.is_quiet(1.0)
    assert cells.is_quiet(0.93)
    assert not cells.is_quiet(1.08)
    assert not cells.is_quiet(0.92)


@pytest.mark.process
@pytest.mark.once  # on SQLite wherever it runs
def test_a_short_run_tells_every_size(tmp_path: Path) -> None:
    sizes = ["--rows", "10,20", "--organizations", "1,3", "--tools", "20,220"]
    short = ["--store", "sqlite", "--rounds", "1", "--seconds", "0.3"]
    written = tmp_path / "figures.json"

    done = short_run("sizes", *sizes, *short, "--json", str(written))

    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(written.read_text())
    assert {part: len(message) for part, message in figures.items()} == {
        "rows": 6,
        "organizations": 6,
        "lists": 14,
    }
    assert "| tools: 220, all 2 pages, 2026-07-28 | 16 |" in done.stdout
