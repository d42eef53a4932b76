"""H1 and L2: input schemas bound what they accept, and flags say what a tool changes."""

from typing import Any

import pytest
from django.core.checks import Warning as CheckWarning

from tests.conformance.fixture_changes import CHANGES, CHANGING
from tests.conformance.fixture_content import CONTENT
from tests.conformance.fixture_elicitation import ASKING
from tests.drivers.fixture_tools import NOTHING, schema
from tests.tools_registry.test_toolset_checks import TEXT, find_problem_ids, toolset
from tools_registry import checks, registry
from tools_registry.api import Tool, Toolset
from tools_registry.checks import schemas

LIST = {"type": "array", "items": TEXT, "maxItems": 1000}
MAP = {
    "type": "object",
    "propertyNames": {"maxLength": 50},
    "maxProperties": 20,
    "additionalProperties": TEXT,
}


def remove_key(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}


UNBOUNDED: dict[str, tuple[dict[str, Any], str]] = {
    "string": ({"type": "string"}, "'a' has no maxLength"),
    "pattern": ({"type": "string", "pattern": "^[a-z]+$"}, "'a' has no maxLength"),
    "array": (remove_key(LIST, "maxItems"), "'a' has no maxItems"),
    "long-array": ({**LIST, "maxItems": 1001}, "'a' has a maxItems over 1000"),
    "items": ({**LIST, "items": {"type": "string"}}, "'a[]' has no maxLength"),
    "no-items": (remove_key(LIST, "items"), "'a' has no schema for its items"),
    "nested": ({**NOTHING, "properties": {"b": {"type": "string"}}}, "'a.b' has no maxLength"),
    "members": (remove_key(MAP, "maxProperties"), "'a' has no maxProperties"),
    "names": (remove_key(MAP, "propertyNames"), "'a' has no propertyNames with maxLength"),
    "values": ({**MAP, "additionalProperties": {"type": "string"}}, "'a.*' has no maxLength"),
    "any-values": ({**MAP, "additionalProperties": True}, "'a' accepts members of any type"),
    "anything": ({}, "'a' has no type"),
    "alternative": ({"anyOf": [TEXT, {"type": "string"}]}, "'a' has no maxLength"),
}


@pytest.mark.parametrize(("part", "problem"), UNBOUNDED.values(), ids=UNBOUNDED)
def test_h1_a_property_without_a_bound_is_named(part: dict[str, Any], problem: str) -> None:
    (message,) = checks.find_problems([toolset(input_schema=schema(a=part))])
    assert message.id == "tools.E017"
    assert message.msg == f"The tool 'crm.look_up': the property {problem}."


def test_h1_a_definition_that_properties_refer_to_is_looked_at_too() -> None:
    referring = schema(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": {"type": "string"}}}
    messages = [
        str(message.msg) for message in checks.find_problems([toolset(input_schema=referring)])
    ]
    assert any("'$defs.x' has no maxLength" in message for message in messages)


@pytest.mark.parametrize(
    "part",
    [
        TEXT,
        LIST,
        MAP,
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"oneOf": [TEXT, {"type": "integer"}]},
        {**NOTHING, "properties": {"b": TEXT}},
    ],
    ids=["text", "list", "map", "number", "yes-no", "enum", "const", "either", "nested"],
)
def test_h1_a_bounded_property_passes(part: dict[str, Any]) -> None:
    assert find_problem_ids(toolset(input_schema=schema(a=part))) == []


TOOLSETS = (*registry.native_toolsets(), ASKING, CHANGES, CHANGING, CONTENT)
TOOLS = [tool for one in TOOLSETS for tool in one.tools]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_h1_every_tool_that_is_shipped_or_shown_to_the_conformance_suite_is_bounded(
    tool: Tool,
) -> None:
    assert list(schemas.check_bounds(tool)) == []


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"read_only": False}, ["tools.E018"]),
        ({"read_only": True, "mutates": True}, ["tools.E018"]),
        ({"read_only": True}, []),
        ({"mutates": True}, []),
    ],
    ids=["neither", "both", "read-only", "mutates"],
)
def test_l2_an_integrations_tool_says_whether_it_changes_anything(
    flags: dict[str, bool], expected: list[str]
) -> None:
    """K15: declared without flags it would be neither destructive nor mutating."""
    assert find_problem_ids(toolset(**{"read_only": False, **flags})) == expected


def test_l2_a_tool_without_an_integration_reads_unless_it_says_that_it_mutates() -> None:
    assert find_problem_ids(toolset("look_up", integration="", read_only=False)) == []


def toolset_named(name: str, **flags: Any) -> Toolset:
    return toolset(name, **{"mutates": True, **flags})


@pytest.mark.parametrize(
    "name",
    [
        "delete_contact",
        "contact_deletion",
        "remove_member",
        "refund",
        "issue_refunds",
        "cancel_subscription",
        "request_cancellation",
        "void_invoice",
        "purge_queue",
        "revoke_key",
        "destroy_all",
        "erase_customer",
        "terminated_plan",
    ],
)
def test_l2_a_destructive_name_without_the_flag_is_a_warning_with_a_hint(name: str) -> None:
    (message,) = checks.find_problems([toolset_named(name)])
    assert isinstance(message, CheckWarning)
    assert message.id == "tools.W001"
    assert f"'crm.{name}'" in message.msg
    assert "destructive=True" in str(message.hint)


@pytest.mark.parametrize(
    "bad",
    [
        toolset_named("delete_contact", destructive=True),
        toolset_named(
            "request_refund", not_destructive="It files a request that an admin decides."
        ),
        toolset_named("avoid_duplicates"),
        toolset_named("send_dropbox_link"),
        toolset_named("create_contact"),
    ],
    ids=["declared", "explained", "avoid", "dropbox", "create"],
)
def test_l2_a_declared_or_explained_or_harmless_name_passes(bad: Toolset) -> None:
    assert find_problem_ids(bad) == []
