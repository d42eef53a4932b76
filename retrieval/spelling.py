"""The words of passages, to find those that are spelled nearly like a word of a question."""

import sys
from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

# Of the letters that two words share; one error in a word of six letters is above it.
SIMILAR: Final = 0.82
SHORTEST: Final = 4
MAX_FOUND: Final = 3
LENGTH_APART: Final = 2


class Vocabulary:
    """Distinct words, by their first letter: a typing error is rarely there."""

    def __init__(self, texts: Iterable[str]) -> None:
        every: set[str] = set()
        for text in texts:
            every.update(text.split())
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for word in sorted(every):
            if word.isalpha() and len(word) >= SHORTEST:
                self._by_letter[word[0]].append(word)
        self.size: Final = sum(map(sys.getsizeof, every))

    def find_near(self, word: str) -> list[str]:
        """Returns the words that differ by a typing error or two, nearest first."""
        if len(word) < SHORTEST:
            return []
        among = [
            each
            for each in self._by_letter.get(word[0], ())
            if abs(len(each) - len(word)) <= LENGTH_APART
        ]
        return get_close_matches(word, among, n=MAX_FOUND, cutoff=SIMILAR)
