"""Groups questions that mean the same, by the words that they share.

It knows no language: words are compared without their endings, and words that most questions have
are left out. `group_similar` is the only function that others use.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")
STOP_WORDS: Final = frozenset(
    WORD.findall("""
    a about after all am an and any are as at be because been but by can cannot could did do does
    doing for from get got had has have having hello hey hi how i if in into is it its just let me
    my need no not of on or our out please so some still tell than thank thanks that the their then
    there these they this to too try trying up us use using want was we what when where which who
    why will with would you your
    """)
)
# The longest ending comes first.
ENDINGS: Final = ("ations", "ation", "ments", "ment", "ings", "ing", "ied", "ies", "ed", "es", "s")
SHORTEST_STEM: Final = 3
# Shared words of two questions, counted twice, divided by the words of both (Dice coefficient).
ALIKE: Final = 0.6


def group_similar(questions: Sequence[str]) -> list[list[int]]:
    """Returns the numbers of the questions of each group, the largest group first.

    The first number of a group is that of the question that the others are alike to.
    """
    by_words: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, question in enumerate(questions):
        by_words[_words(question)].append(number)
    # Frequent questions come first, so that groups form around them.
    ordered = sorted(by_words.items(), key=lambda item: (-len(item[1]), item[1][0]))
    groups: dict[frozenset[str], list[int]] = {}
    with_word: dict[str, list[frozenset[str]]] = defaultdict(list)
    for words, numbers in ordered:
        group = _closest(words, with_word)
        if group is None:
            groups[words] = list(numbers)
            for word in words:
                with_word[word].append(words)
        else:
            groups[group].extend(numbers)
    return sorted(groups.values(), key=lambda numbers: (-len(numbers), numbers[0]))


def _closest(
    words: frozenset[str], with_word: dict[str, list[frozenset[str]]]
) -> frozenset[str] | None:
    shared: dict[frozenset[str], int] = defaultdict(int)
    for word in words:
        for other in with_word.get(word, ()):
            shared[other] += 1
    alike = {other: 2 * many / (len(words) + len(other)) for other, many in shared.items()}
    best = max(alike, key=lambda other: alike[other], default=None)
    return best if best is not None and alike[best] >= ALIKE else None


def _words(question: str) -> frozenset[str]:
    found = WORD.findall(question.casefold())
    kept = frozenset(_stem(word) for word in found if word not in STOP_WORDS)
    return kept or frozenset(found)


@lru_cache(maxsize=10_000)
def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word
