"""What a JSON Schema of others may cost when a value is validated.

The validator evaluates a schema as often as others lead to it at the same place of a value. Two
ways from each of thirty definitions to the next, whether for the value itself or for one of its
members, are a thousand million evaluations of one member. So what is counted is how often schemas
are evaluated at each place that a value can have.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

# At one place of a value.
MAX_EVALUATIONS: Final = 10_000
# For all schemas that are checked together: about half a second.
MAX_STEPS: Final = 500_000
# How deep parts and references for one value may be nested.
MAX_NESTED: Final = 100
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_NAMED: Final = ("dependentSchemas", "dependencies")
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
# They find out what is left by evaluating the parts again, in two ways; and nothing only once.
_TIMES_UNEVALUATED: Final = 3
_OTHER_MEMBERS: Final = (
    "additionalProperties", *("unevaluatedProperties",) * _TIMES_UNEVALUATED,
)  # fmt: skip
_OTHER_ITEMS: Final = (
    "items", "additionalItems", *("unevaluatedItems",) * _TIMES_UNEVALUATED,
)  # fmt: skip
# They move what references are resolved against, or are references of another kind.
_NOT_FOLLOWED: Final = (
    "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef",
)  # fmt: skip
_ONLY_AT_ROOT: Final = ("$id", "id", "$schema")
_MAX_SHOWN: Final = 100

_KEYWORDS: Final = frozenset(
    {
        *("$ref", "properties", "patternProperties", "propertyNames", "prefixItems", "contains"),
        *_IN_PLACE_LISTS, *_IN_PLACE, *_IN_PLACE_NAMED, *_OTHER_MEMBERS, *_OTHER_ITEMS,
        *_NOT_FOLLOWED, *_ONLY_AT_ROOT,
    }
)  # fmt: skip
# The first is found much faster than the second.
_OBJECT: Final = (dict, Mapping)

Schema = Mapping[str, Any]
Resolve = Callable[[str], Any]


class SchemaTooComplex(ValueError):
    """A schema would be evaluated too often for one value."""

    def __init__(self) -> None:
        super().__init__("Its alternatives and references are too many for one value.")


class UnfollowedReference(ValueError):
    """A schema refers to others in a way that is not counted, or to nothing."""


class WorkCounter(Protocol):
    """Counts steps, and raises an error when there are too many."""

    def spend(self, steps: int) -> None: ...


@dataclass(slots=True)
class Steps:
    """The steps that are left to count the work of schemas."""

    left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Raises SchemaTooComplex."""
        self.left -= steps
        if self.left < 0:
            raise SchemaTooComplex


@dataclass(slots=True)
class Most:
    """The most schemas, and the most patterns, that are evaluated at one place of a value."""

    schemas: int = 0
    patterns: int = 0


def check(schema: Any, work: WorkCounter | None = None) -> Most:
    """Raises SchemaTooComplex if a place would be evaluated more than `MAX_EVALUATIONS` times.

    Returns what one place takes at most. Raises UnfollowedReference for references that are no
    JSON Pointers into the schema.
    """
    work = work or Steps()
    resolve = _Pointers(schema).find_schema
    try:
        return Evaluations(resolve, work).check(schema)
    except SchemaTooComplex:
        most = Most()
        # One that contains itself may be evaluated only once for a value.
        for in_order in (sorted, _sort_reversed):
            closing = _closing_references(schema, resolve, in_order)
            found = Evaluations(resolve, work, closing=closing).check(schema)
            most.schemas = max(most.schemas, found.schemas)
            most.patterns = max(most.patterns, found.patterns)
        return most


def repeats(schema: Any) -> bool:
    """Returns whether a schema is evaluated more than once at one place of a value.

    The errors of such a schema are not to be collected: the validator collects those of every way
    to each of its parts, which takes minutes where telling whether a value is valid takes none.
    """
    try:
        Evaluations(_Pointers(schema).find_schema, Steps(), max_times=1).check(schema)
    except ValueError:
        return True
    return False


