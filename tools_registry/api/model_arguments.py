"""Arguments as models write them: null or empty text for what is left out, other values as text.

They are read once, if they do not fit their schema as they are, before anything is decided on them.
Null or empty text for an optional member is the member left out, unless its schema takes it: models
have to write one of the two where a client requires every member of them. Text is the list
or the object that it spells, and for some tools the number or the boolean, unless its schema may
take text.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from tools_registry.api.declared_members import SchemaPlace
from tools_registry.api.offers import Schema
from tools_registry.api.schemas import validator_of

# As JSON writes numbers, short enough for any column. `007` is no number.
INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
# Of no more digits than a double keeps.
DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,8})\.[0-9]{1,6}")
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
LIMITS_OF_TEXT: Final = ("type", "enum", "const", "minLength", "pattern", "format")
ANNOTATIONS: Final = frozenset({"description", "title", "default", "examples", "deprecated"})


def read_arguments(
    place: SchemaPlace, arguments: Mapping[str, Any], types: Collection[type], owner: str
) -> dict[str, Any]:
    """Returns the arguments as they are meant, at every level that the schema describes.

    `place` is the root of the schema, `types` are those of the values that a text may spell.
    `owner` is whose share of compiled patterns is used.
    """
    return _Reader(types, owner).read_members(place, arguments)


def leave_out_absent(schema: Schema, value: Any, owner: str = "") -> Any:
    """Returns a value without members that are null or empty for what is left out."""
    return _Reader(frozenset(), owner).read(SchemaPlace.from_schema(schema), value)


@dataclass(frozen=True, slots=True)
class _Reader:
    types: Collection[type]
    owner: str

    def read_members(self, place: SchemaPlace, members: Mapping[str, Any]) -> dict[str, Any]:
        required = {name for schema in place.schemas for name in schema.get("required") or ()}
        return {
            name: self.read(place.member(name), value)
            for name, value in members.items()
            if not is_absent(value) or name in required or self._takes(place.member(name), value)
        }

    def read(self, place: SchemaPlace, value: Any) -> Any:
        if isinstance(value, str) and self.types:
            value = self._read_text(place, value)
        if isinstance(value, Mapping):
            return self.read_members(place, value)
        if isinstance(value, list):
            return [self.read(place.item(index), item) for index, item in enumerate(value)]
        return value

    def _read_text(self, place: SchemaPlace, text: str) -> Any:
        """The value that a text spells, where the schema takes such a value and no text."""
        value = _parse(text.strip())
        if type(value) not in self.types:
            return text
        taken = _types_at(place)
        return text if "string" in taken or taken.isdisjoint(TYPES[type(value)]) else value

    def _takes(self, place: SchemaPlace, value: str | None) -> bool:
        """Whether a schema at a place takes null, or a text without any character that is seen."""
        types = _types_at(place)
        if value is None:
            return "null" in types
        if not place.schemas:  # nothing is said of this member
            return True
        # What refers to others or has alternatives may have limits of its own; it is the first.
        takes = [self._takes_text(schema, value) for schema in place.schemas]
        return "string" in types and takes[0] and any(takes[1:] or takes)

    def _takes_text(self, schema: Schema, text: str) -> bool:
        limits = {name: schema[name] for name in LIMITS_OF_TEXT if name in schema}
        return not limits or bool(validator_of(limits, self.owner).is_valid(text))


def is_absent(value: Any) -> bool:
    """Returns whether a value may stand for an argument that is left out: null, or empty text."""
    return value is None or (isinstance(value, str) and not value.strip())


def _parse(text: str) -> Any:
    """The value that a text spells in one way; the text itself if it spells none."""
    if INTEGER.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text):
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
