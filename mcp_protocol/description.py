"""How a thing is told at each revision: rows of key, revisions and teller; absence is the gate."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from mcp_protocol.revisions import REVISIONS, Revision
from mcp_protocol.strict_json import JsonObject

Teller: TypeAlias = Callable[[Any], object]
Row: TypeAlias = tuple[str, tuple[Revision, ...], Teller]


class Description:
    """One kind of thing as all revisions tell it, such as a tool or a resource."""

    def __init__(self, *rows: Row) -> None:
        self._at: Final[Mapping[Revision, Sequence[tuple[str, Teller]]]] = {
            revision: [(key, tell) for key, revisions, tell in rows if revision in revisions]
            for revision in REVISIONS
        }

    def of(self, thing: object, revision: Revision) -> JsonObject:
        """Return the members that the revision has, in order; facts that are None are left out."""
        told = ((key, tell(thing)) for key, tell in self._at[revision])
        return {key: value for key, value in told if value is not None}

    def of_each(self, things: Iterable[object], revision: Revision) -> list[JsonObject]:
        """Return the members of each, in the order given."""
        return [self.of(thing, revision) for thing in things]


def unless_empty(attribute: str) -> Teller:
    """Tell an attribute, or nothing where it is empty."""

    def tell(thing: Any) -> object:
        return getattr(thing, attribute) or None

    return tell
