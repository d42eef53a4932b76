"""The signature of a tool's function is its input schema, and what the function is called with."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, Literal, TypedDict

import pytest

from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Facts, Keywords, ToolContext, Toolset, read_signature

pytestmark = pytest.mark.django_db

TYPED: Final = Toolset(scope="docs:read", title="Typed")


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class TypedPlace(TypedDict):
    city: Annotated[str, Keywords(maxLength=80)]


class TypedTrip(TypedPlace, total=False):
    days: int


@dataclass(frozen=True)
class TypedPage:
    page_size: Annotated[int, Keywords(minimum=1, maximum=50)] = 10
    cursor: Annotated[str, Keywords(maxLength=100)] | None = None


PAGE: Final = TypedPage(page_size=30)
Line = Annotated[str, Keywords(minLength=1, maxLength=60, description="One line")]


@TYPED.tool(title="Paint", description="Repeats what it was called with.")
def paint(
    _context: ToolContext,
    *,
    title: Line,
    colour: Colour | Literal["any"] = "any",
    from_: Line | None = None,
    trip: TypedTrip | None = None,
    coats: int = 1,
    page: TypedPage = PAGE,
) -> Facts:
    return Facts([title, str(colour), from_, trip, repr(coats), page.page_size, page.cursor])


@pytest.fixture(autouse=True)
def _typed_toolset() -> Iterator[None]:
    with registry.including(TYPED):
        yield


def test_the_schema_of_a_tool_is_read_from_its_signature(mcp: McpClient) -> None:
    listed = {tool["name"]: tool for tool in mcp.request("tools/list").result["tools"]}
    line = {"type": "string", "minLength": 1, "maxLength": 60, "description": "One line"}
    assert listed["paint"]["inputSchema"] == {
        "type": "object",
        "properties": {
            "title": line,
            "colour": {"type": "string", "enum": ["red", "green", "any"], "default": "any"},
            "from": line,
            "trip": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "maxLength": 80},
                    "days": {"type": "integer"},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
            "coats": {"type": "integer", "default": 1},
            "page_size": {"type": "integer", "minimum": 1, "maximum": 50, "default": 30},
            "cursor": {"type": "string", "maxLength": 100},
        },
        "required": ["title"],
        "additionalProperties": False,
    }


def test_a_tool_is_called_with_its_arguments_by_name(mcp: McpClient) -> None:
    arguments = {"title": "a", "from": "b", "trip": {"city": "c"}, "page_size": 5, "cursor": "d"}
    assert mcp.call("paint", arguments).facts == ["a", "any", "b", {"city": "c"}, "1", 5, "d"]


def test_an_argument_that_is_left_out_has_the_default_of_the_signature(mcp: McpClient) -> None:
    assert mcp.call("paint", {"title": "a"}).facts == ["a", "any", None, None, "1", 30, None]


def test_a_value_has_the_type_of_its_annotation(mcp: McpClient) -> None:
    facts = mcp.call("paint", {"title": "a", "colour": "red", "coats": 2.0, "page_size": 5.0}).facts
    assert facts == ["a", "Colour.RED", None, None, "2", 5, None]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": "a", "colour": "blue"}, "colour"),
        ({"title": "a", "from_": "b"}, "from_"),
        ({"title": "a", "trip": {"city": "c", "country": "d"}}, "trip.country"),
        ({"title": "a", "page": {}}, "page"),
        ({}, "title"),
    ],
    ids=["keyword", "enum", "underscore", "member", "group", "required"],
)
def test_arguments_that_do_not_fit_the_signature_are_refused(
    mcp: McpClient, arguments: Any, field: str
) -> None:
    error = mcp.call("paint", arguments).error
    assert (error["code"], error["data"]["field"]) == (-32602, field)


def schema_of(hint: Any) -> Mapping[str, Any]:
    def tool(_context: ToolContext, value: Any) -> Facts:
        return Facts(value)

    tool.__annotations__["value"] = hint
    return read_signature(tool).properties["value"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (list[Line], {"type": "array", "items": schema_of(Line)}),
        (Annotated[Line, Keywords(maxLength=9)], {**schema_of(Line), "maxLength": 9}),
        (
            Annotated[Mapping[str, str], Keywords(maxProperties=2)],
            {"type": "object", "maxProperties": 2},
        ),
    ],
    ids=["number", "boolean", "anything", "integers", "list", "more-keywords", "mapping"],
)
def test_every_annotation_has_one_schema(hint: Any, schema: Any) -> None:
    assert schema_of(hint) == schema


@pytest.mark.parametrize(
    "declare",
    [lambda: schema_of(bytes), lambda: schema_of(Annotated[str, Keywords(maxlength=9)])],
    ids=["type", "keyword"],
)
def test_an_annotation_without_a_schema_is_refused_when_it_is_declared(
    declare: Callable[[], object],
) -> None:
    with pytest.raises(TypeError, match="argument"):
        declare()


def declare_two_of_one_name() -> None:
    def tool(_context: ToolContext, page_size: int, page: TypedPage = PAGE) -> Facts:
        return Facts([page_size, page])

    read_signature(tool)


def declare_an_underscore_twice() -> None:
    def tool(_context: ToolContext, page: TypedPage = PAGE, cursor_: str = "") -> Facts:
        return Facts([page, cursor_])

    read_signature(tool)


def declare_a_mutable_default() -> None:
    def tool(_context: ToolContext, names: list[str] = []) -> Facts:  # noqa: B006  the subject
        return Facts(names)

    read_signature(tool)


def declare_any_arguments() -> None:
    def tool(_context: ToolContext, **more: str) -> Facts:
        return Facts(more)

    read_signature(tool)


@pytest.mark.parametrize(
    ("declare", "sentence"),
    [
        (declare_two_of_one_name, "two arguments of tool are called page_size"),
        (declare_an_underscore_twice, "two arguments of tool are called cursor"),
        (declare_a_mutable_default, "argument names of tool: all calls would share its default"),
        (declare_any_arguments, "more: str of tool cannot be passed by name"),
        (lambda: schema_of(int | str), "argument value of tool: of several types"),
        (lambda: schema_of(bool | int), "argument value of tool: of several types"),
        (lambda: schema_of(int | Literal["all"]), "argument value of tool: of several types"),
        (lambda: schema_of(Literal["all", 1]), "argument value of tool: values to choose from"),
        (lambda: schema_of(int | None), "argument value of tool: .* write `= None`"),
        (lambda: schema_of(list[Colour]), "argument value of tool: only an argument itself"),
    ],
    ids=[
        *("name", "underscore", "mutable", "keywords", "types", "bool", "literal"),
        *("mixed", "none", "items"),
    ],
)
def test_a_parameter_that_cannot_be_an_argument_is_refused_when_it_is_declared(
    declare: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(TypeError, match=sentence):
        declare()


def test_a_choice_of_integers_is_passed_as_an_integer() -> None:
    def tool(_context: Any, stars: Literal[1, 2]) -> Facts:
        return Facts(repr(stars))

    assert read_signature(tool).run(None, stars=2.0) == Facts("2")