@dataclass(slots=True)
class _Node:
    """One schema, by the places of a value that its parts are for."""

    schema: Schema
    target: Any = None
    parts: list[Schema] = field(default_factory=list)
    times: int = 1
    members: Schema = field(default_factory=dict)
    every_member: list[Schema] = field(default_factory=list)
    other_members: list[Schema] = field(default_factory=list)
    name: list[Schema] = field(default_factory=list)
    first_items: list[Any] = field(default_factory=list)
    every_item: list[Schema] = field(default_factory=list)
    other_items: list[Schema] = field(default_factory=list)

    has_children: bool = False
    # Its own, and those that names of members are matched with.
    patterns: int = 0

    @property
    def is_leaf(self) -> bool:
        return self.target is None and not (self.parts or self.has_children)

    @property
    def is_reference(self) -> bool:
        is_alone = not (self.parts or self.has_children)
        return is_alone and isinstance(self.target, _OBJECT)

    @property
    def width(self) -> int:
        return 1 + len(self.parts) + len(self.members) + len(self.first_items)


Times = dict[int, int]


@dataclass(slots=True)
class Evaluations:
    """Counts how often schemas are evaluated at each place; what was counted is not again.

    `closing` are those whose `$ref` the validator evaluates once for a value, `max_times` is how
    often one schema may be evaluated at one place.
    """

    resolve: Resolve
    work: WorkCounter
    max_times: int = MAX_EVALUATIONS
    closing: Collection[int] = ()
    _most: Most = field(default_factory=Most)
    _nodes: dict[int, _Node] = field(default_factory=dict)
    _counted: set[frozenset[tuple[int, int]]] = field(default_factory=set)

    def check(self, schema: Any) -> Most:
        """Returns the most of all schemas so far.

        Raises SchemaTooComplex or UnfollowedReference.
        """
        if not isinstance(schema, Mapping):
            return self._most
        counted: set[frozenset[tuple[int, int]]] = set()
        left: list[Times] = [{self._add(schema, is_root=True): 1}]
        while left:
            place = left.pop()
            key = frozenset(place.items())
            if key in self._counted or key in counted:
                continue
            counted.add(key)
            left += self._child_places(self._applying(place))
        self._counted |= counted
        return self._most

    def _add(self, schema: Schema, *, is_root: bool = False) -> int:
        """Returns the identity of a schema, which is unique because the schema is kept."""
        if id(schema) not in self._nodes:
            node = _read(schema, is_root=is_root)
            self.work.spend(node.width)
            self._nodes[id(schema)] = node
            reference = schema.get("$ref")
            if isinstance(reference, str):
                node.target = self.resolve(reference)
        return id(schema)

    def _applying(self, place: Times) -> Times:
        """All schemas that are evaluated at a place, and how often."""
        found: Times = defaultdict(int)
        once: set[int] = set()
        total = 0
        left = [(key, times, 0) for key, times in place.items()]
        while left:
            key, times, nested = left.pop()
            node = self._nodes[key]
            self.work.spend(1 + len(node.parts))
            total += times
            found[key] += times
            if total > MAX_EVALUATIONS or found[key] > self.max_times or nested > MAX_NESTED:
                raise SchemaTooComplex
            times_of_part = times * node.times
            left += [(self._add(part), times_of_part, nested + 1) for part in node.parts]
            if isinstance(node.target, _OBJECT):
                target = self._add(node.target)
                if key not in self.closing:
                    left.append((target, times, nested + 1))
                elif target not in once:
                    once.add(target)
                    left.append((target, 1, nested + 1))
        self._keep_most(found, total)
        return found

    def _keep_most(self, place: Times, total: int) -> None:
        most = self._most
        most.schemas = max(most.schemas, total)
        matched = sum(self._nodes[key].patterns * times for key, times in place.items())
        most.patterns = max(most.patterns, matched)

    def _child_places(self, applying: Times) -> Iterator[Times]:
        """The places of members and items, each with the schemas that lead there."""
        nodes = [(self._nodes[key], times) for key, times in applying.items()]
        nodes = [(node, times) for node, times in nodes if node.has_children]
        places: dict[str | int | None, list[tuple[Any, int]]] = defaultdict(list)
        for node, times in nodes:
            for name, schema in node.members.items():
                places[name].append((schema, times))
            for index in range(len(node.first_items)):
                places[index] = []
        for node, times in nodes:
            self._add_others(node, times, places)
        names = [(schema, times) for node, times in nodes for schema in node.name]
        for listed in (*places.values(), names):
            if (place := self._place(listed)) is not None:
                yield place

    def _add_others(
        self, node: _Node, times: int, places: dict[str | int | None, list[tuple[Any, int]]]
    ) -> None:
        """Adds what a schema has for all members or items, and for those that it does not name."""
        every = [(schema, times) for schema in node.every_member]
        others = [*every, *((schema, times) for schema in node.other_members)]
        every_item = [(schema, times) for schema in node.every_item]
        other_items = [*every_item, *((schema, times) for schema in node.other_items)]
        # None is any other member, -1 any other item.
        places[None] += others
        places[-1] += other_items
        if not (others or other_items or node.first_items):
            return
        self.work.spend(len(places))
        for key, listed in places.items():
            if isinstance(key, str):
                listed.extend(every if key in node.members else others)
            elif key is not None and key >= 0 and key < len(node.first_items):
                listed.extend([(node.first_items[key], times), *every_item])
            elif key is not None and key >= 0:
                listed.extend(other_items)

    def _place(self, listed: list[tuple[Any, int]]) -> Times | None:
        """The schemas of a place, or None if nothing is below or next to them."""
        place: Times = defaultdict(int)
        for schema, times in listed:
            if isinstance(schema, _OBJECT):
                place[self._target(self._add(schema))] += times
        self.work.spend(len(listed))
        total = sum(place.values())
        if total > MAX_EVALUATIONS or max(place.values(), default=0) > self.max_times:
            raise SchemaTooComplex
        self._keep_most(place, total)
        return None if all(self._nodes[key].is_leaf for key in place) else place

    def _target(self, key: int) -> int:
        """What a schema that is only a reference refers to: a place has it once in all schemas."""
        for _ in range(MAX_NESTED):
            node = self._nodes[key]
            if key in self.closing or not node.is_reference:
                return key
            key = self._add(node.target)
        raise SchemaTooComplex


