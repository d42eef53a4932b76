"""The few lines of a section that show why it was found."""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

# What the databases put around a match: private characters, which no stored text holds
# (`plain_text.storable`).
OPENED: Final = "\ue000"
CLOSED: Final = "\ue001"
LENGTH: Final = 200
# How much of the text before the first match is shown.
LEAD: Final = 50
MATCHES_TRIED: Final = 200
LINE_NOISE: Final = re.compile(r"^[ \t]*(?:[-#]+[ \t]+)+", re.MULTILINE)


# Whoever reads a snippet splits it at two asterisks: the text's own must not stand together.
TWO_STARS: Final = re.compile(r"\*(?=\*)")
MARKS: Final = re.compile(f"[{OPENED}{CLOSED}]")
LONGEST_WORD: Final = 40
ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class _Marked:
    """A text on one line, and where in it the matches stand."""

    text: str
    spans: tuple[tuple[int, int], ...]


def snippet(marked: str) -> str:
    """Cut about 200 characters around the best matches, each between `**` and `**`.

    `marked` is a section's text with OPENED and CLOSED around each match. The answer is one line
    of plain text, cut between words, with an ellipsis where text is left out; without a match it
    is the beginning.
    """
    quiet = TWO_STARS.sub("* ", LINE_NOISE.sub("", marked))
    found = _read(" ".join(quiet.split()))
    start = _between_words(found.text, _best_start(found))
    end = _between_words(found.text, start + LENGTH)
    before = ELLIPSIS if start else ""
    after = ELLIPSIS if end < len(found.text) else ""
    return f"{before}{_emphasised(found, start, end).strip()}{after}"


def _read(marked: str) -> _Marked:
    # Marks come in pairs: every other piece between them is a match.
    pieces = MARKS.split(marked)
    ends = list(accumulate(map(len, pieces)))
    return _Marked("".join(pieces), tuple(zip(ends[::2], ends[1::2], strict=False)))


def _best_start(found: _Marked) -> int:
    starts = [begin for begin, _ in found.spans[:MATCHES_TRIED]]
    windows = [max(0, begin - LEAD) for begin in starts]
    return max(windows, key=lambda start: _richness(found, start), default=0)


def _richness(found: _Marked, start: int) -> tuple[int, int]:
    words = [found.text[a:b].lower() for a, b in _within(found, start, start + LENGTH)]
    return len(set(words)), len(words)


def _within(found: _Marked, start: int, end: int) -> list[tuple[int, int]]:
    return [(a, b) for a, b in found.spans if start <= a and b <= end]


def _between_words(text: str, place: int) -> int:
    """The last gap up to a place, unless that word is very long."""
    if place >= len(text):
        return len(text)
    gap = text.rfind(" ", max(0, place - LONGEST_WORD), place + 1) + 1
    return gap or place


def _emphasised(found: _Marked, start: int, end: int) -> str:
    pieces, last = [], start
    for begin, close in _within(found, start, end):
        pieces += [found.text[last:begin], "**", found.text[begin:close], "**"]
        last = close
    return "".join([*pieces, found.text[last:end]])
