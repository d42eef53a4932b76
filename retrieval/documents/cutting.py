"""Cuts the sections of a document into passages of bounded length."""

import re
from collections.abc import Iterator
from typing import Final

from retrieval.documents.sections import ParsedDocument
from retrieval.interfaces import Passage

# Long enough for a whole answer, short enough that a passage is about one thing.
MAX_CHARACTERS: Final = 1_500
MAX_NAME: Final = 300
# Where a text is cut, the best place first: paragraphs, lines, sentences, words.
BREAKS: Final = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"(?<=[.!?])\s+", r"\s+")))


def passages(document: ParsedDocument, title: str = "") -> list[Passage]:
    """Returns the passages of a document in order, each of one section.

    `title` replaces the document's own.
    """
    name = (title or document.title)[:MAX_NAME]
    return [
        Passage(name, section.heading[:MAX_NAME], text)
        for section in document.sections
        for text in _parts(section.text.strip())
    ]


def _parts(text: str) -> Iterator[str]:
    while len(text) > MAX_CHARACTERS:
        end = _end(text[: MAX_CHARACTERS + 1])
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    if text:
        yield text


def _end(window: str) -> int:
    """Returns where a passage ends: at the last good break of its second half."""
    for pattern in BREAKS:
        ends = [found.start() for found in pattern.finditer(window, MAX_CHARACTERS // 2)]
        if ends:
            return ends[-1]
    return MAX_CHARACTERS
