"""Resolves `$ref` inside one document: nothing is fetched, and no cycle is followed endlessly."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from gateway.openapi.shapes import Json

MAX_HOPS: Final = 50


class Unmappable(ValueError):
    """What keeps one operation from being a tool; the sentence is the reason that is listed."""


class Unresolved(Unmappable):
    """A reference that leads nowhere, or out of the document."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document, its version, and the references that were looked up."""

    root: Mapping[str, Json]
    version: str
    _found: dict[str, Json] = field(default_factory=dict, repr=False)

    @property
    def merges_siblings(self) -> bool:
        """Whether what is next to a `$ref` counts (3.1 on; 3.0.4, section "Reference Object")."""
        return self.version in {"3.1", "3.2"}

    def at(self, reference: Json) -> Json:
        """Returns the value at a reference (RFC 6901, as a URI fragment). Raises Unresolved."""
        if not isinstance(reference, str):
            raise Unresolved("A $ref is not text.")
        if reference not in self._found:
            self._found[reference] = self._look_up(reference)
        return self._found[reference]

    def _look_up(self, reference: str) -> Json:
        if not reference.startswith("#"):
            raise Unresolved(
                f"It refers to another document, which is not fetched: {reference[:200]!r}."
            )
        pointer = unquote(reference[1:])
        if pointer and not pointer.startswith("/"):
            raise Unresolved(f"The reference {reference[:200]!r} is not a JSON Pointer.")
        value: Json = self.root
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif (isinstance(value, list) and re.fullmatch(r"[0-9]{1,6}", key)) and int(key) < len(
                value
            ):
                value = value[int(key)]
            else:
                raise Unresolved(f"The reference {reference[:200]!r} leads to nothing.")
        return value

    def resolve(self, value: Json) -> Json:
        """Returns an object with its chain of references followed.

        From 3.1 on, the members next to `$ref` replace those of its target. Raises Unresolved.
        """
        siblings: dict[str, Json] = {}
        hops = 0
        while isinstance(value, Mapping) and "$ref" in value:
            if hops == MAX_HOPS:
                raise Unresolved(f"The reference {value['$ref']!r} is part of a cycle.")
            hops += 1
            if self.merges_siblings:
                siblings = {k: v for k, v in value.items() if k != "$ref"} | siblings
            value = self.at(value["$ref"])
        if siblings and isinstance(value, Mapping):
            return {**value, **siblings}
        return value