def _read(schema: Schema, *, is_root: bool = False) -> _Node:
    own_patterns = 1 if isinstance(schema.get("pattern"), str) else 0
    if _KEYWORDS.isdisjoint(schema):
        return _Node(schema, patterns=own_patterns)
    for keyword in (*_NOT_FOLLOWED, *(() if is_root else _ONLY_AT_ROOT)):
        if isinstance(schema.get(keyword), str):
            raise UnfollowedReference(f"It has {keyword}, which is not supported.")
    of_names = schema.get("patternProperties")
    node = _Node(schema, patterns=own_patterns)
    node.patterns += len(of_names) if isinstance(of_names, Mapping) else 0
    node.parts = [*_ones(schema, _IN_PLACE), *_named_subschemas(schema, _IN_PLACE_NAMED)]
    for keyword in _IN_PLACE_LISTS:
        node.parts += _mappings(schema.get(keyword))
    if any(keyword in schema for keyword in _UNEVALUATED):
        node.times = _TIMES_UNEVALUATED
    members = schema.get("properties")
    node.members = members if isinstance(members, Mapping) else {}
    node.every_member = _named_subschemas(schema, ("patternProperties",))
    node.other_members = _ones(schema, _OTHER_MEMBERS)
    node.name = _ones(schema, ("propertyNames",))
    first = schema.get("prefixItems", schema.get("items"))
    node.first_items = list(first) if isinstance(first, list | tuple) else []
    node.every_item = _ones(schema, ("contains",))
    node.other_items = _ones(schema, _OTHER_ITEMS)
    node.has_children = bool(
        node.members or node.every_member or node.other_members or node.name
        or node.first_items or node.every_item or node.other_items
    )  # fmt: skip
    return node


def _ones(schema: Schema, keywords: Collection[str]) -> list[Schema]:
    return _mappings([schema.get(keyword) for keyword in keywords])


