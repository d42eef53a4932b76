"""What a document costs: a small one that would take hours is refused, ordinary ones are read.

Each of these documents took minutes or gigabytes; a test that waits for one has failed.
"""

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from gateway.openapi import mapping
from gateway.openapi.documents import InvalidDocument
from gateway.openapi.references import MAX_STEPS, DocumentWork, OpenApiDocument
from tests.drivers.openapi_documents import (
    document,
    import_paths,
    json_body,
    listed_arguments,
    operation,
)

TEXT = {"type": "string"}
OK = {"responses": {}}


def ref(name: str, kind: str = "schemas") -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def response_of_schema(name: str) -> dict[str, Any]:
    return {**OK, **json_body(ref(name))}


def vehicles(number: int) -> dict[str, Any]:
    """The parent and children of the OpenAPI specification, with references in both directions."""
    names = [f"Vehicle{index}" for index in range(number)]
    parent = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": TEXT, "towed": ref("Vehicle")},
        "oneOf": [ref(name) for name in names],
        "discriminator": {"propertyName": "kind", "mapping": {one: one for one in names}},
    }
    children = {
        name: {
            "allOf": [
                ref("Vehicle"),
                {"type": "object", "properties": {f"wheels{index}": TEXT, "next": ref(names[0])}},
            ]
        }
        for index, name in enumerate(names)
    }
    return {"schemas": {"Vehicle": parent, **children}}


@pytest.mark.parametrize("number", [2, 9, 40])
def test_children_that_extend_a_parent_with_alternatives_are_listed_each(number: int) -> None:
    body = {"vehicle": ref("Vehicle")}
    one = operation(json_body({"type": "object", "properties": body}), components=vehicles(number))
    branches = listed_arguments(one)["vehicle"]["anyOf"]
    assert len(branches) == number
    for index, branch in enumerate(branches):
        assert {"kind", f"wheels{index}"} <= branch["properties"].keys()


def test_properties_that_are_alternatives_of_all_schemas_are_read() -> None:
    names = [f"Shape{index}" for index in range(25)]
    schemas = {
        name: {
            "type": "object",
            "properties": {name.lower(): {"anyOf": [ref(other) for other in names]}},
        }
        for name in names
    }
    found = import_paths(
        {"/shapes": {"put": response_of_schema("Shape0")}}, components={"schemas": schemas}
    )
    assert [one.name for one in found.operations] == ["put_shapes"]


def large_bodies() -> dict[str, Any]:
    fields = {"type": "object", "properties": {f"field{index}": TEXT for index in range(1_000)}}
    paths = {f"/p{index}": {"patch": response_of_schema("Body")} for index in range(3_000)}
    return document(paths, components={"schemas": {"Body": fields}})


def large_responses() -> dict[str, Any]:
    fields = {"type": "object", "properties": {f"field{index}": TEXT for index in range(4_000)}}
    response = {"200": {"content": {"application/json": {"schema": ref("Answer")}}}}
    paths = {f"/p{index}": {"get": {"responses": response}} for index in range(4_000)}
    return document(paths, components={"schemas": {"Answer": fields}})


def many_schemes() -> dict[str, Any]:
    schemes = {f"key{index}": {"type": "http", "scheme": "bearer"} for index in range(20)}
    paths = {f"/p{index}": {"get": OK} for index in range(2_000)}
    every: list[Any] = [{key: [] for key in schemes}] * 50
    return document(paths, components={"securitySchemes": schemes}, security=every)


def schemas_of_each_other() -> dict[str, Any]:
    names = [f"S{index}" for index in range(250)]
    all_of_them = {"properties": {name: ref(name) for name in names}}
    paths = {f"/{name}": {"post": response_of_schema(name)} for name in names}
    return document(paths, components={"schemas": dict.fromkeys(names, all_of_them)})


def siblings() -> dict[str, Any]:
    target = {"properties": {f"field{index}": TEXT for index in range(5_000)}}
    parameter = {"in": "query", "name": "q", "schema": {}, **dict.fromkeys(target, target)}
    parameter |= {f"x-{index}": index for index in range(5_000)}
    named = [{**ref("q", "parameters"), "description": str(index)} for index in range(5_000)]
    paths = {"/p": {"get": {"parameters": named, **OK}}}
    return document(paths, "3.1.0", components={"parameters": {"q": parameter}})


def long_choices() -> dict[str, Any]:
    parts = [{"enum": [f"{letter}{index}" for index in range(20_000)]} for letter in "ab"]
    return document({"/p": {"post": {**OK, **json_body({"properties": {"a": {"allOf": parts}}})}}})


@pytest.mark.parametrize(
    "make",
    [large_bodies, large_responses, many_schemes, schemas_of_each_other, siblings, long_choices],
)
def test_a_document_that_multiplies_its_own_parts_is_too_large(make: Any) -> None:
    described = make()
    with pytest.raises(InvalidDocument, match="too large to be read"):
        import_paths(described.pop("paths"), described.pop("openapi"), **described)


def test_credentials_that_may_each_be_left_out_do_not_double_alternatives_without_end() -> None:
    names = ("client_secret", "access_token", "api_key", "apikey", "api-key")
    parameters = [
        {"in": place, "name": name, "schema": TEXT}
        for name in names
        for place in ("query", "header")
    ]
    found = import_paths({"/few": {"get": {"parameters": parameters[:4], **OK}},
                      "/many": {"get": {"parameters": parameters, **OK}}})  # fmt: skip
    assert [one.key for one in found.operations] == ["GET /few"]
    assert ["alternatives" in one.reason for one in found.unmapped] == [True]


