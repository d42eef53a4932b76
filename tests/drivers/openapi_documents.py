"""Small OpenAPI documents, and what the import makes of them."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from gateway.openapi import documents, mapping
from gateway.openapi.shapes import Import, OpenApiOperation

Json = Any
_INFO: Mapping[str, Json] = {"title": "Example", "version": "1"}
_OK: Mapping[str, Json] = {"responses": {"200": {"description": "OK"}}}


def document(paths: Mapping[str, Json], version: str = "3.0.3", **more: Json) -> dict[str, Json]:
    """Returns a document with paths; `version` decides between `openapi` and `swagger`."""
    key = "swagger" if version.startswith("2") else "openapi"
    return {key: version, "info": _INFO, "paths": paths, **more}


def import_paths(paths: Mapping[str, Json], version: str = "3.0.3", **more: Json) -> Import:
    """Returns the import of a document, through its text."""
    return mapping.read(documents.parse(orjson.dumps(document(paths, version, **more))))


def operation(
    raw: Mapping[str, Json], version: str = "3.0.3", *, at: str = "POST /things", **more: Json
) -> OpenApiOperation:
    """Returns the only operation of a document, which has to be mapped."""
    method, _, path = at.partition(" ")
    found = import_paths({path: {method.lower(): {**_OK, **raw}}}, version, **more)
    assert found.unmapped == [], found.unmapped
    (one,) = found.operations
    return one


def json_body(schema: Json, **more: Json) -> dict[str, Json]:
    """Returns the part of an operation that declares a JSON body."""
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, **more}}


def accepts(one: OpenApiOperation, **arguments: Json) -> bool:
    """Returns whether the full schema accepts arguments."""
    return bool(validator(one).is_valid(arguments))


def validator(one: OpenApiOperation) -> Any:
    """The full schema as the gateway compiles it."""
    return jsonschema_rs.Draft202012Validator(
        dict(one.full_schema), pattern_options=jsonschema_rs.RegexOptions()
    )


def listed_arguments(one: OpenApiOperation) -> Mapping[str, Json]:
    """The arguments that clients are shown."""
    found: Mapping[str, Json] = one.listed_schema["properties"]
    return found


def levels(schema: Json) -> int:
    """How deep schemas are nested in a listed one."""
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [schema[key] for key in ("items", "additionalProperties")
              if isinstance(schema.get(key), dict)]  # fmt: skip
    return 1 + max(map(levels, inner), default=0)


def why_not_portable(schema: Mapping[str, Json]) -> list[str]:
    """What a model provider would refuse in a listed schema (pitfall 52)."""
    wrong = [key for key in ("anyOf", "oneOf", "allOf", "$ref") if key in schema]
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        wrong.append("the root is no object with properties")
    if levels(schema) > 10:
        wrong.append("too deep")
    left: list[Json] = [schema]
    while left:
        one = left.pop()
        wrong += [key for key in ("$ref", "allOf", "oneOf", "const", "not") if key in one]
        if isinstance(one.get("type"), list):
            wrong.append("a type list")
        if one.get("type") == "array" and "items" not in one:
            wrong.append("an array without items")
        if not all(isinstance(choice, str) for choice in one.get("enum", ())):
            wrong.append("choices that are not text")
        if not set(one.get("required", ())) <= one.get("properties", {}).keys():
            wrong.append("a required property that is not declared")
        left += [*one.get("properties", {}).values(), *one.get("anyOf", [])]
        left += [one[key] for key in ("items", "additionalProperties")
                 if isinstance(one.get(key), dict)]  # fmt: skip
    return wrong
