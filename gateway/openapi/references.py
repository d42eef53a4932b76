"""Resolves `$ref` inside one document: nothing is fetched, and no cycle is followed endlessly.

Work on a document is counted in steps of about the same length, and their number is limited: some
kilobytes can refer to their own parts so often that a translation would take hours.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from gateway.openapi.shapes import Json

MAX_HOPS: Final = 50
# Some seconds. An operation of a published document takes a hundred, a large one some thousands.
MAX_STEPS: Final = 8_000_000
# Characters of a result that count as one step.
CHARACTERS_PER_STEP: Final = 8
# The same for a definition that each operation has a copy of when it is stored.
COPIED_PER_STEP: Final = 64


class Unmappable(ValueError):
    """What keeps one operation from being a tool; the sentence is the reason that is listed."""


class TooManySteps(Exception):
    """A document takes more work than any that describes an API; no `Unmappable`: it ends all."""


class UnresolvedReference(Unmappable):
    """A reference that leads nowhere, or out of the document."""


@dataclass(slots=True)
class DocumentWork:
    """The steps that are left for a document."""

    left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Counts work that is about to be done. Raises TooManySteps."""
        self.left -= steps
        if self.left < 0:
            raise TooManySteps


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A parsed document, its version, the references looked up, and the work that may be done."""

    root: Mapping[str, Json]
    version: str
    work: DocumentWork = field(default_factory=DocumentWork, repr=False)
    patterns: set[str] = field(default_factory=set, repr=False)
    _found: dict[str, Json] = field(default_factory=dict, repr=False)

    @property
    def merges_siblings(self) -> bool:
        """Whether what is next to a `$ref` counts (3.1 on; 3.0.4, section "Reference Object")."""
        return self.version in {"3.1", "3.2"}

    def value_at(self, reference: Json) -> Json:
        """Returns the value at a reference (RFC 6901, as a URI fragment).

        Raises UnresolvedReference.
        """
        if not isinstance(reference, str):
            raise UnresolvedReference("A $ref is not text.")
        if reference not in self._found:
            self._found[reference] = self._look_up(reference)
        return self._found[reference]

    def _look_up(self, reference: str) -> Json:
        if not reference.startswith("#"):
            raise UnresolvedReference(
                f"It refers to another document, which is not fetched: {reference[:200]!r}."
            )
        pointer = unquote(reference[1:])
        if pointer and not pointer.startswith("/"):
            raise UnresolvedReference(f"The reference {reference[:200]!r} is not a JSON Pointer.")
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
                raise UnresolvedReference(f"The reference {reference[:200]!r} leads to nothing.")
        return value

    def resolve(self, value: Json) -> Json:
        """Returns an object with its chain of references followed.

        From 3.1 on, the members next to `$ref` replace those of its target. Raises
        UnresolvedReference.
        """
        siblings: dict[str, Json] = {}
        hops = 0
        while isinstance(value, Mapping) and "$ref" in value:
            if hops == MAX_HOPS:
                raise UnresolvedReference(f"The reference {value['$ref']!r} is part of a cycle.")
            hops += 1
            if self.merges_siblings:
                self.work.spend(len(value) + len(siblings))
                siblings = {k: v for k, v in value.items() if k != "$ref"} | siblings
            value = self.value_at(value["$ref"])
        if siblings and isinstance(value, Mapping):
            self.work.spend(len(value))
            return {**value, **siblings}
        return value
