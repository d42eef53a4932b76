"""Every data tool: its scope, tenants, binding, arguments, results and statements.

A new tool is among them by being registered.
"""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.models import ActionExecution
from data_tools.query.declaring import WHOLE_WORKSPACE
from foundation.limits import Limit
from mcp_protocol import tool_shapes
from mcp_protocol.revisions import Revision
from tests.drivers import schema_values
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import (
    TOOLS,
    answer,
    call,
    naming,
    refusal,
    required_arguments,
    widest,
)
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.records import Records
from tools_registry.api import Tool
from tools_registry.api.schemas import validator_of

FUZZ = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NAMED = [
    pytest.param(tool, name, id=f"{tool.name}-{name}")
    for tool in TOOLS
    for name in ("user", "company", "agent", "ticket_id", "transcript_id", "session_id")
    if name in tool.input_schema["properties"]
]
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
SECRET = "zanzibar"


@pytest.fixture(autouse=True)
def _high_limits(settings: Any) -> None:
    for name in ("TOOLS_CALL", "IP"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))


@pytest.fixture
def records(grant: Grant) -> Records:
    return Records(grant).add()


@pytest.fixture
def theirs(db: None) -> Records:  # noqa: ARG001  opens the database for the test
    """The same rows in another organization."""
    return Records(make_grant(), word=SECRET).add()


def comparable_reply(reply: Reply, named: str) -> Any:
    """A reply without what it was asked about and when."""
    found = json.loads(json.dumps(reply.json).replace(named, "named"))
    if structured := found["result"].get("structuredContent"):
        structured.pop("as_of")
        found["result"]["content"] = []
    return found


