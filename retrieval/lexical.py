"""An offline reranker: how much of a query a passage has, where, and how close together."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from retrieval import words
from retrieval.interfaces import Passage

# What a synonym counts where the word itself counts 1.
SYNONYM: Final = 0.7
HEADING: Final = 0.5
NEARNESS: Final = 0.3
# How much the order counts in which the passages come, and how fast that decreases.
ORDER: Final = 0.75
ORDER_HALVED_AT: Final = 10
MAX_STEMS: Final = 1_000
MAX_OCCURRENCES: Final = 8


@dataclass(frozen=True, slots=True)
class _Term:
    """A stem of the query, or nothing for a phrase, and the groups of synonyms it belongs to."""

    stem: str
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Read:
    """The stems of a passage, with their positions in the text, and its groups of synonyms."""

    heading: frozenset[str]
    heading_groups: frozenset[str]
    places: Mapping[str, Sequence[int]]
    groups: frozenset[str]


class LexicalReranker:
    """Implements `retrieval.interfaces.Reranker` without a model.

    A word has more weight if fewer of the passages have it.
    """

    name = "lexical-1"

    def scores(self, query: str, passages: Sequence[Passage]) -> list[float]:
        stems = list(dict.fromkeys(words.stems(query)))
        terms = _terms(stems)
        read = [_read(passage) for passage in passages]
        shares = [[_shares(term, one) for term in terms] for one in read]
        weights = _weights(shares, len(terms))
        return [
            _score(_match_score(shares[place], weights), _nearness(stems, one), place)
            for place, one in enumerate(read)
        ]


def _score(matched: float, nearness: float, place: int) -> float:
    if not matched:
        return 0.0
    order = ORDER_HALVED_AT / (ORDER_HALVED_AT + place)
    return matched + NEARNESS * nearness + ORDER * order


def _terms(stems: Sequence[str]) -> list[_Term]:
    single = [_Term(stem, frozenset(words.groups_of(stem))) for stem in stems]
    phrases = [frozenset(words.groups_of(" ".join(pair))) for pair in pairwise(stems)]
    return [*single, *(_Term("", groups) for groups in phrases if groups)]


@lru_cache(maxsize=4_096)
def _read(passage: Passage) -> _Read:
    heading = words.stems(f"{passage.title} {passage.heading}")
    text = words.stems(passage.text)[:MAX_STEMS]
    places: dict[str, list[int]] = {}
    for place, stem in enumerate(text):
        places.setdefault(stem, []).append(place)
    return _Read(
        heading=frozenset(heading),
        heading_groups=_all_groups(heading),
        places=places,
        groups=_all_groups(text),
    )


def _all_groups(stems: Sequence[str]) -> frozenset[str]:
    return frozenset(group for groups in words.groups(stems) for group in groups)


def _shares(term: _Term, read: _Read) -> tuple[float, float]:
    """Returns how well the heading and the text have a term, each from 0 to 1."""
    in_heading = 1.0 if term.stem in read.heading else _synonym(term, read.heading_groups)
    in_text = 1.0 if term.stem in read.places else _synonym(term, read.groups)
    return in_heading, in_text


def _synonym(term: _Term, groups: frozenset[str]) -> float:
    return 0.0 if term.groups.isdisjoint(groups) else SYNONYM


def _weights(shares: Sequence[Sequence[tuple[float, float]]], terms: int) -> list[float]:
    """Returns the weight of each term; those that any passage has add up to 1."""
    having = [sum(1 for each in shares if max(each[term]) > 0) for term in range(terms)]
    weights = [math.log(1 + len(shares) / (count + 0.5)) if count else 0.0 for count in having]
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def _match_score(shares: Sequence[tuple[float, float]], weights: Sequence[float]) -> float:
    pairs = list(zip(weights, shares, strict=True))
    covered = sum(weight * max(share) for weight, share in pairs)
    return covered + HEADING * sum(weight * heading for weight, (heading, _) in pairs)


def _nearness(stems: Sequence[str], read: _Read) -> float:
    """Returns 1 if adjacent words of the query are adjacent in the text, less if they are not."""
    if len(stems) <= 1:
        return 0.0
    return sum(_closeness(read, pair) for pair in pairwise(stems)) / (len(stems) - 1)


def _closeness(read: _Read, pair: tuple[str, str]) -> float:
    first, second = (read.places.get(stem, ())[:MAX_OCCURRENCES] for stem in pair)
    if not first or not second:
        return 0.0
    return 1 / min(abs(a - b) for a in first for b in second)
