"""Cuts the sections of a document into passages of bounded length."""

import re
from collections.abc import Iterator
from typing import Final

from retrieval.documents.sections import PATH, ParsedDocument
from retrieval.interfaces import Passage

# Long enough for a whole answer, short enough that a passage is about one thing.
MAX_CHARACTERS: Final = 1_500
MAX_NAME: Final = 300
# The first row of a table, which every passage with its rows repeats; a longer one is not.
MAX_HEADER: Final = 500
CELLS: Final = " | "
# Where a text is cut, the best place first: paragraphs, lines, sentences, words.
BREAKS: Final = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"(?<=[.!?])\s+", r"\s+")))


def passages(document: ParsedDocument, title: str = "") -> list[Passage]:
    """Returns the passages of a document in order, each of one section.

    `title` replaces the document's own, which then is above the headings.
    """
    own = document.title[:MAX_NAME]
    return [
        replace_title(Passage(own, _limit_path(section.heading), text), title)
        for section in document.sections
        for text in _parts(section.text.strip())
    ]


def replace_title(passage: Passage, title: str) -> Passage:
    """Returns a passage with another title; that of the document is above the headings then."""
    own, name = passage.title, title[:MAX_NAME]
    if not name or name == own:
        return passage
    is_above = not own or passage.heading.split(PATH)[0] == own
    path = passage.heading if is_above else PATH.join(filter(None, (own, passage.heading)))
    return Passage(name, _limit_path(path), passage.text)


def _limit_path(path: str) -> str:
    """Returns a path of headings without as many of the outermost ones as are too long."""
    while len(path) > MAX_NAME and PATH in path:
        path = path.partition(PATH)[2]
    return path[:MAX_NAME]


def _parts(text: str) -> Iterator[str]:
    while len(text) > MAX_CHARACTERS:
        end = _end(text[: MAX_CHARACTERS + 1])
        yield text[:end].rstrip()
        header = _find_header(text, end)
        text = header + text[end:].lstrip("\n" if header else None)
    if text:
        yield text


def _end(window: str) -> int:
    """Returns where a passage ends: at the last good break of its second half."""
    for pattern in BREAKS:
        ends = [found.start() for found in pattern.finditer(window, MAX_CHARACTERS // 2)]
        if ends:
            return ends[-1]
    return MAX_CHARACTERS


def _find_header(text: str, end: int) -> str:
    """Returns the line with the header of the table that a cut between two rows divides, or "".

    Readers write tables as a block of lines with this mark between two cells; code is indented.
    """
    if text[end : end + 1] != "\n" or text[end : end + 2] == "\n\n":
        return ""
    rows = text[text.rfind("\n\n", 0, end) + 1 : end].strip("\n").splitlines()
    following = text[end + 1 :].partition("\n")[0]
    if len(rows) < 2 or len(rows[0]) > MAX_HEADER:  # noqa: PLR2004  the header and a row
        return ""
    is_table = all(CELLS in row and row[0] != " " for row in (*rows, following))
    return f"{rows[0]}\n" if is_table else ""
