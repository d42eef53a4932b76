"""Searches of the documentation, as `./run bench search` compares them.

Only the first one is used, and why is in docs/decisions/0055-documentation-search-by-words.md.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

from documentation import fulltext, index, ranking
from documentation.models import DocumentationSection
from documentation.query import Query
from documentation.search import _begun_with
from retrieval import configured
from retrieval.fusion import fused
from retrieval.interfaces import Passage, stored
from retrieval.vectors import VectorIndex

FOUND: Final = 50
RERANKED: Final = 10
RERANKED_OF_BOTH: Final = 40
VECTORS_WEIGHT: Final = 2.0
REPEATED: Final = 5

Ids = list[int]


class Sections:
    """The sections of the documentation, and their vectors."""

    def __init__(self, folder: Path) -> None:
        index.refresh(folder)
        rows = list(DocumentationSection.objects.order_by("pk"))
        self.rows = {row.pk: row for row in rows}
        self.passages = {row.pk: Passage(row.page_title, row.heading, row.text) for row in rows}
        vectors = configured.embedder().passages(list(self.passages.values()))
        pairs = zip(self.passages, vectors, strict=True)
        self.vectors = VectorIndex.of((number, stored(vector)) for number, vector in pairs)
        self.pages = {row.page for row in rows}

    def names(self, ids: Ids) -> list[str]:
        return [f"{self.rows[number].page}#{self.rows[number].heading}" for number in ids]

    def by_words(self, text: str) -> Ids:
        question = Query.parse(text)
        if not question.words:
            return []
        terms = ranking.terms_of(question, _begun_with(question.beginning))
        matches = fulltext.here().matches([one.term for one in terms])
        return [one.section for one in ranking.rank(terms, matches)]

    def by_vectors(self, text: str) -> Ids:
        found = self.vectors.nearest(configured.embedder().query(text), FOUND)
        return [number for number, _ in found]

    def both(self, text: str) -> Ids:
        lists = [(self.by_words(text)[:FOUND], 1.0), (self.by_vectors(text), VECTORS_WEIGHT)]
        return [number for number, _ in fused(lists)]

    def reranked(self, text: str, ids: Ids) -> Ids:
        reranker = configured.reranker()
        if reranker is None:
            return ids
        scores = reranker.scores(text, [self.passages[number] for number in ids])
        return [number for _, number in sorted(zip(scores, ids, strict=True), reverse=True)]


def compared(
    folder: Path, parts: Mapping[str, Sequence[Any]], measured: Callable[..., Any]
) -> Iterator[tuple[str, str, Any, dict[str, float]]]:
    """Yields (set, search, quality, latency) of the questions whose passages are in a folder."""
    sections = Sections(folder)
    ways: dict[str, Callable[[str], Ids]] = {
        "words": sections.by_words,
        "words, reranked": lambda text: sections.reranked(text, sections.by_words(text)[:RERANKED]),
        "vectors": sections.by_vectors,
        "both": sections.both,
        "both, reranked": lambda text: sections.reranked(
            text, sections.both(text)[:RERANKED_OF_BOTH]
        ),
    }
    for name, asked in parts.items():
        chosen = [
            one
            for one in asked
            if all(passage.partition("#")[0] in sections.pages for passage in one.passages)
        ]
        for way, find in ways.items():
            quality = measured(lambda text, find=find: sections.names(find(text)), chosen)
            yield f"documentation, {name} ({len(chosen)})", way, quality, _cpu(find, chosen)


def _cpu(find: Callable[[str], Ids], asked: Sequence[Any]) -> dict[str, float]:
    """The CPU time of a search in ms: the least of several, so that no other process counts."""
    least = []
    for question in asked:
        taken = []
        for _ in range(REPEATED):
            start = time.process_time()
            find(question.text)
            taken.append((time.process_time() - start) * 1000)
        least.append(min(taken))
    cuts = quantiles(least, n=20)
    return {"p50": cuts[9], "p95": cuts[18]}
