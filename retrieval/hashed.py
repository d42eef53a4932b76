"""An offline embedder: words, parts of words and synonyms, projected into 512 dimensions.

It is no language model: texts are similar if they share words, parts of words, or words of one
group in `synonyms.txt`. It needs no download and gives the same vectors on every machine.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import numpy as np

from retrieval import words
from retrieval.interfaces import Matrix, Passage, Vector, normalize_rows

# Part of the name: increment it when the same text gives another vector than before.
REVISION: Final = 2
DIMENSIONS: Final = 512
# Each feature adds to this many dimensions, with a sign each (a sparse random projection:
# Achlioptas, "Database-friendly random projections").
PLACES: Final = 8
HEADING_COUNTS: Final = 3
# The weights of each kind of feature, by its first letter: a stem, a group of synonyms, two
# adjacent stems, and three or four adjacent characters (docs/decisions/0051-hybrid-search.md).
WEIGHTS: Final = {"s": 1.0, "c": 1.25, "b": 0.5, "g": 0.15}
GRAMS: Final = (3, 4)
# A passage of more words is cut: its vector would be no more than an average.
MAX_STEMS: Final = 2_000


class HashedEmbedder:
    """Implements `retrieval.interfaces.Embedder` without a model."""

    @property
    def name(self) -> str:
        return f"hashed-{REVISION}-{words.synonyms_digest()}"

    def passages(self, passages: Sequence[Passage]) -> Matrix:
        rows = [self._vector(self._count_features(passage)) for passage in passages]
        return np.stack(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)

    def query(self, query: str) -> Vector:
        return self._vector(_features(query))

    def _count_features(self, passage: Passage) -> dict[str, float]:
        counted = _features(f"{passage.title} {passage.text}")
        for feature, count in _features(passage.heading).items():
            counted[feature] = counted.get(feature, 0.0) + HEADING_COUNTS * count
        return counted

    def _vector(self, counted: dict[str, float]) -> Vector:
        if not counted:
            return np.zeros(DIMENSIONS, np.float32)
        # Repeated words count less each time.
        weights = [WEIGHTS[feature[0]] * math.sqrt(count) for feature, count in counted.items()]
        projected = [_project_feature(feature) for feature in counted]
        places = np.concatenate([place for place, _ in projected])
        signs = np.concatenate([sign for _, sign in projected])
        values = signs * np.repeat(np.array(weights, np.float32), PLACES)
        return normalize_rows(np.bincount(places, weights=values, minlength=DIMENSIONS))


def _features(text: str) -> dict[str, float]:
    stems = words.stems(text)[:MAX_STEMS]
    counted: dict[str, float] = dict(Counter(f"s{stem}" for stem in stems))
    for first, second in pairwise(stems):
        pair = f"b{first} {second}"
        counted[pair] = counted.get(pair, 0) + 1
    for groups in words.groups(stems):
        for group in groups:
            # A word of several groups is less likely to mean each of them.
            feature = f"c{group}"
            counted[feature] = counted.get(feature, 0) + 1 / math.sqrt(len(groups))
    for stem in stems:
        for gram in _grams(stem):
            counted[gram] = counted.get(gram, 0) + 1
    return counted


@lru_cache(maxsize=16_384)
def _grams(stem: str) -> tuple[str, ...]:
    return tuple(_cut(f"<{stem}>"))


def _cut(bounded: str) -> Iterator[str]:
    for length in GRAMS:
        for start in range(len(bounded) - length + 1):
            yield f"g{bounded[start : start + length]}"


@lru_cache(maxsize=65_536)
def _project_feature(feature: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the dimensions that a feature adds to, and the sign at each."""
    digest = blake2b(feature.encode(), digest_size=2 * PLACES).digest()
    numbers = np.frombuffer(digest, "<u2")
    signs = np.where(numbers & 0x8000, 1.0, -1.0).astype(np.float32)
    return numbers % DIMENSIONS, signs
