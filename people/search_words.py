"""The words that people are found by, and what a search looks for among them.

Words are folded, so that case, marks and apostrophes make no difference (`foundation.text`). A
search has to match the beginning of a word with each of its own words. Of a script that is written
without spaces, each two adjacent signs are a word, and so is the last sign: any part of a name is
found.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from foundation.text.columns import SearchTextField
from foundation.text.folding import compose, fold
from foundation.text.names import name_key
from foundation.text.words import (
    MAX_WORD,
    is_split_by_signs,
    list_umlaut_variants,
    make_index_words,
    split_words,
)

# Words of a search; more are refused.
MAX_SEARCHED: Final = 10
NAMES: Final = ("first_name", "last_name", "preferred_name")
SOURCES: Final = (*NAMES, "work_email", "job_title")
_RUN: Final = re.compile(r"[^\W_]+")


class PersonWordsField(SearchTextField):
    """The words that a person is found by. Triggers copy each to a row of PersonWord."""

    def make_words(self, row: Mapping[str, Any]) -> str:
        """Returns the words of the columns of a row, and their checksum."""
        words = list_words(row)
        return f" {' '.join(words)} |{self._checksum(row)}"


def list_words(row: Mapping[str, Any]) -> Sequence[str]:
    """Returns the words that a person with these columns is found by."""
    texts = [str(row.get(name) or "") for name in SOURCES]
    first, last, preferred = texts[: len(NAMES)]
    found = [word for text in texts for word in list_spellings(text)]
    # O'Brien is found as obrien too.
    found += [word for text in (first, last, preferred) for word in split_words(name_key(text))]
    signs = [last + first, first + last, last + preferred, preferred + last]
    found += [word for text in signs for word in split_words(text) if is_split_by_signs(word)]
    pieces = (piece[:MAX_WORD] for word in found for piece in _pieces(word))
    return list(dict.fromkeys(pieces))


def parse_search(search: str) -> Sequence[Sequence[str]]:
    """Returns the spellings of each word: a person has to have one that begins so, of every word.

    A word that is repeated is looked for once.
    """
    found: dict[tuple[str, ...], None] = {}
    for run in compose(search).split():
        words = split_words(run)
        others = [split_words(other) for other in list_umlaut_variants(run, "")]
        for place, word in enumerate(words):
            variants = [other[place] for other in others if len(other) == len(words)]
            pieces = _pieces(word)
            # The last sign ends a name, and need not end what is looked for.
            for piece in pieces[:-1] or pieces:
                spellings = (piece, *variants) if len(pieces) == 1 else (piece,)
                found[tuple(dict.fromkeys(one[:MAX_WORD] for one in spellings))] = None
    return list(found)


def is_sign(text: str) -> bool:
    """Whether a text is one character of a script that is written without spaces."""
    return len(text) == 1 and is_split_by_signs(fold(text))


def list_spellings(text: str) -> Iterator[str]:
    """Yields the words of a text, and those with ä, ö and ü also with ae, oe and ue."""
    yield from split_words(text)
    for run in _RUN.findall(compose(text)):
        for other in list_umlaut_variants(run, ""):
            yield from split_words(other)


def _pieces(word: str) -> Sequence[str]:
    """Returns each two adjacent signs and the last one; other words as they are."""
    return make_index_words(word).split() if is_split_by_signs(word) else [word]
