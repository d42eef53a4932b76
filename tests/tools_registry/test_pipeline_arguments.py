"""Group J: what a call may bring along."""

import json
from dataclasses import replace
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.fixture_tools import NOTHING, schema
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.api import Facts, Tool, ValidationFailure
from tools_registry.api.schemas import validator_of
from tools_registry.pipeline.call_kinds import validate_arguments

pytestmark = pytest.mark.usefixtures("lab")

AS_RESULT = (Revision.V2025_11_25, Revision.V2026_07_28)


def newest_row() -> ActionExecution:
    return ActionExecution.objects.latest("id")


def message(client: McpClient, name: str, arguments: Any) -> dict[str, Any]:
    """The code and data of a failed call, wherever the revision puts them."""
    reply = client.call(name, arguments)
    assert reply.status == 200
    if "error" in reply.json:
        return {"code": reply.code, **reply.error.get("data", {})}
    assert reply.result["isError"] is True
    (block,) = reply.result["content"]
    facts: dict[str, Any] = json.loads(block["text"])
    facts.pop("message")
    return facts


@pytest.mark.parametrize("name", [5, None, "", [], {}, True], ids=repr)
def test_j01_a_name_that_names_nothing_is_invalid(mcp: McpClient, name: Any) -> None:
    reply = mcp.call(name)
    assert (reply.code, reply.error["data"]["field"]) == (-32602, "name")
    assert newest_row().outcome == "protocol_error"


def test_j01_a_call_without_a_name_is_invalid(mcp: McpClient) -> None:
    assert mcp.request("tools/call", {}).code == -32602
    assert mcp.request("tools/call").code == -32602


@pytest.mark.parametrize(
    "name",
    ["x" * 300, "a\u0000", "../x", "linear.create_bug\n", "\ud800", "search_docs "],
    ids=ascii,
)
def test_j01_a_name_that_is_nobodys_is_unknown(mcp: McpClient, name: str) -> None:
    assert mcp.call(name).code == -32601
    row = newest_row()
    assert (row.outcome, row.reason) == ("not_found", "tool_not_found")
    assert row.tool


INVALID = {
    "j04-missing": ({}, "whole"),
    "j04-surplus": ({"whole": 1, "extra": 1}, "extra"),
    "j04-type": ({"whole": "x"}, "whole"),
    "j04-enum": ({"whole": 1, "colour": "blue"}, "colour"),
    "j04-nested": ({"whole": 1, "nested": {}}, "nested.inner"),
    "j04-nested-surplus": ({"whole": 1, "nested": {"inner": "", "x": 1}}, "nested.x"),
    "j05-true-is-no-integer": ({"whole": True}, "whole"),
    "j05-text-is-no-number": ({"whole": 1, "number": "5"}, "number"),
    "j05-null-is-no-integer": ({"whole": None}, "whole"),
    "choices": ({"whole": 1, "choice": {"n": -1}}, "choice"),
}


@pytest.mark.parametrize(("arguments", "field"), INVALID.values(), ids=INVALID)
def test_invalid_arguments_are_reported_by_field_and_recorded(
    mcp: McpClient, arguments: dict[str, Any], field: str
) -> None:
    answer = message(mcp, "check", arguments)
    assert (answer["code"], answer["field"]) == (-32602, field)
    assert answer["reason"]
    row = newest_row()
    assert (row.outcome, row.reason, row.arguments) == (
        "validation_failed",
        "validation",
        arguments,
    )
    assert row.detail.startswith(f"{field}: ")


def test_every_invalid_argument_is_named(mcp: McpClient) -> None:
    answer = message(mcp, "check", {"number": "5", "colour": "blue", "extra": 1, "more": 2})
    assert answer["code"] == -32602
    for name in ("whole", "number", "colour", "extra", "more"):
        assert name in f"{answer['field']}: {answer['reason']}"


@pytest.mark.parametrize(
    "arguments",
    [
        {"whole": 1.0},
        {"whole": -0.0},
        {"whole": 10**50},
        {"whole": 1, "number": -0.0},
        {"whole": 1, "number": 1e308},
        {"whole": 1, "choice": {"n": 49}},
    ],
    ids=["j05-1.0", "j05--0", "long", "-0.0", "1e308", "choice"],
)
def test_j05_valid_arguments_run_without_being_coerced(
    mcp: McpClient, arguments: dict[str, Any]
) -> None:
    assert mcp.call("check", arguments).facts == {"seen": sorted(arguments)}


