"""Searches the passages of an organization by words and by meaning."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import structlog
from django.conf import settings
from django.db.models import F, QuerySet

from foundation import links
from foundation.db.statements import Statement
from foundation.text.folding import fold
from foundation.text.words import END
from knowledge import full_text
from knowledge.full_text import PassageScope
from knowledge.hits import AmbiguousSource, KnowledgeAnswer, KnowledgeHit, SourceCandidate
from retrieval import configured
from retrieval.fusion import fuse_rankings
from retrieval.interfaces import Passage, RetrievalUnavailable, Vector
from retrieval.questions import FITS, PassageQuestion, QuestionScorer
from retrieval.spelling import Vocabulary
from retrieval.vectors import IndexCache, VectorIndex
from workspace import access as gatekeeper
from workspace.access import Access
from workspace.models import KnowledgeChunk, KnowledgeSource

log = structlog.get_logger(__name__)

# How many passages each of both searches finds, and how many a model ranks.
FOUND: Final = 50
RERANKED: Final = 40
# A vector is worth two words: the retrieval set says so (docs/decisions/0051-hybrid-search.md).
WORDS_WEIGHT: Final = 1.0
VECTORS_WEIGHT: Final = 2.0
# The parts of a score: how much of the query a passage has, where it has it, and its place among
# those nearest in meaning; and how fast the last decreases. The words are in the first two already.
SHARE: Final = 0.6
PLACED: Final = 0.25
MEANING: Final = 0.15
MEANING_HALVED_AT: Final = 20
# Of passages that do not fit, where none does.
MAX_NEAREST: Final = 3
DIGITS: Final = 4
# Words of passages in memory, in bytes, of each process.
VOCABULARY_MEMORY: Final = 64 * 1_048_576
VERSION: Final = Statement(
    "SELECT version FROM workspace_knowledgeindex WHERE organization_id = %s"
)
WORDS_FIELD: Final = KnowledgeChunk._meta.get_field("search_text")


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A question, the passages that have each of its terms, and how many passages there are."""

    question: PassageQuestion
    having: Sequence[Sequence[int]]
    passages: int

    @property
    def counts(self) -> list[int]:
        return [len(ids) for ids in self.having]

    @property
    def missing(self) -> tuple[str, ...]:
        pairs = zip(self.question.terms, self.having, strict=True)
        return tuple(dict.fromkeys(term.typed for term, ids in pairs if not ids))


def search(access: Access, query: str, *, source: str = "", limit: int = 5) -> KnowledgeAnswer:
    """Returns the passages that best answer a query, best first.

    `source` is the id or the title of a source, or empty for all. An unknown one finds nothing.
    Without an answer of the embedder or the reranker, the result is that of the words alone. With
    the offline models nothing fits if all passages have little of the query: hits are empty then.
    Raises CannotNarrow for a bound call, and AmbiguousSource for a title of several sources.
    """
    # The check of the binding comes first: no statement of another module is made before.
    sources = gatekeeper.knowledge_sources(access)
    source_id = _find_source(sources, source) if source else ""
    if source_id is None:
        return KnowledgeAnswer()
    scope = PassageScope(access, source_id)
    index = _index(access)
    lookup = _look_up(scope, PassageQuestion.parse(query), index.count)
    by_vectors = _find_nearest(scope, query, index)
    chunks = _read(access, _merge(scope, lookup, by_vectors))
    hits, fits = _rank(query, lookup, chunks, by_vectors)
    answer = KnowledgeAnswer(ignored=lookup.question.ignored, missing=lookup.missing)
    if fits:
        return replace(answer, hits=hits[:limit])
    return replace(answer, nearest=hits[: min(limit, MAX_NEAREST)])


