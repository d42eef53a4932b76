"""A JSON text that is too large for a result, cut at whole items; what is kept stays as it came."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from foundation.json_text import ClientDecoder
from mcp_protocol.json_writer import dumps

SPACE: Final = re.compile(r"[ \t\n\r]*")
DECODER: Final = ClientDecoder()
# How deep in objects a list is looked for.
MAX_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """A shorter JSON text, and how many items of its longest list are in it."""

    text: str
    kept: int
    total: int


@dataclass(frozen=True, slots=True)
class _Item:
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of one array of a text; `start` is the place of the first."""

    start: int
    items: list[_Item]

    @property
    def length(self) -> int:
        return self.items[-1].end - self.start if self.items else 0


def cut(text: str, max_bytes: int) -> Cut | None:
    """Returns valid JSON that takes at most `max_bytes` in a result, or None if no item fits.

    In a result are both the text as a JSON string and its value. The list is the text's own array,
    or the longest array in its objects.
    """
    found = max(_arrays(text), key=lambda one: one.length, default=None)
    if found is None or not found.items:
        return None
    tail = text[found.items[-1].end :]
    empty = text[: found.start] + tail
    size = len(dumps(empty)) + len(dumps(DECODER.decode(empty)))
    before, kept = found.start, 0
    for item in found.items:
        size += len(dumps(text[before : item.end])) - 2 + len(dumps(item.value)) + 1
        if size > max_bytes:
            break
        before, kept = item.end, kept + 1
    return Cut(text[:before] + tail, kept, len(found.items)) if kept else None


def _arrays(text: str) -> Iterator[_Items]:
    start = _skip_space(text, 0)
    if text[start] == "[":
        yield _read_array(text, start)
    elif text[start] == "{":
        yield from _members(text, start, MAX_DEPTH)


def _members(text: str, start: int, depth: int) -> Iterator[_Items]:
    """The arrays in the object at `start`, and in the objects that are its members."""
    place = _skip_space(text, start + 1)
    while text[place] == '"':
        _, end = DECODER.raw_decode(text, place)
        place = _skip_space(text, _skip_space(text, end) + 1)
        if text[place] == "[":
            yield _read_array(text, place)
        elif text[place] == "{" and depth:
            yield from _members(text, place, depth - 1)
        _, end = DECODER.raw_decode(text, place)
        end = _skip_space(text, end)
        if text[end] == "}":
            return
        place = _skip_space(text, end + 1)


def _read_array(text: str, start: int) -> _Items:
    place = first = _skip_space(text, start + 1)
    items: list[_Item] = []
    while text[place] != "]":
        value, end = DECODER.raw_decode(text, place)
        items.append(_Item(end, value))
        place = _skip_space(text, end)
        if text[place] == ",":
            place = _skip_space(text, place + 1)
    return _Items(first, items)


def _skip_space(text: str, place: int) -> int:
    space = SPACE.match(text, place)
    return space.end() if space else place
