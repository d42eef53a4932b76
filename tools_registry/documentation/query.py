"""A question in plain language, as the terms that a full-text index is asked for.

Words are cut the way both indexes cut text, at everything that is no letter and no digit, so no
character of a question can be taken for an operator.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

MOST_WORDS: Final = 32
LONGEST_WORD: Final = 64
SHORTEST_PREFIX: Final = 2
# From one word of a pair to the other: room for "of the".
WIDEST_PAIR: Final = 3
WORD: Final = re.compile(r"[^\W_]+")
# Words that questions are made of and pages are not told apart by. PostgreSQL's english
# configuration drops most of them by itself; FTS5 has no such list.
STOP_WORDS: Final = frozenset(
    WORD.findall("""
    a about above after again against all also am an and any are as at be because been before
    being below between both but by can cannot could d did do does doing don down during each else
    ever explain few find for from further get give had has have having he help her here hers
    herself him himself his how i if in into is it its itself just know let like ll m may me might
    more most must my myself need no nor not now of off on once only or other our ours ourselves
    out over own please re really s same shall she should show so some such t tell than that the
    their theirs them themselves then there these they this those through to too under until up us
    use used using ve very want was we were what when where whether which while who whom whose why
    will with without would you your yours yourself yourselves
    """)
)

# Words that stand side by side.
Phrase = tuple[str, ...]
# Phrases of which one is enough.
Term = tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """The words that count, in order, and each neighbouring two as they stood in the question.

    A pair keeps the stop words between its ends ("revoke a token"): the indexes know where in a
    text a word stands. `beginning` is the last word, which may be the start of a longer one, or
    nothing when it is too short for that. At most 32 words and 31 pairs.
    """

    words: tuple[str, ...]
    pairs: tuple[Phrase, ...]
    beginning: str

    @classmethod
    def parse(cls, question: str) -> Self:
        """Read a question of any length and content; one without a telling word is empty."""
        said = [word for word in WORD.findall(question.lower()) if len(word) <= LONGEST_WORD]
        telling = [place for place, word in enumerate(said) if word not in STOP_WORDS][:MOST_WORDS]
        last = said[telling[-1]] if telling else ""
        return cls(
            words=tuple(dict.fromkeys(said[place] for place in telling)),
            pairs=tuple(dict.fromkeys(_pairs(said, telling))),
            beginning=last if len(last) >= SHORTEST_PREFIX else "",
        )


def _pairs(said: list[str], telling: list[int]) -> Iterable[Phrase]:
    near = ((a, b) for a, b in pairwise(telling) if b - a <= WIDEST_PAIR)
    return (tuple(said[a : b + 1]) for a, b in near)