# A validator that backtracks takes 2^n steps for n letters, and one that compares all pairs n^2 for
# n items. A body may hold 20,000 values.
LETTERS, ITEMS = 5_000, 9_900
LEVELS = 9


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_j10_a_pattern_that_would_backtrack_is_matched_in_linear_time(
    mcp: McpClient, revision: Revision
) -> None:
    """The schema has the pattern ^(a+)+$: with backtracking this test would not end."""
    fitting, unfit = {"whole": 1, "pattern": "a" * LETTERS}, {"pattern": "a" * LETTERS + "!"}
    assert mcp.with_revision(revision).call("check", fitting).result["isError"] is False
    answer = message(mcp.with_revision(revision), "check", {"whole": 1, **unfit})
    assert (answer["code"], answer["field"]) == (-32602, "pattern")
    assert len(answer["reason"]) <= 300


def test_j11_unique_items_are_checked_up_to_the_limit_of_a_body(mcp: McpClient) -> None:
    """The schema has uniqueItems and no maxItems, which only a test's may lack (tools.E017)."""
    items = [{"x": number} for number in range(ITEMS)]
    assert mcp.call("check", {"whole": 1, "items": items}).facts == {"seen": ["items", "whole"]}
    answer = message(mcp, "check", {"whole": 1, "items": [*items[:-1], items[0]]})
    assert (answer["code"], answer["field"]) == (-32602, "items")


CHOICE = {"anyOf": [{"properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["next"]}] * 4}
INNER = {"anyOf": [schema("next", next={"oneOf": [{"const": 1}, {"const": 2}]}), {"const": 0}]}


def test_j11_four_to_the_ninth_combinations_of_alternatives_are_not_explained_one_by_one() -> None:
    """Collecting the errors of all of them takes minutes: with that this test would not end."""
    value: Any = {}
    for _ in range(LEVELS):
        value = {"next": value}
    nested = schema("choice", choice={"$ref": "#/$defs/n"}) | {"$defs": {"n": CHOICE}}
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool_with(nested), {"choice": value})
    assert (refused.value.field, refused.value.reason) == (
        "choice",
        "does not match any of the allowed forms",
    )


def test_j11_two_ways_to_each_member_of_a_member_are_not_explained_one_by_one() -> None:
    parts: dict[str, Any] = {
        f"box{at}": {"allOf": [{"properties": {"in": {"$ref": f"#/$defs/box{at + 1}"}}}] * 2}
        for at in range(11)
    }
    boxes = {"$defs": {**parts, "box11": {"type": "integer"}}}
    value: Any = "no number"
    for _ in range(11):
        value = {"in": value}
    tool = tool_with(schema("box", box={"$ref": "#/$defs/box0"}) | boxes)
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool, {"box": value})
    assert (refused.value.field, refused.value.reason) == (
        "box",
        "does not match any of the allowed forms",
    )


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"choice": 0, "extra": 1}, "extra"),
        ({}, "choice"),
        ({"choice": {"next": 3}}, "choice"),
    ],
    ids=["surplus", "missing", "inner"],
)
def test_j11_what_is_wrong_next_to_alternatives_in_alternatives_is_named(
    given: dict[str, Any], field: str
) -> None:
    tool = tool_with(schema("choice", choice=INNER))
    validate_arguments(tool, {"choice": {"next": 2}})
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool, given)
    assert refused.value.field == field


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_j04_the_same_is_reported_as_an_error_or_as_a_result(
    mcp: McpClient, revision: Revision
) -> None:
    answer = message(mcp.with_revision(revision), "check", {"whole": "x"})
    assert answer == {"code": -32602, "field": "whole", "reason": '"x" is not of type "integer"'}
    reply = mcp.with_revision(revision).call("check", {"whole": "x"})
    assert ("result" in reply.json) == (revision in AS_RESULT)


