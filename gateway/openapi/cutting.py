"""A JSON text that is too large for a result, cut at whole items; what is kept stays as it came."""

import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from foundation import json_text
from foundation.json_text import dumps

SPACE: Final = re.compile(r"[ \t\n\r]*")
# How deep in objects a list is looked for.
MAX_DEPTH: Final = 4
# The names of the members that lead to an array; empty for the text's own.
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A shorter JSON text and its value, and how many items of its longest list are in it.

    `has_digits` says whether the value has a number that clients would round, as its digits.
    """

    text: str
    value: Any = field(repr=False)
    has_digits: bool
    kept: int
    total: int


@dataclass(slots=True)
class _Items:
    """Where one array begins after its bracket, and where each of its items begins and ends."""

    start: int
    places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.places[-1][1] - self.start if self.places else 0


def cut(text: str, max_bytes: int) -> Cut | None:
    """Returns valid JSON that takes at most `max_bytes` in a result, or None if no item fits.

    In a result are both the text as a JSON string and its value. The list is the text's own array,
    or the longest array in its objects. Only what fits is decoded. Raises ValueError for what is no
    JSON, and RecursionError.
    """
    arrays = _arrays(text)
    path = max(arrays, key=lambda one: arrays[one].length, default=())
    found = arrays.get(path)
    if found is None or not found.places:
        return None
    tail = text[found.places[-1][1] :]
    empty = text[: found.start] + tail
    size = len(dumps(empty))
    if size > max_bytes:
        return None
    decoder = json_text.decoder_for_clients(text[: found.start + max_bytes] + tail)
    value = decoder.decode(empty)
    size += len(dumps(value))
    before, items, has_digits = found.start, list[Any](), False
    for start, end in found.places:
        size += len(dumps(text[before:end])) - 2
        if size > max_bytes:
            break
        item, _ = decoder.raw_decode(text, start)
        size += len(dumps(item)) + 1
        if size > max_bytes:
            break
        before = end
        items.append(item)
        # The next item is decoded before it is left out.
        has_digits = json_text.has_digits(decoder)
    if not items:
        return None
    filled = _fill_array(value, path, items)
    return Cut(text[:before] + tail, filled, has_digits, len(items), len(found.places))


def _fill_array(value: Any, path: Path, items: list[Any]) -> Any:
    """The value with these items in its array."""
    if not path:
        return items
    place = value
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = items
    return value


def _arrays(text: str) -> dict[Path, _Items]:
    """The arrays of a text, by where they are in its objects."""
    found: dict[Path, _Items] = {}
    start = _skip_space(text, 0)
    end = _read(text, start, (), found)
    if _skip_space(text, end) != len(text):
        raise _no_json(end)
    return found


def _read(text: str, start: int, path: Path, found: dict[Path, _Items]) -> int:
    """Returns where the value at `start` ends, and adds the arrays in it."""
    if text[start : start + 1] == "[":
        return _read_array(text, start, path, found)
    if text[start : start + 1] == "{" and len(path) <= MAX_DEPTH:
        return _read_members(text, start, path, found)
    return _end(text, start)


def _read_members(text: str, start: int, path: Path, found: dict[Path, _Items]) -> int:
    place = _skip_space(text, start + 1)
    if text[place : place + 1] == "}":
        return place + 1
    # The last member of a name counts.
    members: dict[str, dict[Path, _Items]] = {}
    while text[place : place + 1] == '"':
        name, end = json_text.SCANNER.raw_decode(text, place)
        place = _skip_space(text, end)
        if text[place : place + 1] != ":":
            break
        inner = members[name] = {}
        end = _skip_space(text, _read(text, _skip_space(text, place + 1), (*path, name), inner))
        if text[end : end + 1] == "}":
            for arrays in members.values():
                found.update(arrays)
            return end + 1
        if text[end : end + 1] != ",":
            break
        place = _skip_space(text, end + 1)
    raise _no_json(place)


def _read_array(text: str, start: int, path: Path, found: dict[Path, _Items]) -> int:
    place = _skip_space(text, start + 1)
    items = found[path] = _Items(place)
    if text[place : place + 1] == "]":
        return place + 1
    while True:
        end = _end(text, place)
        items.places.append((place, end))
        place = _skip_space(text, end)
        if text[place : place + 1] == "]":
            return place + 1
        if text[place : place + 1] != ",":
            raise _no_json(place)
        place = _skip_space(text, place + 1)


def _end(text: str, start: int) -> int:
    return json_text.SCANNER.raw_decode(text, start)[1]


def _skip_space(text: str, place: int) -> int:
    space = SPACE.match(text, place)
    return space.end() if space else place


def _no_json(place: int) -> ValueError:
    return ValueError(f"No JSON at character {place:,}.")
