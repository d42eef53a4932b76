"""Searches the passages of an organization by words and by meaning."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import structlog
from django.conf import settings

from foundation import links
from foundation.db.statements import Statement
from knowledge import full_text
from knowledge.hits import KnowledgeHit
from retrieval import configured
from retrieval.fusion import fuse_rankings
from retrieval.interfaces import Passage, RetrievalUnavailable, Vector
from retrieval.vectors import IndexCache, VectorIndex
from workspace import access as gatekeeper
from workspace.access import Access
from workspace.models import KnowledgeChunk

log = structlog.get_logger(__name__)

# How many passages each of both searches finds, and how many of them are reranked.
FOUND: Final = 50
RERANKED: Final = 40
# A vector is worth two words: the retrieval set says so (docs/decisions/0051-hybrid-search.md).
WORDS_WEIGHT: Final = 1.0
VECTORS_WEIGHT: Final = 2.0
DIGITS: Final = 4
VERSION: Final = Statement(
    "SELECT version FROM workspace_knowledgeindex WHERE organization_id = %s"
)


def search(access: Access, query: str, *, source: str = "", limit: int = 5) -> list[KnowledgeHit]:
    """Returns the passages that best answer a query, best first.

    `source` is the id or the title of a source, or empty for all. An unknown one finds nothing.
    Without an answer of the embedder or the reranker, the result is that of the words alone, or in
    the order before reranking. Raises CannotNarrow for a bound call.
    """
    # The check of the binding comes first: no statement of another module is made before.
    sources = gatekeeper.knowledge_sources(access)
    source_id = ""
    if source:
        known = list(sources.filter(pk=source)[:1]) or list(
            sources.filter(title__iexact=source)[:1]
        )
        if not known:
            return []
        source_id = known[0].pk
    by_words = full_text.rank_passages(access, query, source_id, FOUND)
    by_vectors = nearest(access, query, source_id)
    merged = fuse_rankings([(by_words, WORDS_WEIGHT), (by_vectors, VECTORS_WEIGHT)])
    return _rerank_hits(query, read(access, merged[:RERANKED]))[:limit]


def nearest(access: Access, query: str, source_id: str = "") -> list[int]:
    """Returns the ids of the passages nearest in meaning, best first; none without an embedder."""
    embedder = configured.embedder()
    vector = _vector(query)
    if vector is None:
        return []
    version = VERSION.row(access.organization_id)
    owner = (access.organization_id, embedder.name)
    index = _cache().get_or_load(owner, version, lambda: _load(access, embedder.name))
    among = None
    if source_id:
        chunks = gatekeeper.knowledge_chunks(access).filter(source=source_id)
        among = chunks.values_list("pk", flat=True)
    return [number for number, _ in index.nearest(vector, FOUND, among)]


def _vector(query: str) -> Vector | None:
    try:
        return configured.embedder().query(query)
    except RetrievalUnavailable as unavailable:
        log.warning("knowledge_embedder_unavailable", reason=str(unavailable))
        return None


def _load(access: Access, embedder: str) -> VectorIndex:
    chunks = gatekeeper.knowledge_chunks(access).filter(embedder=embedder, embedding__isnull=False)
    rows = chunks.order_by("pk").values_list("pk", "embedding")
    return VectorIndex.from_rows(
        (number, bytes(vector or b"")) for number, vector in rows.iterator(2_000)
    )


@cache
def _cache() -> IndexCache:
    return IndexCache(settings.HALO_VECTOR_MEMORY * 1_048_576)


def read(access: Access, merged: Sequence[tuple[int, float]]) -> list[KnowledgeHit]:
    """Returns the passages in the order given; some may have been removed since."""
    ids = [number for number, _ in merged]
    chunks = gatekeeper.knowledge_chunks(access).filter(pk__in=ids).select_related("source")
    found = {chunk.pk: chunk for chunk in chunks.defer("embedding", "source__original")}
    return [_hit(found[number], score) for number, score in merged if number in found]


def _hit(chunk: KnowledgeChunk, score: float) -> KnowledgeHit:
    return KnowledgeHit(
        id=chunk.pk,
        title=chunk.title,
        heading=chunk.heading,
        # Those of sources that were added before addresses were checked, too.
        url=chunk.url if links.is_web_address(chunk.url) else "",
        source_id=chunk.source_id,
        source=str(chunk.source),
        position=chunk.position,
        text=chunk.text,
        score=round(score, DIGITS),
    )


def _rerank_hits(query: str, hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
    reranker = configured.reranker()
    if reranker is None or not hits:
        return list(hits)
    passages = [Passage(hit.title, hit.heading, hit.text) for hit in hits]
    try:
        scores = reranker.scores(query, passages)
    except RetrievalUnavailable as unavailable:
        log.warning("knowledge_reranker_unavailable", reason=str(unavailable))
        return list(hits)
    scored = [
        replace(hit, score=round(score, DIGITS))
        for hit, score in zip(hits, scores, strict=True)
        if score > 0
    ]
    return sorted(scored, key=lambda hit: -hit.score)
