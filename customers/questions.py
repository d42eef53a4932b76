"""Groups questions that mean the same, by the words that they share.

Words are compared without their endings, in any order, and a word counts the more the fewer of the
questions have it. Questions that share no words stay apart whatever they mean, so a group is at
least as large as its count. `group_similar` is the only function that others use.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Final

from foundation.text.folding import fold

WORD: Final = re.compile(r"[^\W_]+")
# Words of any question, and those that ask whether there is something.
STOP_WORDS: Final = frozenset(
    WORD.findall("""
    a about after again all already also am an and any anybody anyone are as at available be because
    been but by can cannot could did do does doing ever every example exist existing exists feature
    features find for from get give given gives got had happen happening happens has have having
    hello hey hi how i if in into is it its just kind know let make many me mean means more most
    much my need never no not now of offer official on one only option options or other others our
    out please possible possibly really say says see seem seems show shows so some somebody someone
    still support supported tell than thank thanks that the their then there these they thing things
    this to too try trying up us use using very want wants was way ways we what when where which who
    why will with work working works would yet you your
    """)
)
# The longest ending comes first.
ENDINGS: Final = ("ations", "ation", "ments", "ment", "ings", "ing", "ied", "ies", "ed", "es", "s")
SHORTEST_STEM: Final = 3
# The weights of shared words, counted twice, by those of both questions (Dice coefficient).
# Measured on the questions of the demo data in 20 orders: of 108 pairs with one meaning 28 are
# joined on average, and 1.5 pairs with two. A lower one joins more of both.
ALIKE: Final = 0.48
# Numbers with fewer digits count something, and others are codes.
SHORTEST_CODE: Final = 3


def group_similar(questions: Sequence[str]) -> list[list[int]]:
    """Returns the numbers of the questions of each group, the largest group first.

    The first number of a group is that of the question that the others are alike to.
    """
    by_words: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        by_words[_words(question)].append(number)
    weights = _weigh(by_words)
    totals = {words: _sum_up(words, weights) for words in by_words}
    # Frequent questions come first, so that groups form around them.
    ordered = sorted(by_words.items(), key=lambda item: (-len(item[1]), item[1][0]))
    groups: dict[frozenset[str], list[int]] = {}
    with_word: dict[str, list[frozenset[str]]] = defaultdict(list)
    for words, numbers in ordered:
        group = _closest(words, with_word, weights, totals)
        if group is None:
            groups[words] = list(numbers)
            for word in words:
                with_word[word].append(words)
        else:
            groups[group].extend(numbers)
    return sorted(groups.values(), key=lambda numbers: (-len(numbers), numbers[0]))


def _weigh(wordings: Collection[frozenset[str]]) -> Mapping[str, float]:
    """Returns how much each word says: the more, the fewer of the wordings have it."""
    counts = Counter(word for words in wordings for word in words)
    return {word: log((len(wordings) + 1) / many) for word, many in counts.items()}


def _closest(
    words: frozenset[str],
    with_word: Mapping[str, Sequence[frozenset[str]]],
    weights: Mapping[str, float],
    totals: Mapping[frozenset[str], float],
) -> frozenset[str] | None:
    shared: dict[frozenset[str], float] = defaultdict(float)
    for word in sorted(words):
        for other in with_word.get(word, ()):
            shared[other] += weights[word]
    alike = {
        other: 2 * weight / (totals[words] + totals[other]) for other, weight in shared.items()
    }
    best = max(alike, key=lambda other: alike[other], default=None)
    return best if best is not None and alike[best] >= ALIKE else None


def _sum_up(words: frozenset[str], weights: Mapping[str, float]) -> float:
    # In the order of words: a sum of floats depends on it, and that of a set on the process.
    return sum(weights[word] for word in sorted(words))


def _words(question: str) -> frozenset[str]:
    found = WORD.findall(fold(question))
    kept = frozenset(_stem(word) for word in found if not _says_little(word))
    return kept or frozenset(found)


def _says_little(word: str) -> bool:
    return word in STOP_WORDS or (word.isdigit() and len(word) < SHORTEST_CODE)


@lru_cache(maxsize=10_000)
def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word