@pytest.mark.parametrize("arguments", [[], "x", 5, True], ids=repr)
def test_arguments_that_are_no_object_are_invalid(mcp: McpClient, arguments: Any) -> None:
    reply = mcp.request("tools/call", {"name": "check", "arguments": arguments})
    assert (reply.code, reply.error["data"]["field"]) == (-32602, "arguments")


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\u0000b", r"a\u0000b"),
        ("a\ud800b", r"a\ud800b"),
        ({"\u0000": ["\udfff"]}, {r"\u0000": [r"\udfff"]}),
    ],
    ids=["nul", "surrogate", "nested"],
)
def test_j07_text_that_no_database_stores_is_refused_and_recorded_spelled_out(
    mcp: McpClient, value: Any, stored: Any
) -> None:
    assert message(mcp, "echo", {"value": value})["code"] == -32602
    row = newest_row()
    assert (row.outcome, row.arguments) == ("validation_failed", {"value": stored})


@pytest.mark.parametrize("size", [-1, 0, 10**9, 2.5, 26, 1e300, -0.0], ids=repr)
def test_j08_a_page_size_out_of_bounds_is_refused(mcp: McpClient, size: float) -> None:
    answer = message(mcp, "search_docs", {"query": "x", "page_size": size})
    assert (answer["code"], answer["field"]) == (-32602, "page_size")


@pytest.mark.parametrize("size", [1, 25, 5.0], ids=repr)
def test_j08_a_page_size_within_bounds_is_taken(mcp: McpClient, size: float) -> None:
    assert mcp.call("search_docs", {"query": "x", "page_size": size}).facts["results"] == []


def test_j13_claims_of_the_client_are_no_authority(mcp: McpClient, grant: Grant) -> None:
    claims = {"org_id": "other", "scopes": "actions:*", "user_id": "root"}
    reply = mcp.call("echo", {"value": 1}, meta={**claims, "unknown": {"x": 1}})
    assert reply.facts == 1
    assert newest_row().organization_id == str(grant.organization.pk)
    assert message(mcp, "echo", {"value": 1, "org_id": "other"})["field"] == "org_id"


def test_meta_that_is_no_object_is_invalid(mcp: McpClient) -> None:
    reply = mcp.request("tools/call", {"name": "echo", "arguments": {}, "_meta": "x"})
    assert reply.code == -32602


def tool_with(input_schema: dict[str, Any]) -> Tool:
    return Tool(
        name="tool",
        title="",
        description="",
        input_schema=input_schema,
        run=lambda _context, _arguments: Facts(None),
        scope="docs:read",
    )


def test_a_schema_that_points_elsewhere_fetches_nothing() -> None:
    with pytest.raises(ValueError, match=r"http://127\.0\.0\.1:1/x"):
        validator_of({"$ref": "http://127.0.0.1:1/x"})


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(a)\1", "["])
def test_a_pattern_that_needs_backtracking_is_no_schema(pattern: str) -> None:
    with pytest.raises(ValueError, match="regex"):
        validator_of(schema(text={"type": "string", "pattern": pattern}))


def test_a_schema_without_properties_takes_nothing() -> None:
    validate_arguments(tool_with(NOTHING), {})
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool_with(NOTHING), {"b": 1, "a": 1})
    assert refused.value.field == "b"


def test_the_name_of_a_field_is_cut_before_it_fills_the_answer() -> None:
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool_with(NOTHING), {"x" * 100_000: 1})
    assert (len(refused.value.field), len(refused.value.reason)) == (300, 95)


def test_an_unknown_argument_is_refused_with_the_most_similar_one_and_all_there_are() -> None:
    tool = tool_with(schema(status={"type": "string"}, inbox={"type": "string"}))
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool, {"state": "open"})
    reason = 'Unknown argument "state", perhaps "status". Valid: inbox, status.'
    assert (refused.value.field, refused.value.reason) == ("state", reason)


def test_the_reason_is_sent_after_a_long_value() -> None:
    tool = tool_with(schema(name={"type": "string", "maxLength": 5}))
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(tool, {"name": "x" * 100_000})
    assert refused.value.reason.startswith('"xxx')
    assert refused.value.reason.endswith('" is longer than 5 characters')


ORDER = {"enum": ["-created_at", "name", "LOW", "low"]}


