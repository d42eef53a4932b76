"""The system check on resources, templates, prompts and parameters that stand in headers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.drivers import fixture_resources, fixture_tools
from tests.drivers.fake_vendors.connected import SOUND
from tests.drivers.fixture_tools import schema
from tools_registry import checks
from tools_registry.api import Argument, Facts, Toolset

DESCRIBED = {"title": "One", "description": "One of them."}


def find_problem_ids(*toolsets: Toolset) -> list[str]:
    return [str(message.id) for message in checks.find_problems(toolsets)]


def offering(declare: Callable[[Toolset], Any], name: str = "one") -> list[str]:
    made = Toolset(scope="docs:read", title="Made")

    def run(_context: Any, _given: Any) -> Any:
        raise AssertionError

    run.__name__ = name
    declare(made)(run)
    return find_problem_ids(made)


def test_what_the_tests_offer_is_sound() -> None:
    assert find_problem_ids(fixture_resources.LIBRARY) == []
    assert (
        find_problem_ids(replace(fixture_tools.CRM, connection=SOUND), Toolset(scope="docs:read"))
        == []
    )


@pytest.mark.parametrize(
    ("declare", "expected"),
    [
        (lambda made: made.resource(uri="made://one", **DESCRIBED), []),
        (lambda made: made.resource(uri="one", **DESCRIBED), ["tools.E010"]),
        (lambda made: made.resource(uri="made://one", title="", description="x"), ["tools.E005"]),
        (lambda made: made.prompt(title="x", description=" "), ["tools.E005"]),
        (lambda made: made.prompt(**DESCRIBED, name="a b"), ["tools.E010"]),
        (lambda made: made.prompt(**DESCRIBED, scope="docs:write"), ["tools.E008"]),
        (
            lambda made: made.prompt(**DESCRIBED, arguments=[Argument("a"), Argument("a")]),
            ["tools.E011"],
        ),
        (lambda made: made.template(uri_template="made://{a}", **DESCRIBED), []),
        (lambda made: made.template(uri_template="made://a", **DESCRIBED), ["tools.E010"]),
        (lambda made: made.template(uri_template="{a}", **DESCRIBED), ["tools.E010"]),
        (
            lambda made: made.template(
                uri_template="made://{a}", **DESCRIBED, completions={"b": None}
            ),
            ["tools.E011"],
        ),
    ],
)
def test_each_offer_is_held_to_its_form(declare: Any, expected: list[str]) -> None:
    assert offering(declare) == expected


@pytest.mark.parametrize(
    "declare",
    [
        lambda made: made.resource(uri="made://one", **DESCRIBED),
        lambda made: made.template(uri_template="made://{a}", **DESCRIBED),
        lambda made: made.prompt(**DESCRIBED),
    ],
)
def test_nothing_is_declared_twice(declare: Any) -> None:
    made = Toolset(scope="docs:read", title="Made")
    for _ in range(2):
        declare(made)(lambda _context, _given: None)
    assert "tools.E010" in find_problem_ids(made)


def with_schema(**properties: Any) -> list[str]:
    """The problems of a tool with this schema, but for missing bounds, which are tested apart."""
    ids = offering(
        lambda made: made.tool(**DESCRIBED, input_schema=schema(**properties)), name="look_up"
    )
    return [each for each in ids if each != "tools.E017"]


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
        toolset.tool(**DESCRIBED, input_schema=schema(), read_only=True)(run)
        made.append(toolset)
    assert find_problem_ids(*made) == ["tools.E002"]
