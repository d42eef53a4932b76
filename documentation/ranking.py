"""Ranks sections by how well they match single terms.

Both databases only return how strongly a section matches one term, in different units. Everything
else is computed here, so that both give the same order:

- a strength is relative to the strongest match of its term, which removes the unit;
- a word has more weight if fewer of the sections found have it: ln(1 + found / holding);
- a section that lacks words loses their weight, in addition to not earning it;
- words that are adjacent as in the question add a bonus.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from documentation.query import DocumentationQuery, Term

# The weight of a longer word that only begins with the last word of the question.
BEGUN_WORTH: Final = 0.4
# The weight of words that differ by a typing error from one that no section has.
NEAR_WORTH: Final = 0.8
NEARNESS_WORTH: Final = 0.5
# The remaining part of a section's relevance if it has almost none of the words.
LEAST_COVERED: Final = 0.3
MAX_PER_PAGE: Final = 2
DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A term to look up: a word of the question, or two adjacent words."""

    term: Term
    word: str = ""
    worth: float = 1.0


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A section matches the term at an index of the list, with a strength relative to the term."""

    term: int
    section: int
    page: str
    strength: float


@dataclass(frozen=True, slots=True)
class MarkedSection:
    """A section whose text has OPENED and CLOSED (`documentation/snippet.py`) around matches."""

    page: str
    page_title: str
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Ranked:
    """A section with its score, from 0 to 1.5: 1 is the best match of each word."""

    section: int
    page: str
    score: float


def terms_of(query: DocumentationQuery, begun: Sequence[str]) -> list[SearchTerm]:
    """Lists the terms of a query; `begun` holds known words that begin with its last word."""
    words = [SearchTerm(((word,),), word) for word in query.words]
    longer = SearchTerm(tuple((word,) for word in begun), query.beginning, BEGUN_WORTH)
    pairs = [SearchTerm((pair,)) for pair in query.pairs]
    return [*words, *([longer] if begun else []), *pairs]


def weigh_question(
    words: Sequence[str], terms: Sequence[SearchTerm], matches: Sequence[TermMatch]
) -> tuple[float, tuple[str, ...]]:
    """Returns how much of a question the section has that has the most of it, from 0 to 1.

    And the words that no section has. Such a word weighs as much as one that a single section has.
    """
    having: dict[str, set[int]] = defaultdict(set)
    every: set[int] = set()
    for match in matches:
        every.add(match.section)
        having[terms[match.term].word].add(match.section)
    shares: dict[int, float] = defaultdict(float)
    total = 0.0
    for word in words:
        weight = log(1 + len(every) / max(len(having[word]), 1))
        total += weight
        for section in having[word]:
            shares[section] += weight
    missing = tuple(word for word in words if not having[word])
    return max(shares.values(), default=0) / (total or 1.0), missing


def rank(terms: Sequence[SearchTerm], matches: Sequence[TermMatch]) -> list[Ranked]:
    """Sorts sections best first, at most two of a page; equal scores keep the index's order."""
    found = _collect_sections(terms, matches)
    weights = _weights(found.values())
    pairs = sum(not one.word for one in terms)
    ranked = [
        Ranked(section, one.page, round(_score(one, weights, pairs), DIGITS))
        for section, one in found.items()
    ]
    return list(_spread(sorted(ranked, key=lambda one: (-one.score, one.section))))


@dataclass(slots=True)
class _Found:
    """The matches of a section: relative to the strongest match, 0 to 1."""

    page: str
    words: dict[str, float] = field(default_factory=dict)
    near: float = 0.0

    def add(self, term: SearchTerm, share: float) -> None:
        if not term.word:
            self.near += share
            return
        self.words[term.word] = max(self.words.get(term.word, 0.0), share * term.worth)


def _collect_sections(
    terms: Sequence[SearchTerm], matches: Sequence[TermMatch]
) -> dict[int, _Found]:
    strongest: dict[int, float] = defaultdict(float)
    for match in matches:
        strongest[match.term] = max(strongest[match.term], match.strength)
    found: dict[int, _Found] = {}
    for match in matches:
        section = found.get(match.section)
        if section is None:
            section = found[match.section] = _Found(match.page)
        section.add(terms[match.term], match.strength / strongest[match.term])
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
    # A long page would otherwise push all others off the list.
    seen: Counter[str] = Counter()
    for one in ranked:
        seen[one.page] += 1
        if seen[one.page] <= MAX_PER_PAGE:
            yield one
