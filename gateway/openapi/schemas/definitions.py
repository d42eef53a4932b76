"""The schemas that a document names: each is translated once and shared by all tools."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

import orjson

from foundation import patterns, schema_work
from foundation.patterns import Price
from foundation.schema_work import Evaluations, SchemaTooComplex
from gateway.openapi.names import digest
from gateway.openapi.references import (
    CHARACTERS_PER_STEP,
    COPIED_PER_STEP,
    DocumentWork,
    OpenApiDocument,
    Unmappable,
)
from gateway.openapi.schemas.dialect import PREFIX, SUBTYPES, Schema, Translation, validating
from gateway.openapi.shapes import Json

_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_.-]")
MAX_DEFINITIONS: Final = 5_000
_COPIED_BY_EACH_PART: Final = ("properties", "required", SUBTYPES)
_COMPARED_IN_A_STEP: Final = 10


@dataclass(frozen=True, slots=True)
class Definition:
    """One named schema: as it is shown, as it validates, and what it refers to.

    `steps` is the work of having it in the schema of one more tool, `patterns` the price of those
    in it.
    """

    shown: Schema
    full: Schema
    refs: frozenset[str]
    notes: Sequence[str]
    digest: str
    steps: int
    patterns: Price


@dataclass(slots=True)
class Definitions:
    """The named schemas of one document, translated when an operation needs them."""

    document: OpenApiDocument
    _names: dict[str, str] = field(default_factory=dict)
    _references: dict[str, str] = field(default_factory=dict)
    _made: dict[str, Definition | Unmappable] = field(default_factory=dict)
    _subtypes: dict[str, list[str]] | None = None
    _places: dict[int, str] = field(default_factory=dict)
    _closures: dict[frozenset[str], dict[str, Definition]] = field(default_factory=dict)
    _evaluations: Evaluations = field(init=False)

    def __post_init__(self) -> None:
        self._evaluations = Evaluations(self._full, self.document.work)

    def translation(self) -> Translation:
        """Returns a translation to be used for the schemas of one operation."""
        return Translation(self.document, self.name_of, self.subtypes_of)

    def name_of(self, reference: str) -> str:
        """Returns the key in `$defs` of a reference; two references never share one."""
        if reference not in self._names:
            last = unquote(reference).rsplit("/", 1)[-1]
            name = _ILLEGAL.sub("_", last)[:64] or "root"
            if name in self._references or name != last:
                name = f"{name}_{digest(reference)}"
            self._names[reference] = name
            self._references[name] = reference
        return self._names[reference]

    def get(self, name: str) -> Definition:
        """Returns a definition. Raises Unmappable for one with a reference that leads nowhere."""
        if name not in self._made:
            try:
                self._made[name] = self._translate_definition(self._references[name])
            except Unmappable as error:
                self._made[name] = error
        found = self._made[name]
        if isinstance(found, Unmappable):
            raise found
        return found

    def _translate_definition(self, reference: str) -> Definition:
        pass_ = self.translation()
        shown = pass_.schema(self.document.value_at(reference))
        full = validating(shown)
        text = orjson.dumps(full, option=orjson.OPT_SORT_KEYS, default=str)
        self.document.work.spend(len(text) // CHARACTERS_PER_STEP)
        return Definition(
            shown=shown,
            full=full,
            refs=frozenset(pass_.refs),
            notes=pass_.notes,
            digest=hashlib.sha256(text).hexdigest(),
            steps=1 + len(text) // COPIED_PER_STEP,
            patterns=patterns.price(full),
        )

    def _full(self, reference: str) -> Schema:
        return self.get(reference.removeprefix(PREFIX)).full

    def check_evaluations(self, full: Schema) -> None:
        """Counts the evaluations of an operation's schema; of a definition, once for all of them.

        Raises SchemaTooComplex.
        """
        try:
            self._evaluations.check(full)
        except SchemaTooComplex:
            # What is evaluated only once depends on the whole schema.
            schema_work.check(full, self.document.work)

    def closure(self, names: set[str]) -> dict[str, Definition]:
        """Returns all definitions that some need, sorted by name. Raises Unmappable."""
        key = frozenset(names)
        if key in self._closures:
            return self._closures[key]
        found: dict[str, Definition] = {}
        left = list(names)
        while left:
            name = left.pop()
            self.document.work.spend(1)
            if name not in found:
                found[name] = self.get(name)
                left += found[name].refs - found.keys()
            if len(found) > MAX_DEFINITIONS:
                raise Unmappable(f"It refers to more than {MAX_DEFINITIONS:,} schemas.")
        self._closures[key] = dict(sorted(found.items()))
        return self._closures[key]

    def references_in(self, schema: Schema) -> set[str]:
        """Returns the names of the definitions that a translated schema refers to itself."""
        found: set[str] = set()
        left: list[Json] = [schema]
        while left:
            one = left.pop()
            self.document.work.spend(1)
            if isinstance(one, Mapping):
                reference = one.get("$ref")
                if (
                    isinstance(reference, str)
                    and reference.removeprefix(PREFIX) in self._references
                ):
                    found.add(reference.removeprefix(PREFIX))
                left += one.values()
            elif isinstance(one, list):
                left += one
        return found

    def subtypes_of(self, raw: Mapping[str, Json]) -> list[str]:
        """Returns the schemas that extend a base with a discriminator and no alternatives."""
        if "oneOf" in raw or "anyOf" in raw:
            return []
        if self._subtypes is None:
            self._subtypes = self._extensions()
            self._places = {id(one): reference for reference, one in self._components()}
        discriminator = raw["discriminator"]
        mapping = discriminator.get("mapping") if isinstance(discriminator, Mapping) else None
        targets = mapping.values() if isinstance(mapping, Mapping) else ()
        found = [self.name_of(one) for one in targets if self._leads(one)]
        base = self._places.get(id(raw), "")
        return list(dict.fromkeys([*found, *self._subtypes.get(base, ())]))

    def _leads(self, reference: Json) -> bool:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return False
        try:
            self.document.value_at(reference)
        except Unmappable:
            return False
        return True

    def _components(self) -> Iterator[tuple[str, Json]]:
        if self.document.version == "2.0":
            place, schemas = "#/definitions/", self.document.root.get("definitions")
        else:
            components = self.document.root.get("components")
            place = "#/components/schemas/"
            schemas = components.get("schemas") if isinstance(components, Mapping) else None
        for name, one in schemas.items() if isinstance(schemas, Mapping) else ():
            yield place + name.replace("~", "~0").replace("/", "~1"), one

    def _extensions(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for reference, one in self._components():
            parts = one.get("allOf") if isinstance(one, Mapping) else None
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, Mapping) and isinstance(part.get("$ref"), str):
                    found.setdefault(part["$ref"], []).append(self.name_of(reference))
        return found

    def merge_schema(self, schema: Schema, *, with_subtypes: bool = True) -> Schema:
        """Returns one flat object for a schema with its `$ref` and `allOf`.

        `unions` has its lists of alternatives. Each definition is merged once, so that cycles end.
        Subtypes of a discriminator add their properties, none of them required.
        """
        seen: set[str] = set()
        work = self.document.work
        made = _merge(self._parts(schema, seen), work)
        for name in made.pop(SUBTYPES, ()) if with_subtypes else ():
            if name not in seen:
                more = _merge(self._parts({"$ref": PREFIX + name}, seen), work)
                work.spend(len(made.get("properties", ())))
                made["properties"] = more.get("properties", {}) | made.get("properties", {})
        made.pop(SUBTYPES, None)
        return made

    def _parts(self, schema: Schema, seen: set[str]) -> Iterator[Mapping[str, Json]]:
        """The schemas that are in force together, the outermost last."""
        left: list[tuple[Schema, bool]] = [(schema, False)]
        while left:
            one, is_open = left.pop()
            if not isinstance(one, Mapping):
                continue
            if is_open:
                yield one
                continue
            left.append((one, True))
            left += [(part, False) for part in reversed(one.get("allOf", ()))]
            name = one.get("$ref", "").removeprefix(PREFIX)
            if name and name not in seen:
                seen.add(name)
                left.append((self._shown_schema(name), False))

    def _shown_schema(self, name: str) -> Schema:
        try:
            return self.get(name).shown
        except Unmappable:
            return {}


def _merge(parts: Iterator[Mapping[str, Json]], work: DocumentWork) -> Schema:
    made: Schema = {}
    unions: list[list[Schema]] = []
    for part in parts:
        # Each part copies what the parts before it have.
        work.spend(1 + len(part) + sum(len(made.get(key, ())) for key in _COPIED_BY_EACH_PART))
        work.spend(len(part.get("properties", ())))
        for key, value in part.items():
            if key in {"anyOf", "oneOf"}:
                unions.append(value)
            elif key == "properties":
                made[key] = _join_properties(made.get(key, {}), value)
            elif key in {"required", SUBTYPES}:
                made[key] = list(dict.fromkeys([*made.get(key, ()), *value]))
            elif key == "enum" and key in made:
                work.spend(len(made[key]) * len(value) // _COMPARED_IN_A_STEP)
                made[key] = [one for one in made[key] if one in value] or value
            elif key not in {"$ref", "allOf"}:
                made[key] = value
    if unions:
        made["unions"] = unions
    return made


def _join_properties(
    first: Mapping[str, Schema], second: Mapping[str, Schema]
) -> dict[str, Schema]:
    """A property that two parts describe has to satisfy both."""
    both = {
        name: {"allOf": [first[name], second[name]]}
        for name in first
        if name in second and first[name] != second[name]
    }
    return {**first, **second, **both}
