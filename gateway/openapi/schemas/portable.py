"""The portable form of a schema, which clients list: what all model providers accept.

No `$ref`, no `allOf`, no type lists, alternatives as `anyOf` below the root only, choices of text
only, at most ten levels. It may accept more than the full schema, which validates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from gateway.openapi.references import CHARACTERS_PER_STEP
from gateway.openapi.schemas.definitions import Definitions
from gateway.openapi.schemas.dialect import Schema
from gateway.openapi.schemas.text import with_sentence
from gateway.openapi.shapes import Json

# The levels below an argument, and what a tool may cost: the deepest that fits is taken.
_LEVELS: Final = (8, 6, 5, 4, 3, 2)
MAX_CHARACTERS: Final = 20_000
# What so few levels come to is taken whatever it costs.
_FEWEST: Final = _LEVELS[-1]
# The steps that one number of levels may take, before fewer are tried.
_MAX_STEPS: Final = 50_000
_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "number": ("format", "minimum", "maximum"),
    "integer": ("format", "minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}
# Limits that some providers take no keyword for, in words: the types that they are of.
_IN_WORDS: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "exclusiveMinimum": (frozenset({"number", "integer"}), "Greater than {}."),
    "exclusiveMaximum": (frozenset({"number", "integer"}), "Less than {}."),
    "multipleOf": (frozenset({"number", "integer"}), "A multiple of {}."),
    "uniqueItems": (frozenset({"array"}), "No item twice."),
    "minProperties": (frozenset({"object"}), "Members: at least {}."),
    "maxProperties": (frozenset({"object"}), "Members: at most {}."),
}
_NOT_OF_EACH: Final = {"unions", "description"}
_CONSTRAINTS_ONLY: Final = {"required", "not", "minProperties", "maxProperties", "description"}
Sized = tuple[Schema, int]
# A reference has a name; any other schema is known by the identity of its object.
_Key = str | int


class _TooLarge(Exception):
    """A schema of so many levels costs more than a tool may."""


@dataclass(slots=True)
class Portable:
    """Makes portable schemas; what several tools share is made once and shared.

    A schema that is one of its own alternatives, as a child that extends a parent with `oneOf`, is
    shown as an alternative once.
    """

    definitions: Definitions
    _sized: dict[tuple[int, int], Sized | None] = field(default_factory=dict)
    _flat: dict[_Key, Schema] = field(default_factory=dict)
    _alternatives: dict[tuple[int, _Key], Schema] = field(default_factory=dict)
    # The lists of alternatives that a flat schema was chosen from.
    _chosen_from: dict[int, tuple[int, ...]] = field(default_factory=dict)
    # An identity is unique only as long as its object lives.
    _kept: list[Schema] = field(default_factory=list)
    # The steps that are left to the document when the levels have taken too many.
    _enough: int = 0

    def root(
        self, properties: Mapping[str, Schema], required: list[str], *, is_open: bool
    ) -> tuple[Schema, bool]:
        """Returns the listed schema of a tool, and whether something was cut for its size."""
        made: dict[str, Schema] = {}
        for levels in _LEVELS:
            self._enough = self.definitions.document.work.left - _MAX_STEPS
            try:
                made = self._arguments(properties, levels)
            except _TooLarge:
                continue
            break
        root: Schema = {"type": "object", "properties": made}
        if required:
            root["required"] = required
        root["additionalProperties"] = is_open
        return root, levels != _LEVELS[0]

    def _arguments(self, properties: Mapping[str, Schema], levels: int) -> dict[str, Schema]:
        made: dict[str, Schema] = {}
        size = 0
        for name, one in properties.items():
            made[name], more = self.sized_schema(one, levels)
            size += more
            _check_size(size, levels)
        self.definitions.document.work.spend(len(made) + size // CHARACTERS_PER_STEP)
        return made

    def sized_schema(self, schema: Schema, levels: int) -> Sized:
        """Returns a schema of at most so many levels, and about how many characters it has."""
        if not isinstance(schema, Mapping):
            return {}, 2
        return self._sized_flat(self._flat_schema(schema), levels)

    def _sized_flat(self, flat: Schema, levels: int) -> Sized:
        key = (id(flat), levels)
        if key not in self._sized:
            self._sized[key] = None
            self._count(levels)
            made = self._build_sized(flat, levels)
            _check_size(made[1], levels)
            self._sized[key] = made
        if (sized := self._sized[key]) is None:
            raise _TooLarge
        return sized

    def _count(self, levels: int) -> None:
        work = self.definitions.document.work
        work.spend(1)
        if work.left < self._enough and levels > _FEWEST:
            raise _TooLarge

    def _key(self, schema: Schema) -> _Key:
        if schema.keys() == {"$ref"}:
            return str(schema["$ref"])
        self._kept.append(schema)
        return id(schema)

    def _flat_schema(self, schema: Schema) -> Schema:
        key = self._key(schema)
        if key not in self._flat:
            self._flat[key] = self.definitions.merge_schema(schema)
        return self._flat[key]

    def _alternative(self, flat: Schema, union: list[Schema], one: Schema) -> Schema:
        """One of the alternatives of a flat schema, with what is in force next to them."""
        if not isinstance(one, Mapping):
            return {}
        key = (id(flat), self._key(one))
        if key not in self._alternatives:
            base = {key: value for key, value in flat.items() if key not in _NOT_OF_EACH}
            parts = [base, one] if base.keys() - {"default"} else [one]
            made = self.definitions.merge_schema({"allOf": parts})
            chosen_from = (*self._chosen_from.get(id(flat), ()), id(union))
            made["unions"] = [one for one in made.get("unions", ()) if id(one) not in chosen_from]
            self._chosen_from[id(made)] = chosen_from
            self._alternatives[key] = made
        return self._alternatives[key]

    def _build_sized(self, flat: Schema, levels: int) -> Sized:
        unions = [one for one in flat.get("unions", ()) if not _only_constrains(one)]
        if unions:
            return self._union(flat, unions[0], levels)
        types = flat.get("type", _implied_type(flat))
        types = list(types) if isinstance(types, list) else [types]
        if types == ["integer", "string"]:
            types = ["integer"]  # digits are accepted for it, too
        is_nullable = "null" in types and len(types) > 1
        types = [one for one in types if one != "null"] or ["null"]
        if len(types) > 1:
            branches = [self._typed_schema(flat, kind, levels - 1) for kind in types]
            return _any_of(branches, flat, is_nullable=is_nullable)
        if is_nullable and levels > 1:
            return _any_of([self._typed_schema(flat, types[0], levels - 1)], flat, is_nullable=True)
        return _add_description(self._typed_schema(flat, types[0], levels), flat)

    def _union(self, flat: Schema, branches: list[Schema], levels: int) -> Sized:
        if levels <= 1:
            return _add_description(({}, 2), flat)
        nulls = [one for one in branches if one == {"type": "null"}]
        whole = [one for one in branches if one != {"type": "null"}]
        made = [
            self._sized_flat(self._alternative(flat, branches, one), levels - 1) for one in whole
        ]
        return _any_of(made, flat, is_nullable=bool(nulls))

    def _typed_schema(self, flat: Schema, kind: str | None, levels: int) -> Sized:
        made: Schema = {"type": kind} if kind else {}
        for key in _OF.get(kind or "", ()):
            if key in flat and not (key == "pattern" and kind == "integer"):
                made[key] = flat[key]
        size = 20 + 30 * len(made)
        choices = [one for one in flat.get("enum", ()) if one is not None]
        if "const" in flat:
            choices = [flat["const"]]
        if choices and kind in {"string", None} and all(isinstance(one, str) for one in choices):
            made |= {"type": "string", "enum": choices}
            size += sum(len(one) + 3 for one in choices)
        if kind == "array":
            items = flat.get("items", {})
            made["items"], more = self.sized_schema(items, levels - 1) if levels > 1 else (
                {}, 2,
            )  # fmt: skip
            size += more
        if kind == "object":
            size += self._object(flat, made, levels)
        return made, size

    def _object(self, flat: Schema, made: Schema, levels: int) -> int:
        if levels <= 1:
            return 0
        size = 0
        properties = flat.get("properties", {})
        if properties:
            made["properties"] = {}
        for name, one in properties.items():
            if one is not False:
                made["properties"][name], more = self.sized_schema(one, levels - 1)
                size += more + len(name) + 5
                _check_size(size, levels)
        required = [name for name in flat.get("required", ()) if name in made.get("properties", ())]
        if required:
            made["required"] = required
        values = flat.get("additionalProperties")
        if isinstance(values, Mapping) and values and not properties:
            made["additionalProperties"], more = self.sized_schema(values, levels - 1)
            size += more
        return size + sum(map(len, required))


def _implied_type(flat: Schema) -> str | None:
    if "properties" in flat or "additionalProperties" in flat:
        return "object"
    if "items" in flat:
        return "array"
    values = [flat["const"]] if "const" in flat else flat.get("enum", ())
    return _type_of_all([one for one in values if one is not None])


def _type_of_all(values: list[Json]) -> str | None:
    """The type of choices that are all numbers or all booleans; text says it by its choices."""
    if values and all(isinstance(one, bool) for one in values):
        return "boolean"
    if not values or not all(type(one) in {int, float} for one in values):
        return None
    return (
        "integer" if all(isinstance(one, int) or one.is_integer() for one in values) else "number"
    )


def _only_constrains(branches: list[Schema]) -> bool:
    """Alternatives such as "one of these two is required" are left to the full schema."""
    return all(isinstance(one, Mapping) and one.keys() <= _CONSTRAINTS_ONLY for one in branches)


def _check_size(size: int, levels: int) -> None:
    if size > MAX_CHARACTERS and levels > _FEWEST:
        raise _TooLarge


def _any_of(branches: list[Sized], flat: Schema, *, is_nullable: bool) -> Sized:
    by_text = {
        orjson.dumps(one, option=orjson.OPT_SORT_KEYS): (one, more) for one, more in branches
    }
    distinct = [one for one, _ in by_text.values()]
    size = 12 + sum(more for _, more in by_text.values())
    if is_nullable:
        distinct.append({"type": "null"})
        size += 16
    if len(distinct) == 1:
        return _add_description((dict(distinct[0]), size), flat)
    return _add_description(({"anyOf": distinct}, size), flat)


def _add_description(sized: Sized, flat: Schema) -> Sized:
    """Adds description and default; choices that are no text, and some limits, are in words."""
    made, size = dict(sized[0]), sized[1]
    description = flat.get("description", "")
    values: list[Json] = [flat["const"]] if "const" in flat else flat.get("enum", [])
    if values and "enum" not in made and "anyOf" not in made:
        listed = ", ".join(str(one).lower() if isinstance(one, bool) else str(one)
                           for one in values if one is not None)  # fmt: skip
        description = with_sentence(description, f"One of: {listed[:300]}.")
    if not ("anyOf" in made and flat.get("unions")):  # each alternative has them
        for sentence in _limits_in_words(flat):
            description = with_sentence(description, sentence)
    if description:
        made["description"] = description
    default = flat.get("default")
    if isinstance(default, str | int | float | bool):
        made["default"] = default
    return made, size + len(description) + 20


def _limits_in_words(flat: Schema) -> Iterator[str]:
    types = flat.get("type", _implied_type(flat))
    types = set(types) if isinstance(types, list) else {types}
    for keyword, (of_types, sentence) in _IN_WORDS.items():
        limit = flat.get(keyword)
        if limit is not None and limit is not False and types & {*of_types, None}:
            yield sentence.format(limit)
