"""Translates the schemas of OpenAPI 2.0, 3.0, 3.1 and 3.2 to JSON Schema 2020-12.

A translated schema refers to `#/$defs/...` of the tool that it becomes part of. It keeps the
annotations that clients are shown; `validating` leaves them out. Keywords that cannot be compiled
are dropped with a note, so that one mistake of a document does not cost the operation.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from foundation import patterns
from gateway.openapi.references import OpenApiDocument, UnresolvedReference
from gateway.openapi.schemas.text import plain
from gateway.openapi.shapes import Json

Schema = Any
PREFIX: Final = "#/$defs/"
SUBTYPES: Final = "x-subtypes"
TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_OBJECT_ONLY: Final = ("properties", "required", "additionalProperties")
_INT64: Final = {"int64", "uint64"}
_MAX_BASES: Final = 50
_MAX_COUNT: Final = 2**53
_DIGITS: Final = "^-?[0-9]{1,20}$"
_SEVERAL: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONE: Final = (
    "additionalProperties", "items", "not", "contains", "propertyNames", "if", "then", "else",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
# Where a schema that accepts more makes the one around it accept less.
_NEGATING: Final = ("not", "if")
ANNOTATIONS: Final = ("description", "default", SUBTYPES)
MAX_NOTE: Final = 80
MAX_NOTES: Final = 30
_STEPS_OF_A_PATTERN: Final = 1_000


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return _is_number(value) and 0 <= value < _MAX_COUNT and value == int(value)


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# The keywords that are copied, and what their values have to be.
_COPIED: Final[Mapping[str, Callable[[Json], bool]]] = {
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
         "minContains", "maxContains"), _is_count,
    ),
    "uniqueItems": lambda value: isinstance(value, bool),
    "format": lambda value: isinstance(value, str),
    "contentEncoding": lambda value: isinstance(value, str),
    "contentMediaType": lambda value: isinstance(value, str),
    "dependentRequired": lambda value: isinstance(value, Mapping)
    and all(map(_is_names, value.values())),
}  # fmt: skip


@dataclass(slots=True)
class Translation:
    """Translates one schema with all that is inside it; collects references and notes."""

    document: OpenApiDocument
    name_of: Callable[[str], str]
    subtypes_of: Callable[[Mapping[str, Json]], list[str]]
    refs: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def schema(self, raw: Json, hidden: frozenset[str] = frozenset()) -> Schema:
        """`hidden` are the properties that the parent of an `allOf` has as readOnly."""
        self.document.work.spend(1)
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, Mapping):
            self._note("A schema is not an object; any value is accepted.")
            return {}
        if "$ref" in raw:
            return self._reference(raw, hidden)
        return self._nullable(raw, self._keywords(raw, hidden))

    def _reference(self, raw: Mapping[str, Json], hidden: frozenset[str]) -> Schema:
        self.document.value_at(raw["$ref"])
        name = self.name_of(raw["$ref"])
        self.refs.add(name)
        made: Schema = {"$ref": PREFIX + name}
        if self.document.merges_siblings and len(raw) > 1:
            siblings = {key: value for key, value in raw.items() if key != "$ref"}
            made |= self._keywords(siblings, hidden)
        return self._nullable(raw, made)

    def _keywords(self, raw: Mapping[str, Json], hidden: frozenset[str]) -> Schema:
        made: Schema = {}
        self._types(raw, made)
        for keyword, is_valid in _COPIED.items():
            if keyword in raw:
                if is_valid(raw[keyword]):
                    made[keyword] = raw[keyword]
                else:
                    self._note_dropped(keyword, raw[keyword])
        self._bounds(raw, made)
        self._pattern(raw, made)
        self._choices(raw, made)
        hidden = hidden | read_only(self.document, raw)
        self._inner(raw, made, hidden)
        if "required" in raw:
            self._required_names(raw["required"], made, hidden)
        if description := plain(raw.get("description") or raw.get("title")):
            made["description"] = description
        if raw.get("writeOnly") is True:
            made["writeOnly"] = True
        if "default" in raw:
            made["default"] = raw["default"]
        if "discriminator" in raw and (names := self.subtypes_of(raw)):
            made[SUBTYPES] = names
        self._repair(made)
        return made

    def _types(self, raw: Mapping[str, Json], made: Schema) -> None:
        if "type" not in raw:
            return
        listed = raw["type"] if isinstance(raw["type"], list) else [raw["type"]]
        types = [one for one in dict.fromkeys(map(str, listed)) if one in TYPES]
        if "file" in listed:
            types.append("string")
        elif len(types) < len(set(map(str, listed))):
            self._note_dropped("type", raw["type"])
            types = []
        if types:
            made["type"] = types[0] if len(types) == 1 else types
        if types == ["integer"] and str(raw.get("format")) in _INT64 and "enum" not in raw:
            # Clients in JavaScript round integers over 2^53; digits arrive as they are.
            made["type"] = ["integer", "string"]
            made["pattern"] = _DIGITS

    def _bounds(self, raw: Mapping[str, Json], made: Schema) -> None:
        """In 2.0 and 3.0 an exclusive bound is a boolean next to the bound (draft 4)."""
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            value = raw.get(exclusive)
            if value is True and bound in made:
                made[exclusive] = made.pop(bound)
            elif _is_number(value):
                made[exclusive] = value
            elif value is not None and not isinstance(value, bool):
                self._note_dropped(exclusive, value)

    def _pattern(self, raw: Mapping[str, Json], made: Schema) -> None:
        if "pattern" not in raw:
            return
        if why := self._why_refused(raw["pattern"]):
            self._note(f"The pattern {_quote_value(raw['pattern'])} was left out: {why}.")
        elif "pattern" not in made:
            made["pattern"] = raw["pattern"]

    def _why_refused(self, pattern: Json) -> str:
        """Why a pattern is left out; its first use pays for compiling it."""
        if isinstance(pattern, str) and pattern not in self.document.patterns:
            self.document.work.spend(_STEPS_OF_A_PATTERN)
            self.document.patterns.add(pattern)
        return why_refused(pattern)

    def _choices(self, raw: Mapping[str, Json], made: Schema) -> None:
        if "const" in raw:
            made["const"] = raw["const"]
        if "enum" not in raw:
            return
        if not isinstance(raw["enum"], list) or not raw["enum"]:
            self._note_dropped("enum", raw["enum"])
            return
        choices = list(raw["enum"])
        if made.get("type") == "string" and any(
            _is_number(one) or isinstance(one, bool) for one in choices
        ):
            self._note("Choices of a string that are not text were made text.")
            choices = [_text(one) if one is not None else None for one in choices]
        made["enum"] = _distinct(choices)
        if len(made["enum"]) < len(choices):
            self._note("A choice that is listed twice was left out once.")

    def _inner(self, raw: Mapping[str, Json], made: Schema, hidden: frozenset[str]) -> None:
        for keyword in _ONE:
            if keyword in raw and not (keyword == "items" and isinstance(raw["items"], list)):
                made[keyword] = self.schema(raw[keyword])
        if isinstance(raw.get("items"), list):
            self._several("prefixItems", raw["items"], made, hidden)
        for keyword in _SEVERAL:
            if keyword in raw:
                self._several(keyword, raw[keyword], made, hidden)
        for keyword in _NAMED:
            if keyword in raw:
                self._named_schemas(keyword, raw[keyword], made, hidden)

    def _several(self, keyword: str, raw: Json, made: Schema, hidden: frozenset[str]) -> None:
        if not isinstance(raw, list) or not raw:
            self._note_dropped(keyword, raw)
            return
        passed = hidden if keyword == "allOf" else frozenset[str]()
        made[keyword] = [self.schema(one, passed) for one in raw]

    def _named_schemas(self, keyword: str, raw: Json, made: Schema, hidden: frozenset[str]) -> None:
        if not isinstance(raw, Mapping):
            self._note_dropped(keyword, raw)
            return
        named: Schema = {}
        for name, value in raw.items():
            if keyword == "properties" and name in hidden:
                continue
            if keyword == "patternProperties" and (why := self._why_refused(name)):
                self._note(f"The pattern {_quote_value(name)} was left out: {why}.")
                continue
            named[name] = self.schema(value)
        made[keyword] = named

    def _required_names(self, raw: Json, made: Schema, hidden: frozenset[str]) -> None:
        if not _is_names(raw):
            self._note_dropped("required", raw)
        elif names := [name for name in dict.fromkeys(raw) if name not in hidden]:
            made["required"] = names

    def _nullable(self, raw: Mapping[str, Json], made: Schema) -> Schema:
        """`nullable` is of 3.0, `x-nullable` of 2.0; documents of 3.1 use it nevertheless."""
        if True not in (raw.get("nullable"), raw.get("x-nullable")) or not made:
            return made
        if "enum" in made and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        if "type" in made:
            types = made["type"] if isinstance(made["type"], list) else [made["type"]]
            made["type"] = types if "null" in types else [*types, "null"]
        if not {"$ref", "allOf", "anyOf", "oneOf", "const"} & made.keys() or any(
            one == {"type": "null"} for key in ("anyOf", "oneOf") for one in made.get(key, ())
        ):
            return made
        outer = {key: made.pop(key) for key in ANNOTATIONS if key in made}
        return outer | {"anyOf": [made, {"type": "null"}]}

    def _repair(self, made: Schema) -> None:
        kind = made.get("type")
        types = kind if isinstance(kind, list) else [kind]
        if "array" in types and "items" not in made and "prefixItems" not in made:
            made["items"] = {}
            self._note("An array without items accepts any items.")
        if kind is not None and "object" not in types and "properties" in made:
            for keyword in _OBJECT_ONLY:
                made.pop(keyword, None)
            self._note(f"The properties of a value of the type {kind} were left out.")

    def _note_dropped(self, keyword: str, value: Json) -> None:
        self._note(
            f"The keyword {keyword} was left out: {_quote_value(value)} is not valid for it."
        )

    def _note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)


_NESTED_REPEAT: Final = re.compile(r"\((?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)[+*{]")


def why_refused(pattern: Json) -> str:
    """Returns why a pattern is left out, or nothing.

    Tools are validated by an engine without backtracking, but clients may use one with it, and are
    shown no pattern that takes exponential time there.
    """
    if not isinstance(pattern, str):
        return "it is not text"
    if len(pattern) > patterns.MAX_LENGTH:
        return "it is too long"
    if patterns.size_of(pattern) is None:
        return "it is not valid, takes too much memory, or needs look-around or back-references"
    return "it repeats a repetition" if _NESTED_REPEAT.search(pattern) else ""


def read_only(document: OpenApiDocument, raw: Mapping[str, Json]) -> frozenset[str]:
    """Returns the properties that a request must not have, of a schema and its `allOf`."""
    found: set[str] = set()
    seen: set[str] = set()
    left: list[Json] = [raw]
    while left:
        one = left.pop()
        if not isinstance(one, Mapping):
            continue
        reference = one.get("$ref")
        if isinstance(reference, str) and reference not in seen and len(seen) < _MAX_BASES:
            seen.add(reference)
            left.append(_find_value(document, reference))
        if isinstance(one.get("allOf"), list):
            left += one["allOf"]
        properties = one.get("properties")
        document.work.spend(1)
        if isinstance(properties, Mapping):
            document.work.spend(len(properties))
            found |= {name for name, value in properties.items() if _is_only(document, value)}
    return frozenset(found)


def _is_only(document: OpenApiDocument, value: Json, keyword: str = "readOnly") -> bool:
    if not isinstance(value, Mapping):
        return False
    if "$ref" in value:
        target = _find_value(document, value["$ref"])
        if isinstance(target, Mapping) and target.get(keyword) is True:
            return True
        if not document.merges_siblings:
            return False
    return value.get(keyword) is True


def is_write_only(document: OpenApiDocument, value: Json) -> bool:
    """Returns whether a property is never part of a response."""
    return _is_only(document, value, "writeOnly")


def _find_value(document: OpenApiDocument, reference: Json) -> Json:
    try:
        return document.value_at(reference)
    except UnresolvedReference:
        return None


def validating(schema: Schema) -> Schema:
    """Returns a translated schema without what does not validate, and with `anyOf` for `oneOf`.

    Branches of published documents overlap, so that `oneOf` refuses calls that the API accepts; the
    API decides. Under `not` and `if` more would be refused instead, and `oneOf` stays.
    """
    return _validating(schema, keeps_one_of=False)


def _validating(schema: Schema, *, keeps_one_of: bool) -> Schema:
    if not isinstance(schema, Mapping):
        return schema
    made: Schema = {}
    for key, value in schema.items():
        if key in ANNOTATIONS:
            continue
        keeps = keeps_one_of or key in _NEGATING
        if key in _NAMED:
            made[key] = {name: _validating(one, keeps_one_of=keeps) for name, one in value.items()}
        elif key in _SEVERAL:
            made[key] = [_validating(one, keeps_one_of=keeps) for one in value]
        else:
            made[key] = _validating(value, keeps_one_of=keeps) if key in _ONE else value
    if "oneOf" in made and not keeps_one_of:
        branches = made.pop("oneOf")
        if "anyOf" in made:
            made["allOf"] = [*made.get("allOf", ()), {"anyOf": branches}]
        else:
            made["anyOf"] = branches
    return made


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _distinct(values: Iterable[Json]) -> list[Json]:
    """JSON Schema holds 1 and 1.0 equal, but not 1 and true."""
    return list(
        {
            (isinstance(one, bool), repr(one) if isinstance(one, str | list | dict) else one): one
            for one in values
        }.values()
    )


def _quote_value(value: Json) -> str:
    return repr(value)[:MAX_NOTE]
