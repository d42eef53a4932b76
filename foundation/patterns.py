"""Regular expressions of others: what one may cost when it is compiled.

The engine matches in linear time, but a few characters such as a repetition of letters may compile
to ten megabytes. What a pattern takes is found out by compiling it within small limits first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import jsonschema_rs

MAX_LENGTH: Final = 2_000
MAX_PATTERNS: Final = 1_000
MAX_BYTES: Final = 131_072
MAX_TOTAL_BYTES: Final = 8 * 1_048_576
_SIZES: Final = (4_096, 16_384, 32_768, 65_536, MAX_BYTES)


class PatternsTooLarge(ValueError):
    """The patterns of a schema are too many, or take too much memory."""


@dataclass(frozen=True, slots=True)
class Price:
    """How many patterns schemas have, and about how many bytes of memory they take."""

    number: int = 0
    size: int = 0

    def __add__(self, other: "Price") -> "Price":
        return Price(self.number + other.number, self.size + other.size)

    def check(self) -> None:
        """Raises PatternsTooLarge."""
        if self.number > MAX_PATTERNS:
            raise PatternsTooLarge(f"It has more than {MAX_PATTERNS:,} patterns.")
        if self.size > MAX_TOTAL_BYTES:
            raise PatternsTooLarge("Its patterns take too much memory.")


def options(size: int = MAX_BYTES) -> jsonschema_rs.RegexOptions:
    """Returns the options to compile patterns with: without backtracking, and within a size."""
    return jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=MAX_BYTES)


def count_bytes(*schemas: Any) -> int:
    """Returns about how much memory the patterns of schemas take together.

    Raises PatternsTooLarge, before much of it is spent.
    """
    found = price(*schemas)
    found.check()
    return found.size


def price(*schemas: Any) -> Price:
    """Returns what the patterns of schemas take, or a part of it that is too much already."""
    found = []
    for pattern in _patterns(schemas):
        found.append(pattern)
        if len(found) > MAX_PATTERNS:
            return Price(len(found))
    total = Price(len(found))
    for pattern in found:
        total += Price(size=size_of(pattern) or 0)
        if total.size > MAX_TOTAL_BYTES:
            break
    return total


@lru_cache(maxsize=4_096)
def size_of(pattern: str) -> int | None:
    """Returns about how many bytes a pattern compiles to; None for too many, or for no pattern."""
    if len(pattern) > MAX_LENGTH:
        return None
    return next((size for size in _SIZES if _compiles(pattern, size)), None)


def _compiles(pattern: str, size: int) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options(size))
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def _patterns(schemas: Any) -> Iterator[str]:
    left = [schemas]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            if isinstance(pattern := one.get("pattern"), str):
                yield pattern
            if isinstance(named := one.get("patternProperties"), Mapping):
                yield from named
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
