"""Extracts the part of a section that matches a search."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

# The databases put these around a match: private characters, which no stored text contains
# (`retrieval.documents.sections.storable`).
OPENED: Final = "\ue000"
CLOSED: Final = "\ue001"
LENGTH: Final = 200
# The number of characters shown before the first match.
LEAD: Final = 50
MATCHES_TRIED: Final = 200
LINE_NOISE: Final = re.compile(r"^[ \t]*(?:[-#]+[ \t]+)+", re.MULTILINE)


# Callers split a snippet at two asterisks, so the text itself must not contain them together.
TWO_STARS: Final = re.compile(r"\*(?=\*)")
MARKS: Final = re.compile(f"[{OPENED}{CLOSED}]")
EACH_MARK: Final = re.compile(f"({MARKS.pattern})")
MAX_WORD_LENGTH: Final = 40
ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class _Marked:
    """A text on one line, and the positions of its matches."""

    text: str
    spans: tuple[tuple[int, int], ...]


def with_marks(text: str, plain: str) -> str:
    """Puts the marks of `plain` into `text`, of which it is a copy with other punctuation.

    Both have the same length without the marks, character for character.
    """
    pieces, place = [], 0
    for piece in EACH_MARK.split(plain):
        is_mark = piece in {OPENED, CLOSED}
        pieces.append(piece if is_mark else text[place : place + len(piece)])
        place += 0 if is_mark else len(piece)
    return "".join(pieces)


def snippet(marked: str) -> str:
    """Returns about 200 characters around the best matches, each between `**` and `**`.

    `marked` is a section's text with OPENED and CLOSED around each match. The result is one line of
    plain text, cut between words, with an ellipsis where text is left out; without a match it is
    the beginning.
    """
    quiet = TWO_STARS.sub("* ", LINE_NOISE.sub("", marked))
    found = _read(" ".join(quiet.split()))
    start = _find_word_gap(found.text, _best_start(found))
    end = _find_word_gap(found.text, start + LENGTH)
    before = ELLIPSIS if start else ""
    after = ELLIPSIS if end < len(found.text) else ""
    return f"{before}{_emphasize_matches(found, start, end).strip()}{after}"


def _read(marked: str) -> _Marked:
    # Marks come in pairs: every second piece between them is a match.
    pieces = MARKS.split(marked)
    ends = list(accumulate(map(len, pieces)))
    return _Marked("".join(pieces), tuple(zip(ends[::2], ends[1::2], strict=False)))


def _best_start(found: _Marked) -> int:
    """Returns where the part begins that has the most different matches, then the most matches."""
    words = [found.text[begin:end].lower() for begin, end in found.spans]
    # In order, and none within another.
    begins = [begin for begin, _ in found.spans]
    ends = [end for _, end in found.spans]

    def richness(start: int) -> tuple[int, int]:
        within = words[bisect_left(begins, start) : bisect_right(ends, start + LENGTH)]
        return len(set(within)), len(within)

    windows = [max(0, begin - LEAD) for begin in begins[:MATCHES_TRIED]]
    return max(windows, key=richness, default=0)


def _find_spans(found: _Marked, start: int, end: int) -> list[tuple[int, int]]:
    return [(a, b) for a, b in found.spans if start <= a and b <= end]


def _find_word_gap(text: str, place: int) -> int:
    """Returns the last gap before a position, unless that word is very long."""
    if place >= len(text):
        return len(text)
    gap = text.rfind(" ", max(0, place - MAX_WORD_LENGTH), place + 1) + 1
    return gap or place


def _emphasize_matches(found: _Marked, start: int, end: int) -> str:
    pieces, last = [], start
    for begin, close in _find_spans(found, start, end):
        pieces += [found.text[last:begin], "**", found.text[begin:close], "**"]
        last = close
    return "".join([*pieces, found.text[last:end]])
