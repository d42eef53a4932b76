"""What of an answer may leave over MCP: the fields that an operation lists, and nothing else."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, Union

from people.api.operation import Operation

# Fields by name, each with its own fields; none for a value that is answered whole, and a text for
# one that is answered by the text.
Fields: TypeAlias = Mapping[str, Union["Fields", str]]

REDACTED: Final = "[redacted]"
# Links and what looks like a secret, wherever somebody has written one: keys and tokens by their
# prefix, JSON Web Tokens, and long runs of letters and digits of every kind.
UNSAFE: Final = re.compile(
    r"(?:https?|ftp)://\S+|www\.\S+"
    r"|\b(?:hhr_live_|hhr_test_|halo_[a-z]{2}_|sk_live_|sk-|ghp_|xox[a-z]-|whsec_)\S{8,}"
    r"|\bBearer\s+\S{8,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"
    r"|\b(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d)[A-Za-z0-9+/=]{32,}"
)


def parse_fields(paths: Iterable[str]) -> Fields:
    """Returns paths such as `department.name` and `type=Absence` as a tree."""
    tree: dict[str, Any] = {}
    for path in paths:
        names, is_replaced, text = path.partition("=")
        *above, last = names.split(".")
        place = tree
        for name in above:
            place = place.setdefault(name, {})
        place[last] = text if is_replaced else {}
    return tree


def project_answer(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of an operation with the fields of its projection."""
    found: dict[str, Any] = {
        "data": project_value(body["data"], parse_fields(operation.projection))
    }
    if operation.pages:
        found["pagination"] = dict(body["pagination"])
    for name, fields in parse_fields(operation.also_projection).items():
        found[name] = project_value(body[name], fields)
    return found


def project_value(given: Any, listed: Fields | str) -> Any:
    """Returns a value with the listed fields; a list with those of each of its members."""
    if isinstance(listed, str):
        return listed
    if isinstance(given, str):
        return UNSAFE.sub(REDACTED, given)
    if isinstance(given, (list, tuple)):
        return [project_value(one, listed) for one in given]
    if not listed or given is None:
        return given
    return {name: project_value(given[name], inner) for name, inner in listed.items()}


def project_schema(described: Mapping[str, Any], listed: Fields | str) -> dict[str, Any]:
    """Returns the JSON Schema of a value with the fields of a projection."""
    if isinstance(listed, str):
        return {"type": "string", "const": listed}
    if described.get("type") == "array":
        return {**described, "items": project_schema(described["items"], listed)}
    if not listed:
        return dict(described)
    if "oneOf" in described:
        inner = (
            project_schema(one, listed) if _is_object(one) else one for one in described["oneOf"]
        )
        return {"oneOf": list(inner)}
    properties = {
        name: project_schema(described["properties"][name], inner) for name, inner in listed.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _is_object(described: Mapping[str, Any]) -> bool:
    return described.get("type") == "object"
