"""Merges ranked lists whose scores cannot be compared.

Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

# The paper has 60, for long lists; the lists here have 50 entries at most.
OFFSET: Final = 10


def fuse_rankings(ranked: Iterable[tuple[Sequence[int], float]]) -> list[tuple[int, float]]:
    """Returns each id of the lists once with its score, best first.

    Each list, best first, comes with its weight. An id scores the sum of weight / (10 + rank) over
    the lists; equal scores are in the order of ids.
    """
    scores: dict[int, float] = defaultdict(float)
    for ids, weight in ranked:
        for rank, each in enumerate(ids, start=1):
            scores[each] += weight / (OFFSET + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
