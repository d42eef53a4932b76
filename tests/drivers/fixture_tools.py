"""Tools for tests: every kind of result, failure, notification and delay."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from foundation.db import waits
from tools_registry.api import (
    Arguments,
    Blocks,
    Facts,
    IntegrationFailure,
    NotFound,
    Result,
    ToolContext,
    ToolFailure,
    Toolset,
    Unauthorized,
    ValidationFailure,
)

CRM = Toolset(integration="crm", title="CRM")
LAB = Toolset(scope="docs:read", title="Laboratory")
COUNTER = Toolset(integration="counter", title="Counter")

MAX_WAIT = 60
STEP = 0.01
SECRET = "postgres://admin:hunter2@db.internal/halo"  # what a traceback may hold
HUGE = 1_100_000


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


NOTHING = schema()
TEXT = {"type": "string"}


@CRM.tool(title="Create a deal", description="Writes.", input_schema=NOTHING, mutates=True)
def create_deal(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts({"deal": "d1"})


@CRM.tool(
    title="Find a contact",
    description="Reads.",
    input_schema=NOTHING,
    read_only=True,
)
def find_contact(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts({"contact": "c1"}, row_count=1)


@CRM.tool(
    title="Delete a contact",
    description="Cannot be undone.",
    input_schema=NOTHING,
    mutates=True,
    destructive=True,
)
def delete_contact(_context: ToolContext, _arguments: Arguments) -> Facts:
    raise AssertionError("a destructive tool ran")


@LAB.tool(title="Echo", description="Says it back.", input_schema=schema("value", value={}))
def echo(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts(arguments["value"])


@LAB.tool(
    title="Describe",
    description="Has an output schema.",
    input_schema=NOTHING,
    output_schema=schema("answer", answer={"type": "integer"}),
)
def describe(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts({"answer": 42})


@LAB.tool(
    title="Check",
    description="Takes one of everything.",
    input_schema=schema(
        "whole",
        whole={"type": "integer"},
        number={"type": "number"},
        colour={"enum": ["red", "green"]},
        nested=schema("inner", inner=TEXT),
        pattern={"type": "string", "pattern": "^(a+)+$"},
        items={"type": "array", "uniqueItems": True},
        choice={"anyOf": [{"const": {"n": number}} for number in range(50)]},
    ),
)
def check(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts({"seen": sorted(arguments)})


FAILURES: dict[str, ToolFailure] = {
    "not_found": NotFound("There is no such thing."),
    "invalid": ValidationFailure("That cannot be.", field="how", reason="must be otherwise"),
    "unauthorized": Unauthorized("The other side refused the key."),
    "integration": IntegrationFailure("The other side failed.", upstream_status=502),
}
BROKEN: dict[str, Result] = {
    "nan": Facts({"value": float("nan")}),
    "bytes": Facts({"value": b"\x00\x01"}),
    "huge": Facts("x" * HUGE),
    # Fewer characters than the cap, more bytes.
    "wide": Facts("\N{SNOWMAN}" * (HUGE // 2)),
    "huge_blocks": Blocks([{"type": "text", "text": "x" * HUGE}]),
    "bad_blocks": Blocks([{"type": "text", "text": b"bytes"}]),
}


class Killed(BaseException):
    """What no pipeline can catch: the process is gone."""


RAISED: dict[str, type[BaseException]] = {
    "timeout": TimeoutError,
    "exits": SystemExit,
    "killed": Killed,
}


@LAB.tool(title="Fail", description="Fails as requested.", input_schema=schema("how", how=TEXT))
def fail(_context: ToolContext, arguments: Arguments) -> Result:
    how = arguments["how"]
    if how in FAILURES:
        raise FAILURES[how]
    if how in BROKEN:
        return BROKEN[how]
    raise RAISED.get(how, RuntimeError)(SECRET)


@LAB.tool(
    title="Change and fail",
    description="As Fail.",
    input_schema=schema("how", how=TEXT),
    mutates=True,
)
def change_and_fail(context: ToolContext, arguments: Arguments) -> Result:
    return fail(context, arguments)


@LAB.tool(title="Blocks", description="Answers in blocks.", input_schema=NOTHING)
def draw(_context: ToolContext, _arguments: Arguments) -> Blocks:
    return Blocks([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])


@LAB.tool(title="Whom", description="Says whom it is bound to.", input_schema=NOTHING)
def whom(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(asdict(context.customer) if context.customer else None)


@LAB.tool(title="Ask", description="Needs an answer.", input_schema=NOTHING, mutates=True)
def ask(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(context.ask({"name": {"method": "elicitation/create"}}))


@LAB.tool(
    title="Mirror",
    description="Has an argument that stands in a header.",
    input_schema=schema("region", region={"type": "string", "x-mcp-header": "Region"}),
)
def mirror(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts(arguments["region"])


@LAB.tool(
    title="Count",
    description="Says each number.",
    input_schema=schema("to", to={"type": "integer"}),
    streams=True,
)
def count_up(context: ToolContext, arguments: Arguments) -> Facts:
    for number in range(1, arguments["to"] + 1):
        context.progress(number, arguments["to"], f"at {number}")
        context.log("debug", {"detail": number})
        context.log("warning", {"at": number})
    return Facts({"counted": arguments["to"]})


@LAB.tool(
    title="Wait",
    description="Waits for a file, looking up between steps.",
    input_schema=schema("file", file=TEXT),
    streams=True,
)
def wait(context: ToolContext, arguments: Arguments) -> Facts:
    return _wait(context, Path(arguments["file"]))


@LAB.tool(
    title="Write slowly",
    description="Waits for a file in the middle of a change.",
    input_schema=schema("file", file=TEXT),
    mutates=True,
    streams=True,
)
def write_slowly(context: ToolContext, arguments: Arguments) -> Facts:
    return _wait(context, Path(arguments["file"]))


@LAB.tool(
    title="Persist",
    description="Waits for a file in the middle of a change, and does not look up.",
    input_schema=schema("file", file=TEXT),
    mutates=True,
    streams=True,
)
def persist(_context: ToolContext, arguments: Arguments) -> Facts:
    awaited = Path(arguments["file"])
    begun_mark(awaited).touch()
    waits.give_back_connection()  # as before each request to a vendor
    deadline = time.monotonic() + MAX_WAIT
    while not awaited.exists() and time.monotonic() < deadline:
        time.sleep(STEP)
    return Facts({"found": awaited.name})


@COUNTER.tool(
    title="Wait at the counter",
    description="Waits for a file, behind all switches of an integration.",
    input_schema=schema("file", file=TEXT),
)
def stand_by(context: ToolContext, arguments: Arguments) -> Facts:
    return _wait(context, Path(arguments["file"]))


def _wait(context: ToolContext, awaited: Path) -> Facts:
    """Say and mark that the tool has begun; then wait for the file, or for the caller to go."""
    begun_mark(awaited).touch()
    context.progress(0)
    waits.give_back_connection()  # as before each request to a vendor
    for _ in range(int(MAX_WAIT / STEP)):
        is_there = awaited.exists()
        context.check_cancelled()
        if is_there:  # looked for first: who cancels and then lays the file has cancelled
            return Facts({"found": awaited.name})
        time.sleep(STEP)
    raise TimeoutError(awaited)


def begun_mark(awaited: Path) -> Path:
    return awaited.with_suffix(".begun")
