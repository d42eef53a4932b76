"""What of an answer may leave over MCP: the fields that an operation lists, and nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from people.api.operation import Operation

# Fields by name, each with its own fields; none for a value that is answered whole.
Fields: TypeAlias = Mapping[str, "Fields"]


def fields(paths: Iterable[str]) -> Fields:
    """Returns paths such as `department.name` as a tree."""
    tree: dict[str, Any] = {}
    for path in paths:
        place = tree
        for name in path.split("."):
            place = place.setdefault(name, {})
    return tree


def answer(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of an operation with the fields of its projection."""
    listed = fields(operation.projection)
    data = body["data"]
    kept = [_value(one, listed) for one in data] if operation.lists else _value(data, listed)
    found: dict[str, Any] = {"data": kept}
    if operation.pages:
        found["pagination"] = dict(body["pagination"])
    return found


def schema(described: Mapping[str, Any], listed: Fields) -> dict[str, Any]:
    """Returns the JSON Schema of a resource with the fields of a projection."""
    if not listed:
        return dict(described)
    if "oneOf" in described:
        inner = (schema(one, listed) if _is_object(one) else one for one in described["oneOf"])
        return {"oneOf": list(inner)}
    properties = {name: schema(described["properties"][name], listed[name]) for name in listed}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _value(value: Any, listed: Fields) -> Any:
    if not listed or value is None:
        return value
    return {name: _value(value[name], inner) for name, inner in listed.items()}


def _is_object(described: Mapping[str, Any]) -> bool:
    return described.get("type") == "object"
