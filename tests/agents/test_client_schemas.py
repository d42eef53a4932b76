"""Schemas of an application's tools have a price, which a request pays before it is accepted."""

from typing import Any

import pytest

from agents.models import Session
from tests.agents.application import Application, says


def tool(index: int, patterns: list[str]) -> dict[str, Any]:
    properties = {f"p{place}": {"pattern": pattern} for place, pattern in enumerate(patterns)}
    schema = {"type": "object", "properties": properties}
    return {"name": f"tool_{index}", "description": "", "inputSchema": schema}


def session_with(app: Application, tools: list[Any]) -> Any:
    body = {"agent": {"name": "scripted"}, "messages": [says("Hi")], "tools": tools}
    return app.send("PUT", "/session", body)


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ([tool(1, [r"^\p{Greek}{2,400}$"])], "tools[0].inputSchema"),
        ([tool(1, ["x{9000}{9}"])], "tools[0].inputSchema"),
        ([tool(1, [f"^[a-zA-Z0-9]{{1,400}}{index}$" for index in range(130)])], "too much memory"),
        ([tool(index, ["^a$"] * 101) for index in range(10)], "more than 1,000 patterns"),
        (
            [tool(index, [f"^[A-Z_0-9]{{1,400}}{index}$"] * 12) for index in range(12)],
            "too much memory",
        ),
    ],
)
def test_patterns_that_cost_too_much_are_refused(app: Application, tools: Any, why: str) -> None:
    answer = session_with(app, tools)
    assert (answer.status, why in answer.error) == (400, True), answer.error
    assert not Session.objects.exists()


@pytest.mark.usefixtures("script")
def test_ordinary_patterns_are_accepted(app: Application) -> None:
    ordinary = [r"^[a-z0-9-]+$", r"^\d{4}-\d{2}-\d{2}$", r"^.{1,64}$", r"^[\w+=,.@-]{1,128}$"]
    answer = session_with(app, [tool(index, ordinary) for index in range(40)])
    assert answer.status == 201, answer.error


@pytest.mark.usefixtures("script")
def test_a_schema_that_would_be_evaluated_very_often_is_refused(app: Application) -> None:
    parts: dict[str, Any] = {
        f"p{at}": {"allOf": [{"$ref": f"#/$defs/p{at + 1}"}] * 3} for at in range(30)
    }
    schema = {"type": "object", "$ref": "#/$defs/p0", "$defs": {**parts, "p30": {}}}
    answer = session_with(app, [{"name": "a", "description": "", "inputSchema": schema}])
    assert (answer.status, "tools[0].inputSchema" in answer.error) == (400, True), answer.error


def chain(word: str, place: str, *, name: str = "part", number: int = 26) -> dict[str, Any]:
    """Each definition leads to a member of the next in two ways."""
    parts: dict[str, Any] = {}
    for at in range(number):
        member = {"properties": {"inner": {"$ref": f"#/{place}/{name}{at + 1}"}}}
        parts[f"{name}{at}"] = {word: [member, {"minProperties": 1, **member}]}
    parts[f"{name}{number}"] = {"type": "object"}
    first = {"$ref": f"#/{place}/{name}0"}
    return {"type": "object", "properties": {"a": first}, place.replace("%24", "$"): parts}


def ring() -> dict[str, Any]:
    """Its last definition leads to its first one, which is evaluated once only from then on."""
    schema = chain("allOf", "$defs")
    schema["$defs"]["part26"] = {"$ref": "#/$defs/part0"}
    return schema


def anchors() -> dict[str, Any]:
    schema: dict[str, Any] = chain("allOf", "$defs")
    for at in range(26):
        part = schema["$defs"][f"part{at}"]
        part["$anchor"] = f"a{at}"
        for one in part["allOf"]:
            one["properties"]["inner"] = {"$ref": f"#a{at + 1}"}
    schema["$defs"]["part26"]["$anchor"] = "a26"
    return schema


def patterns_of_names() -> dict[str, Any]:
    parts = {
        f"n{at}": {
            "patternProperties": {"^i": {"$ref": f"#/$defs/n{at + 1}"}},
            "properties": {"inner": {"$ref": f"#/$defs/n{at + 1}"}},
        }
        for at in range(26)
    }
    return {"type": "object", "$ref": "#/$defs/n0", "$defs": {**parts, "n26": {}}}