def _find_source(sources: QuerySet[KnowledgeSource], named: str) -> str | None:
    """Returns the id of the source with an id or a title, or None. Raises AmbiguousSource."""
    if sources.filter(pk=named).exists():
        return named
    rows = sources.order_by("-created_at", "-pk").values_list("pk", "title", "url", "created_at")
    key = fold(named)
    same = [
        SourceCandidate(number, added_at)
        for number, title, url, added_at in rows
        if fold(title or url or number) == key
    ]
    if len(same) > 1:
        raise AmbiguousSource(same)
    return same[0].id if same else None


def _look_up(scope: PassageScope, question: PassageQuestion, passages: int) -> _Lookup:
    """Finds the passages with each term; those that no passage has, by near spellings."""
    having = full_text.find_having(scope, [term.index_forms for term in question.terms])
    counts = [len(ids) for ids in having]
    if not all(counts):
        vocabulary = _vocabulary(scope.access)
        question = question.with_near(vocabulary.find_near, counts)
        again = [place for place, term in enumerate(question.terms) if term.near]
        found = full_text.find_having(scope, [question.terms[place].index_forms for place in again])
        for place, ids in zip(again, found, strict=True):
            having[place] = ids
    return _Lookup(question, having, passages)


def _merge(scope: PassageScope, lookup: _Lookup, by_vectors: Sequence[int]) -> list[int]:
    """Returns the ids of the passages that are compared, by both searches, best first."""
    by_words = _rank_by_words(lookup)
    unfilled = full_text.find_unfilled(scope, _list_words(lookup.question))
    merged = fuse_rankings(
        [
            (by_words[:FOUND], WORDS_WEIGHT),
            (unfilled, WORDS_WEIGHT),
            (by_vectors, VECTORS_WEIGHT),
        ]
    )
    return [number for number, _ in merged]


def _rank_by_words(lookup: _Lookup) -> list[int]:
    """Returns the ids of the passages with terms, those with the most and the rarest first."""
    # As the scorer weights them, without the places of the words.
    scorer = QuestionScorer(lookup.question, lookup.counts, lookup.passages)
    weights: dict[int, float] = defaultdict(float)
    for weight, ids in zip(scorer.weights, lookup.having, strict=True):
        for number in ids:
            weights[number] += weight
    return sorted(weights, key=lambda number: (-weights[number], number))


def _list_words(question: PassageQuestion) -> list[str]:
    words = (word for term in question.terms for form in term.forms for word in form)
    return list(dict.fromkeys(word.removesuffix("*") for word in words))


def rank_by_words(access: Access, query: str, limit: int) -> list[int]:
    """Returns the ids of the passages that have words of a query, best first."""
    lookup = _look_up(PassageScope(access), PassageQuestion.parse(query), _index(access).count)
    return _rank_by_words(lookup)[:limit]


def rank_by_vectors(access: Access, query: str, limit: int) -> list[int]:
    """Returns the ids of the passages nearest in meaning, best first; none without an embedder."""
    return _find_nearest(PassageScope(access), query, _index(access))[:limit]


def _find_nearest(scope: PassageScope, query: str, index: VectorIndex) -> list[int]:
    vector = _vector(query)
    if vector is None:
        return []
    among = None
    if scope.source_id:
        chunks = gatekeeper.knowledge_chunks(scope.access).filter(source=scope.source_id)
        among = chunks.values_list("pk", flat=True)
    return [number for number, _ in index.nearest(vector, FOUND, among)]


def _vector(query: str) -> Vector | None:
    try:
        return configured.embedder().query(query)
    except RetrievalUnavailable as unavailable:
        log.warning("knowledge_embedder_unavailable", reason=str(unavailable))
        return None


def _index(access: Access) -> VectorIndex:
    embedder = configured.embedder().name
    version = VERSION.row(access.organization_id)
    owner = (access.organization_id, embedder)
    return _vectors().get_or_load(owner, version, lambda: _load(access, embedder))


