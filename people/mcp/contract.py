"""Schemas of tools from the contract of the HR API, and the fingerprint of what MCP offers."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import orjson

from people.api import routes
from people.api.operation import Operation
from people.api.operations import ALL
from people.mcp import projections
from tools_registry.api import NotFound, Tool, ValidationFailure

EXPOSED: Final = {one.id: one for one in ALL if one.projection}
# What only a document says, and no instance is checked by.
NOT_CHECKED: Final = frozenset({"readOnly", "description", "examples"})


@cache
def _document() -> Mapping[str, Any]:
    return routes.document()


def resource_schema(operation: Operation) -> dict[str, Any]:
    """Returns the schema of one projected resource."""
    found: dict[str, Any] = _projected_schema(operation)
    return found["items"] if operation.lists else found


def answer_schema(operation: Operation) -> dict[str, Any]:
    """Returns the schema of a projected answer."""
    properties: dict[str, Any] = {"data": _projected_schema(operation)}
    if operation.pages:
        properties["pagination"] = {
            "type": "object",
            "properties": {
                "next_cursor": {"type": ["string", "null"]},
                "has_more": {"type": "boolean"},
                "limit": {"type": "integer"},
            },
            "required": ["next_cursor", "has_more", "limit"],
        }
    if also := projections.parse_fields(operation.also_projection):
        whole = {"type": "object", "properties": _answer_properties(operation)}
        properties |= projections.project_schema(whole, also)["properties"]
    return {"type": "object", "properties": properties, "required": list(properties)}


def _projected_schema(operation: Operation) -> dict[str, Any]:
    data = _answer_properties(operation)["data"]
    return projections.project_schema(data, projections.parse_fields(operation.projection))


def _answer_properties(operation: Operation) -> Mapping[str, Any]:
    """The schemas of the members of a whole answer."""
    content = _operation_object(operation)["responses"][str(operation.status)]["content"]
    found: Mapping[str, Any] = _inline(content["application/json"]["schema"])["properties"]
    return found


def summary(operation: Operation) -> dict[str, str]:
    """Returns what an operation is, in a line."""
    return {
        "operation_id": operation.id,
        "method": operation.method,
        "path": f"/{operation.path}",
        "scope": operation.scope,
        "summary": operation.summary,
    }


def find_operation(name: str) -> Operation:
    """Returns the operation of a name that is available over MCP. Raises NotFound."""
    if name not in EXPOSED:
        message = "There is no such operation. list_api_operations names them."
        raise NotFound(message, field="operation_id")
    return EXPOSED[name]


def require_path(operation: Operation, given: Mapping[str, str]) -> None:
    """Raises ValidationFailure unless exactly the parameters of the path are given."""
    described = path_parameters(operation)
    if set(given) != set(described):
        names = ", ".join(described) or "none"
        raise ValidationFailure(f"Send these path parameters: {names}.", field="args.pathParams")


def query_parameters(operation: Operation) -> dict[str, Any]:
    """Returns the schemas of the query parameters that are available over MCP, by name."""
    found = _parameters(operation, "query")
    return {name: schema for name, schema in found.items() if name not in operation.hidden}


def path_parameters(operation: Operation) -> dict[str, Any]:
    """Returns the schemas of the parameters of the path, by name."""
    return _parameters(operation, "path")


def body_schema(operation: Operation) -> dict[str, Any] | None:
    """Returns the schema of the body that an operation takes; None for one that reads."""
    if operation.is_read:
        return None
    content = _operation_object(operation).get("requestBody", {}).get("content", {})
    empty = {"type": "object", "additionalProperties": False}
    found: dict[str, Any] = _inline(content["application/json"]["schema"]) if content else empty
    return found


def _parameters(operation: Operation, place: str) -> dict[str, Any]:
    return {
        one["name"]: {**one["schema"], "description": one.get("description", "")}
        for one in _operation_object(operation).get("parameters", ())
        if one["in"] == place
    }


def fingerprint(tools: Iterable[Tool]) -> str:
    """Returns 16 digits that change with any tool, schema, scope or projection, and else never."""
    offered = [
        [tool.name, tool.title, tool.description, tool.input_schema, tool.output_schema]
        for tool in sorted(tools, key=lambda one: one.name)
    ]
    operations = [
        [
            *(one.id, one.method, one.path, one.scope, one.projection, one.also_projection),
            *(resource_schema(one), body_schema(one)),
        ]
        for one in EXPOSED.values()
    ]
    packed = orjson.dumps([offered, operations], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()[:16]


def _operation_object(operation: Operation) -> Mapping[str, Any]:
    path = _document()["paths"][f"/{routes.PREFIX}{operation.path}"]
    found: Mapping[str, Any] = path[operation.method.lower()]
    return found


def _inline(described: Any) -> Any:
    """The schema with what it refers to in its place: clients follow no reference."""
    if isinstance(described, list):
        return [_inline(one) for one in described]
    if not isinstance(described, dict):
        return described
    if "$ref" in described:
        name = described["$ref"].rpartition("/")[2]
        return _inline(_document()["components"]["schemas"][name])
    if len(described.get("allOf", ())) == 1:
        return _inline(described["allOf"][0])
    return {
        name: _inline_properties(inner) if name == "properties" else _inline(inner)
        for name, inner in described.items()
        if name not in NOT_CHECKED
    }


def _inline_properties(described: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _inline(inner) for name, inner in described.items()}
