"""Long lists in pages. A cursor is sealed: a client cannot read, make or take over one.

It holds the key of the last thing shown, so a page begins where the one before ended even if
something was added or removed in between (MCP, server/utilities/pagination).
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Final, Generic, TypeAlias, TypeVar
from uuid import UUID

from foundation import sealed_text
from foundation.sealing import SealBroken
from mcp_protocol import failures
from mcp_protocol.errors import ProtocolError

# Several clients read the first page alone: a page ends where a list is too large for them anyway.
PAGE_SIZE: Final = 1_000
PAGE_BYTES: Final = 1_048_576
MAX_CURSOR_LENGTH: Final = 4_096

Listed = TypeVar("Listed")
Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Listed]):
    """One page, and the cursor of the next one if there is one."""

    things: list[Listed]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class PagedList:
    """Whose list is paged, and which one."""

    authorization_id: UUID
    method: str

    @property
    def context(self) -> bytes:
        return f"cursor:{self.method}:{self.authorization_id}".encode()


def page(
    things: Sequence[Listed],
    key: Callable[[Listed], Key],
    place: PagedList,
    cursor: object,
    size: Callable[[Listed], int] | None = None,
) -> ListPage[Listed]:
    """Cut one page out of a list, which may be in any order; pages are in the order of `key`.

    None begins at the start; anything else must be a cursor of this list. `size` returns the bytes
    that a thing takes, where things may be large. Raises ProtocolError.
    """
    ordered = sorted(things, key=key)
    if cursor is not None:
        ordered = ordered[bisect_right(ordered, _unseal_key(cursor, place), key=key) :]
    shown = ordered[:PAGE_SIZE]
    if size is not None:
        sizes = accumulate(map(size, shown))
        # At least one: a page without any would be the last for some clients.
        shown = shown[: max(1, sum(1 for _ in takewhile(PAGE_BYTES.__ge__, sizes)))]
    more = len(ordered) > len(shown)
    return ListPage(shown, _seal_key(key(shown[-1]), place) if more else None)


def _seal_key(key: Key, place: PagedList) -> str:
    return sealed_text.seal(json.dumps(key).encode(), context=place.context)


def _unseal_key(cursor: object, place: PagedList) -> Key:
    # An empty string is a cursor like any other, and none of ours.
    if not isinstance(cursor, str) or len(cursor) > MAX_CURSOR_LENGTH:
        raise _refusal()
    try:
        key: list[str] = json.loads(sealed_text.unseal(cursor, context=place.context))
    except SealBroken as error:
        raise _refusal() from error
    return tuple(key)


def _refusal() -> ProtocolError:
    return failures.invalid_field(
        "cursor", "The cursor is not valid.", "is not a cursor of this list"
    )
