"""H1: large arguments do not fill the disk, and small ones are stored in full."""

import hashlib
import json
from typing import Any

import pytest

from audit import record
from audit.models import ActionExecution, Outcome
from audit.record import Actor, Execution
from foundation.limits import Limit
from tests.drivers.mcp import McpClient

pytestmark = pytest.mark.usefixtures("db", "lab")

MEGABYTE = 1_000_000
HALF = record.MAX_BYTES // 2


def rows() -> list[ActionExecution]:
    return list(ActionExecution.objects.order_by("id"))


def record_arguments(given: dict[str, Any]) -> Any:
    record.insert_call(Actor(), Execution(arguments=given, outcome=Outcome.SUCCESS))
    return ActionExecution.objects.latest("id").arguments


def bytes_stored() -> int:
    """The size of every value of every row, as text in UTF-8."""
    values = (value for row in ActionExecution.objects.values() for value in row.values())
    return sum(len(json.dumps(value, default=str, ensure_ascii=False).encode()) for value in values)


@pytest.mark.slow
def test_h1_400_calls_with_a_megabyte_of_arguments_leave_under_a_megabyte(mcp: McpClient) -> None:
    for _ in range(400):
        mcp.call("echo", {"value": "x" * MEGABYTE})
    # HALO_RATE_TOOLS_CALL lets 120 a minute through; a new minute may begin during the test.
    outcomes = {row.outcome for row in rows()}
    assert (len(rows()), outcomes) == (400, {"success", "rate_limited"})
    assert bytes_stored() < MEGABYTE


def test_h1_a_rate_limited_call_is_recorded_without_its_arguments(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(1, 60)
    for _ in range(3):
        mcp.call("echo", {"value": "small"})
    assert [(row.outcome, row.arguments) for row in rows()] == [
        ("success", {"value": "small"}),
        ("rate_limited", {}),
        ("rate_limited", {}),
    ]


def test_h1_a_rate_limited_row_is_small_whatever_was_sent(mcp: McpClient, settings: Any) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(1, 60)
    mcp.call("echo", {"value": 1})
    ActionExecution.objects.all().delete()
    mcp.call("t" * MEGABYTE, {"value": "x" * 1000})
    assert [row.outcome for row in rows()] == ["rate_limited"]
    assert bytes_stored() < 1500


@pytest.mark.parametrize(
    "given",
    [
        {"value": "x" * (record.MAX_BYTES - len('{"value":""}'))},
        {"value": "\N{SNOWMAN}" * ((record.MAX_BYTES - len('{"value":""}')) // 3)},
        {"value": list(range(500))},
    ],
    ids=["ascii", "three-bytes", "list"],
)
def test_h1_arguments_up_to_the_limit_are_stored_in_full(given: dict[str, Any]) -> None:
    assert record_arguments(given) == given


LARGE: dict[str, dict[str, Any]] = {
    "one-byte-more": {"value": "x" * (record.MAX_BYTES - len('{"value":""}') + 1)},
    "megabyte": {"value": "x" * MEGABYTE},
    "nested": {"value": [{"deep": "x" * 100}] * 1000},
    "many-members": {f"name{number}": number for number in range(50_000)},
    "long-name": {"x" * MEGABYTE: 1},
    "wide-characters": {"value": "\N{SNOWMAN}" * HALF},
    "unstorable": {"value": "\x00\ud800" * HALF},
    "large-numbers": {"value": [10**40] * HALF},
}


@pytest.mark.parametrize("given", LARGE.values(), ids=LARGE)
def test_h1_larger_arguments_become_their_length_and_digest(given: dict[str, Any]) -> None:
    summary = record_arguments(given)
    assert summary.keys() == {"omitted", "kept"}
    assert summary["omitted"].keys() == {"bytes", "sha256"}
    assert summary["omitted"]["bytes"] > record.MAX_BYTES
    assert len(json.dumps(summary)) < record.MAX_BYTES
    assert set(summary["kept"].items()) <= {
        (name, value) for name, value in given.items() if isinstance(value, int)
    }


def test_h1_the_digest_is_of_the_arguments_with_sorted_keys() -> None:
    value = "é" * MEGABYTE
    written = json.dumps(
        {"a": 1, "b": value}, separators=(",", ":"), ensure_ascii=False, sort_keys=True
    ).encode()
    assert record_arguments({"b": value, "a": 1}) == {
        "omitted": {"bytes": len(written), "sha256": hashlib.sha256(written).hexdigest()},
        "kept": {"a": 1},
    }


def test_h1_small_members_stay_readable_next_to_a_large_one(mcp: McpClient) -> None:
    given = {"whole": 7, "colour": "red", "pattern": "a" * MEGABYTE, "nested": {"inner": "b"}}
    mcp.call("check", given)
    (row,) = rows()
    del given["pattern"]
    assert row.arguments["kept"] == given


def test_h1_a_call_with_side_effects_is_bounded_when_it_begins() -> None:
    record.insert_call(Actor(), Execution(arguments={"value": "x" * MEGABYTE}))
    assert rows()[0].arguments["omitted"]["bytes"] == MEGABYTE + len('{"value":""}')
