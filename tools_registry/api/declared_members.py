"""Which members of a value its JSON Schema declares, and which names its caller has chosen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

PREFIX: Final = "#/$defs/"
# Some servers compare by upper case (Java, `equalsIgnoreCase`), where these are an I as well.
DOTLESS_AND_DOTTED: Final = str.maketrans("\u0131\u0130", "ii")
IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
CONDITIONS: Final = ("if", "then", "else")
OF_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")


def fold_name(name: str) -> str:
    """Returns what is equal for names that a server which ignores case may take for one.

    Control and format characters are left out: a person does not see them, and some servers drop
    them.
    """
    return "".join(filter(str.isprintable, name.translate(DOTLESS_AND_DOTTED).casefold()))


@dataclass(slots=True)
class SchemaPlace:
    """The schemas that may apply at one place of a value; `root` has the definitions.

    Alternatives all count: a member that one of them has is declared. Places are made once each.
    """

    root: Mapping[str, Any] = field(repr=False)
    schemas: Sequence[Mapping[str, Any]] = field(repr=False)
    known: "dict[tuple[int, ...], SchemaPlace]" = field(default_factory=dict, repr=False)
    names: frozenset[str] = field(init=False)
    # Whether a secret is declared below (`secret_members.py`); None before it is looked for.
    has_secret_inside: bool | None = field(default=None, init=False, repr=False)
    _inside: "dict[str | int | None, SchemaPlace]" = field(default_factory=dict, repr=False)
    _folded: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        each = (_mapping(schema, "properties") for schema in self.schemas)
        self.names = frozenset(name for properties in each for name in properties)

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any]) -> "SchemaPlace":
        return cls(schema, tuple(_applying(schema, [schema])))

    def find_other_case(self, name: str) -> str | None:
        """Returns the declared name that an undeclared one is in another case; else None."""
        if name in self.names:
            return None
        if self.names and not self._folded:
            self._folded = {fold_name(each): each for each in self.names}
        return self._folded.get(fold_name(name))

    def member(self, name: str) -> "SchemaPlace":
        """Returns the place of a member of an object."""
        key = name if name in self.names else None
        if key not in self._inside:
            found: list[Any] = []
            for schema in self.schemas:
                properties = _mapping(schema, "properties")
                if name in properties:
                    found.append(properties[name])
                else:
                    found += _mapping(schema, "patternProperties").values()
                    found += [schema.get(word) for word in OF_OTHERS]
            self._inside[key] = self._place(found)
        return self._inside[key]

    def item(self, index: int) -> "SchemaPlace":
        """Returns the place of an item of an array."""
        first = [_list(schema, "prefixItems") for schema in self.schemas]
        key = min(index, max(map(len, first), default=0))
        if key not in self._inside:
            self._inside[key] = self._place(
                [
                    items[index] if index < len(items) else schema.get("items")
                    for items, schema in zip(first, self.schemas, strict=True)
                ]
            )
        return self._inside[key]

    def _place(self, schemas: list[Any]) -> "SchemaPlace":
        key = tuple(map(id, schemas))
        if key not in self.known:
            self.known[key] = SchemaPlace(
                self.root, tuple(_applying(self.root, schemas)), self.known
            )
        return self.known[key]


def _applying(root: Mapping[str, Any], schemas: list[Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas and those that they refer to in place, each once."""
    seen, waiting = set(), list(schemas)
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, Mapping) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(PREFIX):
            name = reference.removeprefix(PREFIX).replace("~1", "/").replace("~0", "~")
            waiting.append(_mapping(root, "$defs").get(name))
        for word in IN_PLACE:
            waiting += schema.get(word) or ()
        waiting += [schema.get(word) for word in CONDITIONS]
        waiting += _mapping(schema, "dependentSchemas").values()


def _mapping(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    found = schema.get(word)
    return found if isinstance(found, Mapping) else {}


def _list(schema: Mapping[str, Any], word: str) -> Sequence[Any]:
    found = schema.get(word)
    return found if isinstance(found, list | tuple) else ()