@each_tool
def test_a_data_tool_is_read_only_and_needs_data_read(tool: Tool) -> None:
    descriptor = tool_shapes.tool_descriptor(tool, Revision.V2026_07_28)
    assert descriptor["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert (tool.scope, tool.is_lenient) == ("data:read", True)
    assert len(tool.description) <= 300


@each_tool
def test_l02_no_row_of_another_organization_is_in_a_result(
    mcp: McpClient, records: Records, tool: Tool
) -> None:
    arguments = widest(tool, records)
    own = facts(mcp, tool, arguments)
    theirs = Records(make_grant(), word=SECRET).add()
    assert facts(mcp, tool, arguments) == own
    # The rows of either feed the tool: what it answers would have changed.
    assert_fed(mcp, tool, records, own)
    there = McpClient(theirs.grant.token())
    assert_fed(there, tool, theirs, facts(there, tool, widest(tool, theirs)))


@each_tool
def test_any_value_of_a_filter_is_the_same_as_no_filter(
    mcp: McpClient, records: Records, tool: Tool
) -> None:
    filters = {
        name: "any"
        for name, one in tool.input_schema["properties"].items()
        if "enum" in one and "default" not in one and name not in {"group_by", "metric"}
    }
    for name in filters:
        assert "any" in tool.input_schema["properties"][name]["enum"], name
    arguments = {
        name: value for name, value in widest(tool, records).items() if name not in filters
    }
    without, of_any = facts(mcp, tool, arguments), facts(mcp, tool, {**arguments, **filters})
    assert {**of_any, "searched": None} == {**without, "searched": None}


def facts(mcp: McpClient, tool: Tool, arguments: dict[str, Any], meta: Any = None) -> Any:
    """What a tool answers, without the time of the answer.

    A period that is not over is compared with an earlier one up to the same time of day.
    """
    result = {**answer(mcp, tool.name, meta, **arguments), "as_of": None}
    if earlier := result.get("previous_period"):
        result["previous_period"] = {**earlier, "to": None}
    return result


def assert_fed(mcp: McpClient, tool: Tool, records: Records, before: Any) -> None:
    """A result names what is asked for, or changes with another row of each kind."""
    arguments = widest(tool, records)
    if naming(tool, records).keys() & tool.input_schema.get("required", ()):
        assert f"{records.word} 1" in json.dumps(before)
    else:
        records.add()
        assert facts(mcp, tool, arguments) != before


@pytest.mark.parametrize(("tool", "argument"), NAMED)
def test_l01_an_id_of_another_organization_is_like_a_random_one(
    mcp: McpClient, records: Records, theirs: Records, tool: Tool, argument: str
) -> None:
    arguments = required_arguments(tool, records)
    existing = naming(tool, theirs)[argument]
    random = f"{existing[:4]}{existing[4:][::-1]}"
    replies = [
        comparable_reply(call(mcp, tool.name, **{**arguments, argument: named}), named)
        for named in (existing, random)
    ]
    assert replies[0] == replies[1]
    assert SECRET not in json.dumps(replies)


@each_tool
def test_m07_a_bound_call_reads_its_customer_only_or_is_refused(
    mcp: McpClient, records: Records, tool: Tool
) -> None:
    bound, arguments = bind_id(records.customers[0]), widest(tool, records)
    before = call(mcp, tool.name, bound, **arguments)
    unbound = facts(mcp, tool, arguments)
    others = Records(records.grant, word=SECRET).add()
    if before.result["isError"]:
        assert refusal(mcp, tool.name, bound, **arguments)["reason"] == WHOLE_WORKSPACE
    else:
        own = {**before.result["structuredContent"], "as_of": None}
        assert facts(mcp, tool, arguments, bound) == own
        if not naming(tool, records).keys() & tool.input_schema.get("required", ()):
            assert facts(mcp, tool, arguments) != unbound
    for argument, named in naming(tool, others).items():
        # A session is no row: its name is only repeated.
        if argument not in {"agent", "session_id"}:
            named_ones = {**arguments, argument: named}
            assert SECRET not in call(mcp, tool.name, bound, **named_ones).body.decode()


@each_tool
def test_an_unknown_argument_is_refused_with_all_that_there_are(
    mcp: McpClient, records: Records, tool: Tool
) -> None:
    refused = refusal(mcp, tool.name, **required_arguments(tool, records), formatt="x")
    valid = ", ".join(sorted(tool.input_schema["properties"]))
    assert (refused["code"], refused["field"]) == (-32602, "formatt")
    assert refused["reason"].endswith(f"Valid: {valid}.")


@each_tool
@FUZZ
@given(data=st.data())
def test_arguments_that_fit_are_answered_or_refused_with_a_reason(
    mcp: McpClient, grant: Grant, tool: Tool, data: Any
) -> None:
    records = Records(grant)
    if not grant.organization.customers.exists():
        records.add(2)
    reply = call(mcp, tool.name, **data.draw(schema_values.fitting(tool.input_schema)))
    row = ActionExecution.objects.latest("id")
    assert row.outcome in {"success", "validation_failed", "not_found"}, reply.body
    if reply.result["isError"]:
        assert json.loads(reply.result["content"][0]["text"])["message"]
    else:
        assert validator_of(tool.output_schema or {}).is_valid(reply.result["structuredContent"])


@each_tool
def test_results_fit_their_schema(mcp: McpClient, records: Records, tool: Tool) -> None:
    schema = tool.output_schema
    assert schema is not None
    validator_of(schema).validate(answer(mcp, tool.name, **widest(tool, records)))


@each_tool
def test_results_of_an_empty_workspace_fit_their_schema(
    mcp: McpClient, theirs: Records, tool: Tool
) -> None:
    result = call(mcp, tool.name, **widest(tool, theirs)).result
    if not result["isError"]:
        assert tool.output_schema is not None
        validator_of(tool.output_schema).validate(result["structuredContent"])


@each_tool
def test_more_rows_need_no_more_statements(mcp: McpClient, records: Records, tool: Tool) -> None:
    arguments = widest(tool, records)
    many = []
    for more in (1, 28):
        records.add(more)
        # The search of the knowledge base reads its vectors again after a change.
        answer(mcp, tool.name, **arguments)
        with CaptureQueriesContext(connection) as captured:
            answer(mcp, tool.name, **arguments)
        many.append(len(captured))
    assert many[0] == many[1], [query["sql"] for query in captured]