def items() -> dict[str, Any]:
    parts = {
        f"n{at}": {key: {"$ref": f"#/$defs/n{at + 1}"} for key in ("contains", "items")}
        for at in range(26)
    }
    first = {"list": {"$ref": "#/$defs/n0"}}
    return {"type": "object", "properties": first, "$defs": {**parts, "n26": {}}}


def make_unevaluated_schema() -> dict[str, Any]:
    parts = {
        f"n{at}": {"anyOf": [{"$ref": f"#/$defs/n{at + 1}"}], "unevaluatedProperties": False}
        for at in range(26)
    }
    return {"type": "object", "$ref": "#/$defs/n0", "$defs": {**parts, "n26": {}}}


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    "schema",
    [
        *(chain(word, "$defs") for word in ("allOf", "anyOf", "oneOf")),
        chain("allOf", "definitions"),
        chain("allOf", "x-parts"),
        chain("allOf", "%24defs"),
        ring(),
        anchors(),
        patterns_of_names(),
        items(),
        make_unevaluated_schema(),
    ],
    ids=[
        *("allOf", "anyOf", "oneOf", "definitions", "elsewhere", "encoded"),
        *("ring", "anchors", "patterns", "items", "unevaluated"),
    ],
)
def test_a_schema_that_multiplies_down_the_value_is_refused(
    app: Application, schema: dict[str, Any]
) -> None:
    answer = session_with(app, [{"name": "a", "description": "", "inputSchema": schema}])
    assert (answer.status, "tools[0].inputSchema" in answer.error) == (400, True), answer.error
    assert "is not supported" in answer.error


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    "reference",
    ["#thing", "https://example.com/s", "other.json", "", "#/$defs/none", "#/%64efinitions/x"],
)
def test_a_reference_that_cannot_be_followed_is_refused(app: Application, reference: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}, "definitions": {"x": {}}}
    answer = session_with(app, [{"name": "a", "description": "", "inputSchema": schema}])
    assert (answer.status, "tools[0].inputSchema" in answer.error) == (400, True), answer.error


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    "keywords",
    [{"$dynamicRef": "#x"}, {"$id": "https://example.com/x"}, {"$anchor": "x"}],
    ids=["dynamic", "id", "anchor"],
)
def test_a_keyword_that_changes_what_references_mean_is_refused(
    app: Application, keywords: dict[str, str]
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": keywords},
    }
    answer = session_with(app, [{"name": "a", "description": "", "inputSchema": schema}])
    assert (answer.status, "is not supported" in answer.error) == (400, True), answer.error


LINKED = {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}}
ORDINARY: dict[str, dict[str, Any]] = {
    "definitions": {"$ref": "#/definitions/node", "definitions": {"node": LINKED}},
    "root": {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
    "property": {"properties": {"a": {"items": {"$ref": "#/properties/b"}}, "b": {"minLength": 1}}},
    "names": {
        "$id": "https://example.com/tool",
        "properties": {"$id": {"type": "string"}, "$ref": {"const": {"$ref": "elsewhere"}}},
    },
    "filter": {
        "$ref": "#/$defs/filter",
        "$defs": {
            "filter": {
                "anyOf": [
                    {"properties": {name: {"items": {"$ref": "#/$defs/filter"}}}}
                    for name in ("and", "or", "not")
                ]
            }
        },
    },
}


@pytest.mark.usefixtures("script")
def test_ordinary_references_are_accepted(app: Application) -> None:
    tools = [
        {"name": name, "description": "", "inputSchema": {"type": "object", **schema}}
        for name, schema in ORDINARY.items()
    ]
    answer = session_with(app, tools)
    assert answer.status == 201, answer.error


@pytest.mark.usefixtures("script")
def test_null_for_an_optional_member_is_the_member_left_out(app: Application) -> None:
    answer = app.create(stream=None, tools=None)
    assert (answer.status, answer.stop_reason) == (201, "end_turn")


def test_every_member_that_is_wrong_is_named(app: Application) -> None:
    body = {"agent": {}, "messages": "hello", "stream": "all"}
    answer = app.send("PUT", "/session", body)
    assert answer.status == 400
    for member in ("agent", "messages", "stream"):
        assert f"{member} is invalid: " in answer.error
