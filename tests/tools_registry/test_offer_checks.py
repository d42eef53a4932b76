"""The system check on resources, templates, prompts and parameters that stand in headers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.drivers import library, toolbox
from tests.drivers.standins.connecting import SOUND
from tests.drivers.toolbox import schema
from tools_registry import checks
from tools_registry.types import Argument, Facts, Toolset

TOLD = {"title": "One", "description": "One of them."}


def found(*toolsets: Toolset) -> list[str]:
    return [str(message.id) for message in checks.judged(toolsets)]


def offering(declare: Callable[[Toolset], Any], name: str = "one") -> list[str]:
    made = Toolset(scope="docs:read", title="Made")

    def run(_context: Any, _given: Any) -> Any:
        raise AssertionError

    run.__name__ = name
    declare(made)(run)
    return found(made)


def test_what_the_tests_offer_is_sound() -> None:
    assert found(library.LIBRARY) == []
    assert found(replace(toolbox.CRM, connection=SOUND), Toolset(scope="docs:read")) == []


@pytest.mark.parametrize(
    ("declare", "expected"),
    [
        (lambda made: made.resource(uri="made://one", **TOLD), []),
        (lambda made: made.resource(uri="one", **TOLD), ["tools.E010"]),
        (lambda made: made.resource(uri="made://one", title="", description="x"), ["tools.E005"]),
        (lambda made: made.prompt(title="x", description=" "), ["tools.E005"]),
        (lambda made: made.prompt(**TOLD, name="a b"), ["tools.E010"]),
        (lambda made: made.prompt(**TOLD, scope="docs:write"), ["tools.E008"]),
        (
            lambda made: made.prompt(**TOLD, arguments=[Argument("a"), Argument("a")]),
            ["tools.E011"],
        ),
        (lambda made: made.template(uri_template="made://{a}", **TOLD), []),
        (lambda made: made.template(uri_template="made://a", **TOLD), ["tools.E010"]),
        (lambda made: made.template(uri_template="{a}", **TOLD), ["tools.E010"]),
        (
            lambda made: made.template(uri_template="made://{a}", **TOLD, completions={"b": None}),
            ["tools.E011"],
        ),
    ],
)
def test_each_offer_is_held_to_its_form(declare: Any, expected: list[str]) -> None:
    assert offering(declare) == expected


@pytest.mark.parametrize(
    "declare",
    [
        lambda made: made.resource(uri="made://one", **TOLD),
        lambda made: made.template(uri_template="made://{a}", **TOLD),
        lambda made: made.prompt(**TOLD),
    ],
)
def test_nothing_is_declared_twice(declare: Any) -> None:
    made = Toolset(scope="docs:read", title="Made")
    for _ in range(2):
        declare(made)(lambda _context, _given: None)
    assert "tools.E010" in found(made)


def with_schema(**properties: Any) -> list[str]:
    return offering(
        lambda made: made.tool(**TOLD, input_schema=schema(**properties)), name="look_up"
    )


TEXT_AT = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parametrize(
    "properties",
    [
        {"region": TEXT_AT},
        {"limit": {"type": "integer", "x-mcp-header": "L"}},
        {"dry": {"type": "boolean", "x-mcp-header": "Dry-Run"}},
        {"where": schema(region=TEXT_AT)},
        {"x-mcp-header": {"type": "string"}},
    ],
    ids=["string", "integer", "boolean", "nested", "a-parameter-of-that-name"],
)
def test_a_parameter_that_every_client_can_mirror_passes(properties: dict[str, Any]) -> None:
    assert with_schema(**properties) == []


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"type": "array", "items": TEXT_AT}},
        {"a": {"type": "object", "x-mcp-header": "A"}},
        {"a": {"x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": "string", "x-mcp-header": "A B"}},
        {"a": {"type": "string", "x-mcp-header": "A\r\nB"}},
        {"a": {"type": "string", "x-mcp-header": 5}},
        {"a": {"anyOf": [TEXT_AT]}},
        {"a": TEXT_AT, "b": {"type": "string", "x-mcp-header": "region"}},
    ],
    ids=[
        "number",
        "items",
        "object",
        "untyped",
        "empty",
        "space",
        "line-break",
        "no-text",
        "any-of",
        "twice",
    ],
)
def test_a_parameter_that_clients_drop_the_tool_for_is_found(properties: dict[str, Any]) -> None:
    assert set(with_schema(**properties)) == {"tools.E009"}


def test_two_tools_with_one_alias_are_found() -> None:
    made = []
    for integration, name in (("a_b", "c"), ("a", "b_c")):
        toolset = Toolset(integration=integration, title="Made", connection=SOUND)

        def run(_context: Any, _given: Any) -> Facts:
            return Facts(None)

        run.__name__ = name
        toolset.tool(**TOLD, input_schema=schema())(run)
        made.append(toolset)
    assert found(*made) == ["tools.E002"]
