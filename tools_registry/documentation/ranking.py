"""From how well sections match single terms to the order in which a reader should meet them.

Both databases only say how strongly a section matches one term, in units of their own. All else
is decided here, so that the two give the same order:

- a strength counts relative to the strongest match of its term, which strips its unit;
- a word weighs the more the fewer of the sections found hold it: ln(1 + found / holding);
- a section that lacks words loses by their weight, beyond what it fails to earn for them;
- words that stand together as they did in the question earn a bonus.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from tools_registry.documentation.query import Query, Term

# What a longer word is worth that merely begins as the last word of the question does.
BEGUN_WORTH: Final = 0.4
NEARNESS_WORTH: Final = 0.5
# What is left of a section's relevance if it had next to none of the words.
LEAST_COVERED: Final = 0.3
MOST_OF_A_PAGE: Final = 2
DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A term to look up: for a word of the question, or, without one, for two words together."""

    term: Term
    word: str = ""
    worth: float = 1.0


@dataclass(frozen=True, slots=True)
class Match:
    """A section matches the term at a place of the list; strengths compare within that term."""

    term: int
    section: int
    page: str
    strength: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A section with its score, from 0 to 1.5: 1 is the best there is for each word."""

    section: int
    page: str
    score: float


def terms_of(query: Query, begun: Sequence[str]) -> list[Asked]:
    """List the terms of a query; `begun` holds known words that its last word is a beginning of."""
    words = [Asked(((word,),), word) for word in query.words]
    longer = Asked(tuple((word,) for word in begun), query.beginning, BEGUN_WORTH)
    pairs = [Asked((pair,)) for pair in query.pairs]
    return [*words, *([longer] if begun else []), *pairs]


def rank(asked: Sequence[Asked], matches: Sequence[Match]) -> list[Ranked]:
    """Order sections best first, at most two of a page; equal scores keep the index's order."""
    found = _gathered(asked, matches)
    weights = _weights(found.values())
    pairs = sum(not one.word for one in asked)
    ranked = [
        Ranked(section, one.page, round(_score(one, weights, pairs), DIGITS))
        for section, one in found.items()
    ]
    return list(_spread(sorted(ranked, key=lambda one: (-one.score, one.section))))


@dataclass(slots=True)
class _Found:
    """What a section holds of the question: shares of the strongest match, 0 to 1."""

    page: str
    words: dict[str, float] = field(default_factory=dict)
    near: float = 0.0

    def add(self, asked: Asked, share: float) -> None:
        if not asked.word:
            self.near += share
            return
        self.words[asked.word] = max(self.words.get(asked.word, 0.0), share * asked.worth)


def _gathered(asked: Sequence[Asked], matches: Sequence[Match]) -> dict[int, _Found]:
    strongest: dict[int, float] = defaultdict(float)
    for match in matches:
        strongest[match.term] = max(strongest[match.term], match.strength)
    found: dict[int, _Found] = {}
    for match in matches:
        section = found.setdefault(match.section, _Found(match.page))
        section.add(asked[match.term], match.strength / strongest[match.term])
    return found


def _weights(found: Collection[_Found]) -> dict[str, float]:
    holding = Counter(word for one in found for word in one.words)
    weights = {word: log(1 + len(found) / count) for word, count in holding.items()}
    return {word: weight / sum(weights.values()) for word, weight in weights.items()}


def _score(found: _Found, weights: Mapping[str, float], pairs: int) -> float:
    relevance = sum(weights[word] * share for word, share in found.words.items())
    covered = sum(weights[word] for word in found.words)
    nearness = found.near / pairs if pairs else 0.0
    return relevance * (LEAST_COVERED + (1 - LEAST_COVERED) * covered) + NEARNESS_WORTH * nearness


def _spread(ranked: Iterable[Ranked]) -> Iterator[Ranked]:
    # A page that has much to say would otherwise push every other one off the list.
    seen: Counter[str] = Counter()
    for one in ranked:
        seen[one.page] += 1
        if seen[one.page] <= MOST_OF_A_PAGE:
            yield one
