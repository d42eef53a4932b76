"""Serializes an object for each revision from a table of keys, revisions and encoders.

A key that has no row for a revision is not part of that revision.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from mcp_protocol.revisions import REVISIONS, Revision
from mcp_protocol.strict_json import JsonObject

Encoder: TypeAlias = Callable[[Any], object]
Row: TypeAlias = tuple[str, tuple[Revision, ...], Encoder]


class RevisionSerializer:
    """The members of one kind of object at every revision, such as a tool or a resource."""

    def __init__(self, *rows: Row) -> None:
        self._at: Final[Mapping[Revision, Sequence[tuple[str, Encoder]]]] = {
            revision: [(key, encode) for key, revisions, encode in rows if revision in revisions]
            for revision in REVISIONS
        }

    def serialize(self, thing: object, revision: Revision) -> JsonObject:
        """Returns the members of the revision, in order, without those that are None."""
        members = ((key, encode(thing)) for key, encode in self._at[revision])
        return {key: value for key, value in members if value is not None}

    def serialize_each(self, things: Iterable[object], revision: Revision) -> list[JsonObject]:
        """Returns the members of each object, in the given order."""
        return [self.serialize(thing, revision) for thing in things]


def unless_empty(attribute: str) -> Encoder:
    """Returns an encoder of an attribute that omits empty values."""

    def encode(thing: Any) -> object:
        return getattr(thing, attribute) or None

    return encode
