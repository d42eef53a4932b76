"""Arguments as models write them: null for what is left out, and other values as text.

They are read once, if they do not fit their schema as they are, before anything is decided on them.
Null for an optional member is the member left out, unless its schema takes null. Text is the list
or the object that it spells, and for some tools the number or the boolean, unless its schema may
take text.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from tools_registry.api.declared_members import SchemaPlace
from tools_registry.api.offers import Schema

# As JSON writes numbers, short enough for any column. `007` is no number.
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?")
BOOLEANS: Final = {"true": True, "false": False}
# The types of JSON Schema that a value has.
TYPES: Final[Mapping[type, frozenset[str]]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
    str: frozenset({"string"}),
    type(None): frozenset({"null"}),
}
EVERY_TYPE: Final = frozenset[str]().union(*TYPES.values())
# What a text may spell, and what it may for tools that read scalars as well.
STRUCTURED: Final = frozenset({list, dict})
ANY: Final = frozenset({list, dict, int, float, bool})
ANNOTATIONS: Final = frozenset({"description", "title", "default", "examples", "deprecated"})


def read_arguments(
    place: SchemaPlace, arguments: Mapping[str, Any], types: Collection[type]
) -> dict[str, Any]:
    """Returns the arguments with nulls and texts read, at every level that the schema describes.

    `place` is the root of the schema, `types` are those of the values that a text may spell.
    """
    return _read_members(place, arguments, types)


def leave_out_nulls(schema: Schema, value: Any) -> Any:
    """Returns a value without nulls for what is left out, and with its texts as they are."""
    return _read(SchemaPlace.at_root(schema), value, frozenset())


def _read_members(
    place: SchemaPlace, members: Mapping[str, Any], types: Collection[type]
) -> dict[str, Any]:
    required = {name for schema in place.schemas for name in schema.get("required") or ()}
    return {
        name: _read(place.member(name), value, types)
        for name, value in members.items()
        if value is not None or name in required or "null" in _types_at(place.member(name))
    }


def _read(place: SchemaPlace, value: Any, types: Collection[type]) -> Any:
    if isinstance(value, str) and types:
        value = _read_text(place, value, types)
    if isinstance(value, Mapping):
        return _read_members(place, value, types)
    if isinstance(value, list):
        return [_read(place.item(index), item, types) for index, item in enumerate(value)]
    return value


def _read_text(place: SchemaPlace, text: str, types: Collection[type]) -> Any:
    """The value that a text spells, where the schema takes such a value and no text."""
    value = _parse(text.strip())
    if type(value) not in types:
        return text
    taken = _types_at(place)
    return text if "string" in taken or taken.isdisjoint(TYPES[type(value)]) else value


def _parse(text: str) -> Any:
    """The value that a text spells in one way; the text itself if it spells none."""
    if NUMBER.fullmatch(text):
        number = float(text)
        return int(number) if number.is_integer() else number
    if text[:1] in {"{", "["}:
        with suppress(ProtocolError):
            return strict_json.parse(text.encode())
    return BOOLEANS.get(text.lower(), text)


def _types_at(place: SchemaPlace) -> frozenset[str]:
    """The types that the schemas at a place take, each alternative counting; else every type."""
    found: set[str] = set()
    for schema in place.schemas:
        declared = schema.get("type")
        if declared is not None:
            found |= {declared} if isinstance(declared, str) else set(declared)
        elif "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            found = found.union(*(TYPES.get(type(value), EVERY_TYPE) for value in values))
        elif schema.keys() <= ANNOTATIONS:  # an alternative that takes everything
            return EVERY_TYPE
    return frozenset(found) or EVERY_TYPE