@pytest.mark.parametrize("number", [51, 3_000])
def test_an_operation_with_more_alternatives_of_security_has_no_tool(number: int) -> None:
    listed_ones = [{"key": [str(index)]} for index in range(number)]
    found = import_paths({"/p": {"get": {"security": listed_ones, **OK}}})
    assert "more than 50 alternatives" in found.unmapped[0].reason


def texts(*patterns: str) -> dict[str, Any]:
    return {f"p{index}": {"type": "string", "pattern": one} for index, one in enumerate(patterns)}


@pytest.mark.parametrize("pattern", [r"^\p{Cyrillic}{1,300}$", "(?:[a-f]{60}){600}", "a{70000}"])
def test_a_pattern_that_compiles_to_much_is_left_out_with_a_note(pattern: str) -> None:
    one = operation(json_body({"type": "object", "properties": texts(pattern, "^[a-z]{1,40}$")}))
    assert [argument.get("pattern") for argument in listed_arguments(one).values()] == [
        None,
        "^[a-z]{1,40}$",
    ]
    assert any("too much memory" in note for note in one.notes)


@pytest.mark.parametrize(
    ("patterns", "why"),
    [
        ([f"^[a-zA-Z_]{{1,400}}{index}$" for index in range(130)], "too much memory"),
        (["^[a-f]+$"] * 1_001, "more than 1,000 patterns"),
    ],
)
def test_an_operation_whose_patterns_are_too_many_has_no_tool(
    patterns: list[str], why: str
) -> None:
    large = json_body({"type": "object", "properties": texts(*patterns)})
    small = json_body({"type": "object", "properties": texts(*patterns[:9])})
    found = import_paths({"/large": {"put": {**OK, **large}}, "/small": {"put": {**OK, **small}}})
    assert [one.key for one in found.operations] == ["PUT /small"]
    assert [why in one.reason for one in found.unmapped] == [True]


def test_a_document_of_very_many_patterns_is_too_large() -> None:
    patterns = [f"^[a-z]{{1,300}}{index}$" for index in range(9_000)]
    paths = {
        f"/p{start}": {"put": {**OK, **json_body({"properties": texts(*patterns[start:][:900])})}}
        for start in range(0, 9_000, 900)
    }
    with pytest.raises(InvalidDocument, match="too large to be read"):
        import_paths(paths)


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_an_operation_whose_arguments_would_be_evaluated_very_often_has_no_tool(
    keyword: str,
) -> None:
    def schemas(number: int) -> dict[str, Any]:
        twice = {f"Part{at}": {keyword: [ref(f"Part{at + 1}")] * 2} for at in range(number)}
        return {**twice, f"Part{number}": {"type": "object", "required": ["id"]}}

    body = {**OK, **json_body({"properties": {"part": ref("Part0")}})}
    few = import_paths({"/p": {"put": body}}, components={"schemas": schemas(8)})
    assert [one.key for one in few.operations] == ["PUT /p"]
    for number in (14, 45, 400):
        found = import_paths({"/p": {"put": body}}, components={"schemas": schemas(number)})
        assert found.operations == []
        assert "too many for one value" in found.unmapped[0].reason


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_an_operation_whose_arguments_multiply_from_member_to_member_has_no_tool(
    keyword: str,
) -> None:
    def schemas(number: int) -> dict[str, Any]:
        made: dict[str, Any] = {f"Box{number}": {"type": "object", "required": ["id"]}}
        for at in range(number):
            inner = {"type": "object", "properties": {"box": ref(f"Box{at + 1}")}}
            made[f"Box{at}"] = {keyword: [inner, {**inner, "required": ["box"]}]}
        return {**made, "Plain": {"type": "object", "properties": {"id": TEXT}}}

    paths = {"/b": {"put": response_of_schema("Box0")}, "/p": {"put": response_of_schema("Plain")}}
    few = import_paths(paths, components={"schemas": schemas(5)})
    assert [one.key for one in few.operations] == ["PUT /b", "PUT /p"]
    for number in (16, 60):
        found = import_paths(paths, components={"schemas": schemas(number)})
        assert [one.key for one in found.operations] == ["PUT /p"]
        assert "too many for one value" in found.unmapped[0].reason


def steps(operations: int) -> int:
    """What a document costs whose operations all share a hundred schemas of each other."""
    schemas = {
        f"Part{at}": {
            "type": "object",
            "description": "A part of an order, as it is stored.",
            "properties": {
                **{f"field_{name}_{at}": TEXT for name in range(25)},
                "next": ref(f"Part{(at + 1) % 100}"),
                "code": {"type": "string", "pattern": f"^[A-Z]{{2}}-{at}$"},
            },
        }
        for at in range(100)
    }
    paths = {f"/p{at}": {"put": response_of_schema(f"Part{at % 100}")} for at in range(operations)}
    described = document(paths, components={"schemas": schemas})
    work = DocumentWork()
    with patch("gateway.openapi.mapping.OpenApiDocument", partial(OpenApiDocument, work=work)):
        assert len(mapping.read(described).operations) == operations
    return MAX_STEPS - work.left


def test_schemas_that_many_operations_share_are_counted_once() -> None:
    many = steps(900)
    assert many < MAX_STEPS * 3 // 4
    # One more operation costs little, and not what all that it shares with others does.
    assert (many - steps(100)) // 800 < steps(1) // 10