def _load(access: Access, embedder: str) -> VectorIndex:
    chunks = gatekeeper.knowledge_chunks(access).filter(embedder=embedder, embedding__isnull=False)
    rows = chunks.order_by("pk").values_list("pk", "embedding")
    return VectorIndex.from_rows(
        (number, bytes(vector or b"")) for number, vector in rows.iterator(2_000)
    )


def _vocabulary(access: Access) -> Vocabulary:
    version = VERSION.row(access.organization_id)
    return _vocabularies().get_or_load(
        access.organization_id, version, lambda: Vocabulary(_texts(access))
    )


def _texts(access: Access) -> Iterator[str]:
    chunks = gatekeeper.knowledge_chunks(access).exclude(search_text=None)
    return (str(text) for text in chunks.values_list("search_text", flat=True).iterator(2_000))


@cache
def _vectors() -> IndexCache[VectorIndex]:
    return IndexCache(settings.HALO_VECTOR_MEMORY * 1_048_576)


@cache
def _vocabularies() -> IndexCache[Vocabulary]:
    return IndexCache(VOCABULARY_MEMORY)


def _read(access: Access, ids: Sequence[int]) -> list[Any]:
    """Returns the passages in the order given; some may have been removed since."""
    chunks = gatekeeper.knowledge_chunks(access).filter(pk__in=ids)
    chunks = chunks.annotate(
        source_title=F("source__title"),
        source_url=F("source__url"),
        read_at=F("source__indexed_at"),
    )
    found = {chunk.pk: chunk for chunk in chunks.defer("embedding")}
    return [found[number] for number in ids if number in found]


def read(access: Access, ids: Sequence[int]) -> list[KnowledgeHit]:
    """Returns passages by their ids, in the order given."""
    return [_hit(chunk, 0.0) for chunk in _read(access, ids)]


def _rank(
    query: str, lookup: _Lookup, chunks: Sequence[Any], by_vectors: Sequence[int]
) -> tuple[list[KnowledgeHit], bool]:
    """Returns the passages, best first, and whether any fits the query."""
    if configured.reranker() is not None:
        return _rerank(query, [_hit(chunk, 0.0) for chunk in chunks[:RERANKED]]), True
    scorer = QuestionScorer(lookup.question, lookup.counts, lookup.passages)
    places = {number: place for place, number in enumerate(by_vectors)}
    is_offline = configured.is_offline()
    hits, best = [], 0.0
    for chunk in chunks:
        words = chunk.search_text or WORDS_FIELD.make_row_words(chunk)
        match = scorer.match(_titles(chunk, words), words)
        if is_offline and not match.share:
            continue
        best = max(best, match.share)
        place = places.get(chunk.pk)
        meaning = 0.0 if place is None else MEANING_HALVED_AT / (MEANING_HALVED_AT + place)
        score = SHARE * match.share + PLACED * match.placed + MEANING * meaning
        hits.append(_hit(chunk, score))
    if configured.ranks_by_words():
        hits.sort(key=lambda hit: -hit.score)
    return hits, best >= FITS or not is_offline


def _titles(chunk: KnowledgeChunk, words: str) -> str:
    """Returns the index words of the title and the headings, which come before the others."""
    end = 0
    for _ in filter(None, (chunk.title, chunk.heading)):
        end = words.find(END, end) + 1
    return words[:end]


def _hit(chunk: Any, score: float) -> KnowledgeHit:
    return KnowledgeHit(
        id=chunk.pk,
        title=chunk.title,
        heading=chunk.heading,
        # Those of sources that were added before addresses were checked, too.
        url=chunk.url if links.is_web_address(chunk.url) else "",
        source_id=chunk.source_id,
        source=chunk.source_title or chunk.source_url or chunk.source_id,
        position=chunk.position,
        text=chunk.text,
        score=round(score, DIGITS),
        read_at=chunk.read_at,
    )


def _rerank(query: str, hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
    """Returns the hits in the order of a model; as they are if it does not answer."""
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
