"""Converts a question in plain language to the terms of a full-text search.

Words are split as both indexes split text, at everything that is no letter and no digit, so no
character of a question is an operator.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

MAX_WORDS: Final = 32
MAX_WORD_LENGTH: Final = 64
SHORTEST_PREFIX: Final = 2
# The distance between the words of a pair: allows "of the".
WIDEST_PAIR: Final = 3
WORD: Final = re.compile(r"[^\W_]+")
# Stop words: PostgreSQL's english configuration drops most of them; FTS5 has no such list.
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

# Adjacent words.
Phrase = tuple[str, ...]
# Phrases of which one is enough.
Term = tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class DocumentationQuery:
    """The significant words in order, and each adjacent pair as in the question.

    A pair keeps the stop words between its ends ("revoke a token"), because the indexes store word
    positions. `beginning` is the last word, which may be the start of a longer one, or empty if it
    is too short for that. At most 32 words and 31 pairs.
    """

    words: tuple[str, ...]
    pairs: tuple[Phrase, ...]
    beginning: str

    @classmethod
    def parse(cls, question: str) -> Self:
        """Parses a question of any length and content; without a significant word it is empty."""
        said = [word for word in WORD.findall(question.lower()) if len(word) <= MAX_WORD_LENGTH]
        telling = [place for place, word in enumerate(said) if word not in STOP_WORDS][:MAX_WORDS]
        last = said[telling[-1]] if telling else ""
        return cls(
            words=tuple(dict.fromkeys(said[place] for place in telling)),
            pairs=tuple(dict.fromkeys(_pairs(said, telling))),
            beginning=last if len(last) >= SHORTEST_PREFIX else "",
        )


def _pairs(said: list[str], telling: list[int]) -> Iterable[Phrase]:
    near = ((a, b) for a, b in pairwise(telling) if b - a <= WIDEST_PAIR)
    return (tuple(said[a : b + 1]) for a, b in near)