@pytest.mark.parametrize(
    ("is_lenient", "given"),
    [(False, "created_at"), (False, "Name"), (True, "Low"), (True, "size"), (True, 1)],
)
def test_a_choice_in_another_spelling_is_read_by_lenient_tools_only(
    given: object, *, is_lenient: bool
) -> None:
    tool = replace(tool_with(schema(order=ORDER)), is_lenient=is_lenient, reads_text=True)
    with pytest.raises(ValidationFailure):
        validate_arguments(tool, {"order": given})


def test_a_schema_without_properties_takes_text_for_numbers_and_has_no_choices() -> None:
    tool = replace(tool_with({"type": "object", "required": ["size"]}), reads_text=True)
    with pytest.raises(ValidationFailure):
        validate_arguments(tool, {"name": "x"})


LENIENT = {
    "null-is-left-out": ({"whole": 1, "number": None}, {"whole": 1}),
    "empty-text-is-left-out": ({"whole": 1, "colour": " "}, {"whole": 1}),
    "digits-are-a-whole-number": ({"whole": "10"}, {"whole": 10}),
    "digits-are-a-number": ({"whole": 1, "number": "-2.5"}, {"whole": 1, "number": -2.5}),
    "choice-in-any-spelling": ({"whole": 1, "order": "NAME"}, {"whole": 1, "order": "name"}),
    "text-stays-text": ({"whole": 1, "colour": "7"}, {"whole": 1, "colour": "7"}),
}


@pytest.mark.parametrize(("given", "run"), LENIENT.values(), ids=LENIENT)
def test_a_lenient_tool_takes_what_models_send_in_place_of_leaving_out(
    given: Any, run: Any
) -> None:
    properties = {
        "whole": {"type": "integer"},
        "number": {"type": "number"},
        "colour": {"type": "string"},
        "order": ORDER,
    }
    lenient = replace(tool_with(schema("whole", **properties)), is_lenient=True, reads_text=True)
    assert validate_arguments(lenient, given) == run


@pytest.mark.parametrize(
    ("given", "field"),
    [({"whole": None}, "whole"), ({"whole": "ten"}, "whole"), ({"whole": 1, "x": None}, "x")],
    ids=["required", "no-number", "unknown"],
)
def test_a_lenient_tool_refuses_the_rest(given: Any, field: str) -> None:
    lenient = replace(tool_with(schema("whole", whole={"type": "integer"})), is_lenient=True)
    with pytest.raises(ValidationFailure) as refused:
        validate_arguments(lenient, given)
    assert refused.value.field == field


STRUCTURED = {
    "filter": {"type": "object", "properties": {"size": {"type": "integer"}}},
    "sizes": {"$ref": "#/$defs/sizes"},
    "note": {"type": "string"},
}
AS_JSON_TEXT = {
    "object": ({"filter": ' {"size": 1}'}, {"filter": {"size": 1}}),
    "list-by-reference": ({"sizes": "[1, 2]"}, {"sizes": [1, 2]}),
    "text-stays-text": ({"note": "[1]", "sizes": "[1]"}, {"note": "[1]", "sizes": [1]}),
    "once": (
        {"filter": {"size": 1}, "note": '{"a": 1}'},
        {"filter": {"size": 1}, "note": '{"a": 1}'},
    ),
}


def structured_tool() -> Tool:
    sizes = {"type": "array", "items": {"type": "integer"}}
    return tool_with(schema(**STRUCTURED) | {"$defs": {"sizes": sizes}})


@pytest.mark.parametrize(("given", "run"), AS_JSON_TEXT.values(), ids=AS_JSON_TEXT)
def test_pitfall_20_a_structured_argument_may_arrive_as_json_text(given: Any, run: Any) -> None:
    assert validate_arguments(structured_tool(), given) == run


@pytest.mark.parametrize(
    "text",
    [
        '{"size": "one"}',
        "{size: 1}",
        "[1]",
        '{"size": 1, "size": 2}',
        '"{}"',
        "[" * 5_000,
        '{"x": "\\u0000"}',
    ],
    ids=["mismatch", "no-json", "list", "repeated-key", "twice", "deep", "nul"],
)
def test_pitfall_20_text_that_is_no_such_object_is_refused(text: str) -> None:
    with pytest.raises(ValidationFailure):
        validate_arguments(structured_tool(), {"filter": text})
