"""Input schemas bound what they accept: problems in plain words.

An unbounded argument is read, validated and sent to a vendor whatever its size. The rule that names
them, with its id and hint, is in `checks/__init__.py`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from tools_registry.api import Json, Tool

Problems: TypeAlias = Iterator[str]

# Above this, keywords such as uniqueItems become expensive.
MAX_ITEMS: Final = 1_000
ALTERNATIVES: Final = ("anyOf", "oneOf")
# Halo's transport document prints this schema without a bound; the tool checks the length itself.
PRINTED: Final = frozenset({("search_docs", "query")})


def check_bounds(tool: Tool) -> Problems:
    """Strings without maxLength, arrays without maxItems, objects with any number of members."""
    properties = tool.input_schema.get("properties", {})
    bounded = {name: one for name, one in properties.items() if (tool.name, name) not in PRINTED}
    yield from _check_part({**tool.input_schema, "properties": bounded}, "")
    for name, part in tool.input_schema.get("$defs", {}).items():
        yield from _check_part(part, f"$defs.{name}")


def _check_part(schema: Json, path: str) -> Problems:
    """The unbounded parts of one subschema; `path` is what a caller would call the property."""
    if not isinstance(schema, Mapping) or any(word in schema for word in ("enum", "const", "$ref")):
        return
    branches = [each for word in ALTERNATIVES for each in schema.get(word, ())]
    if branches and "type" not in schema:
        for branch in branches:
            yield from _check_part(branch, path)
        return
    match schema.get("type"):
        case "object":
            yield from _check_object(schema, path)
        case "array":
            yield from _check_array(schema, path)
        case "string" if "maxLength" not in schema:
            yield f"the property {path!r} has no maxLength."
        case None:
            yield f"the property {path!r} has no type."
        # Numbers are bounded by the parser of the request (`mcp_protocol.strict_json`).


def _check_array(schema: Mapping[str, Json], path: str) -> Problems:
    if "maxItems" not in schema:
        yield f"the property {path!r} has no maxItems."
    elif schema["maxItems"] > MAX_ITEMS:
        yield f"the property {path!r} has a maxItems over {MAX_ITEMS}."
    if "items" not in schema:
        yield f"the property {path!r} has no schema for its items."
    yield from _check_part(schema.get("items"), f"{path}[]")


def _check_object(schema: Mapping[str, Json], path: str) -> Problems:
    for name, part in schema.get("properties", {}).items():
        yield from _check_part(part, f"{path}.{name}" if path else name)
    others = schema.get("additionalProperties", True)
    if others is False:
        return
    # Of the whole object tools.E016 says that it must name its arguments.
    if path and "maxProperties" not in schema:
        yield f"the property {path!r} has no maxProperties."
    if path and "maxLength" not in schema.get("propertyNames", {}):
        yield f"the property {path!r} has no propertyNames with maxLength."
    if others is not True:
        yield from _check_part(others, f"{path}.*")
    elif path:
        yield f"the property {path!r} accepts members of any type."