def _named_subschemas(schema: Schema, keywords: Collection[str]) -> list[Schema]:
    each = (schema.get(keyword) for keyword in keywords)
    return [
        one for named in each if isinstance(named, Mapping) for one in _mappings([*named.values()])
    ]


def _mappings(listed: Any) -> list[Schema]:
    """Schemas that are true or false cost nothing."""
    if not isinstance(listed, list | tuple):
        return []
    return [one for one in listed if isinstance(one, _OBJECT)]


@dataclass(slots=True)
class _Pointers:
    """Resolves references as the validator does; each target has one spelling."""

    root: Any
    _found: dict[str, Any] = field(default_factory=dict)

    def find_schema(self, reference: str) -> Any:
        """Returns the schema at a JSON Pointer (RFC 6901). Raises UnfollowedReference."""
        if reference not in self._found:
            self._found[reference] = self._look_up(reference)
        return self._found[reference]

    def _look_up(self, reference: str) -> Any:
        if reference == "#":
            return self.root
        shown = repr(reference[:_MAX_SHOWN])
        # With percent-encoding, one target would have several references, each compiled again.
        if not reference.startswith("#/") or "%" in reference:
            raise UnfollowedReference(f"A $ref may not be {shown}: it has to begin with #/.")
        found: Any = self.root
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, _OBJECT) and key in found:
                found = found[key]
            elif isinstance(found, list | tuple) and _is_index(key, len(found)):
                found = found[int(key)]
            else:
                raise UnfollowedReference(f"The $ref {shown} leads to nothing.")
            if isinstance(found, _OBJECT) and isinstance(found.get("$id"), str):
                raise UnfollowedReference(f"The $ref {shown} leads into a schema with an $id.")
        return found


def _is_index(key: str, length: int) -> bool:
    is_number = key.isascii() and key.isdecimal() and len(key) < len("100000")
    return is_number and str(int(key)) == key and int(key) < length


def _sort_reversed(names: Collection[str]) -> list[str]:
    return sorted(names, reverse=True)


def _closing_references(
    root: Any, resolve: Resolve, in_order: Callable[[Collection[str]], list[str]]
) -> set[int]:
    """Returns the schemas whose `$ref` is met while its target is being compiled.

    The validator compiles depth first, by name, and a target once. What it meets inside itself is
    the only thing that it evaluates once for each value: `PendingSchemaNode` of jsonschema-rs.
    """
    closing: set[int] = set()
    seen: set[int] = set()
    # A reference that is open; None ends the one that was opened last.
    opened: list[str] = []
    left: list[Any] = [root]
    while left:
        one = left.pop()
        if one is None:
            opened.pop()
            continue
        if not isinstance(one, _OBJECT) or id(one) in seen:
            continue
        seen.add(id(one))
        node = _read(one, is_root=one is root)
        if node.times > 1:
            raise SchemaTooComplex
        reference = one.get("$ref")
        following = _ordered_subschemas(node, in_order)
        if isinstance(reference, str):
            target = resolve(reference)
            if reference in opened:
                closing.add(id(one))
            elif isinstance(target, Mapping) and id(target) not in seen:
                opened.append(reference)
                following = [target, None, *following]
        left += reversed(following)
    return closing


def _ordered_subschemas(
    node: _Node, in_order: Callable[[Collection[str]], list[str]]
) -> list[Schema | None]:
    found: list[Schema | None] = []
    for keyword in in_order(node.schema.keys()):
        value = node.schema[keyword]
        if keyword in (*_IN_PLACE, *_OTHER_MEMBERS, *_OTHER_ITEMS, "contains", "propertyNames"):
            found += _mappings(value if isinstance(value, list) else [value])
        elif keyword in (*_IN_PLACE_LISTS, "prefixItems"):
            found += _mappings(value)
        elif keyword in (*_IN_PLACE_NAMED, "properties", "patternProperties") and isinstance(
            value, Mapping
        ):
            found += _mappings([value[name] for name in in_order(value.keys())])
    return found
