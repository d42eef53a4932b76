"""Turns knowledge sources into passages with vectors."""

from collections import defaultdict, deque
from collections.abc import Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

import structlog
from django.db import transaction
from django.utils import timezone

from foundation import leases
from foundation.leases import Lease, WorkStopped
from knowledge import page_reading, sources
from knowledge.fetching import Fetched
from knowledge.page_reading import SourceText
from knowledge.parts import DocumentPart
from retrieval import configured
from retrieval.documents import process, readers
from retrieval.documents.sections import UnreadableDocument
from retrieval.interfaces import Embedder, Passage, RetrievalUnavailable, encode_vector
from workspace import document_claims, reading_budget
from workspace.models import KnowledgeChunk, KnowledgeSource, Organization
from workspace.models.knowledge import SourceKind, SourceStatus
from workspace.reading_budget import ReadingBudgetSpent

log = structlog.get_logger(__name__)

MAX_PASSAGES: Final = 50_000
MAX_PASSAGES_OF_SOURCE: Final = 10_000
# Passages whose vectors are computed at once.
EMBEDDED_AT_ONCE: Final = 256
# Sources that are read again after an upgrade, in each run of the task.
OUTDATED_AT_ONCE: Final = 5
BATCH: Final = 500
SPENT: Final = (
    "The organization has used up the time to read documents for today. Index it again tomorrow."
)
UNEXPECTED: Final = "The document could not be read: an internal error, which is in the log."
GIVEN_UP: Final = (
    f"Reading it was begun {document_claims.MAX_ATTEMPTS} times, and each time the worker ended "
    "before it was done."
)


def index(source_id: str) -> None:
    """Reads a source that waits and replaces its passages; a failure is its status and its error.

    A site is read in turns (`page_reading.py`), and waits again after each but the last. Does
    nothing if there is no such source, if it does not wait, or while its organization has another
    job. If the source was changed meanwhile, the result is discarded. If the worker is stopped, the
    source waits again.
    """
    source = document_claims.claim(KnowledgeSource, source_id)
    if source is None:
        return
    if source.attempts > document_claims.MAX_ATTEMPTS:
        log.error("knowledge_given_up", source=source.pk)
        _fail(source, GIVEN_UP)
        return
    lease = document_claims.build_lease(source)
    try:
        with leases.hold(lease):
            _read_and_store(source, lease)
    except WorkStopped:
        log.info("knowledge_given_back", source=source.pk)


def _read_and_store(source: KnowledgeSource, lease: Lease) -> None:
    try:
        # This turn was a step forward, which another attempt need not make again.
        if not page_reading.read_some(source, lease, lambda documents: _read(source, documents)):
            document_claims.release(source, attempts=0)
            return
        text = page_reading.collect(source)
        parts = text.parts
        _require_room(source, parts)
    except UnreadableDocument as unreadable:
        _fail(source, str(unreadable))
        return
    except WorkStopped:
        raise
    except Exception:  # a reader's defect ends this source, not the worker
        log.exception("knowledge_index_failed", source=source.pk)
        _fail(source, UNEXPECTED)
        return
    if _is_stored(source, parts):
        _finish(source, text)
        return
    embedder, vectors = _embed_passages([part.passage for part in parts], lease)
    _store(source, text, embedder, vectors)


def embed_missing() -> int:
    """Computes vectors of passages that have none of the configured embedder; returns how many.

    A passage has none while the embedder does not answer, and after another one was configured.
    """
    embedder = configured.embedder()
    rows = KnowledgeChunk.objects.exclude(embedder=embedder.name).select_related(None)
    chunks = list(rows.order_by("organization_id", "pk")[:BATCH])
    passages = [Passage(chunk.title, chunk.heading, chunk.text) for chunk in chunks]
    try:
        matrix = embedder.passages(passages)
    except RetrievalUnavailable as unavailable:
        log.warning("knowledge_embedder_unavailable", reason=str(unavailable))
        return 0
    for chunk, vector in zip(chunks, matrix, strict=True):
        chunk.embedding, chunk.embedder = encode_vector(vector), embedder.name
    with transaction.atomic():
        KnowledgeChunk.objects.bulk_update(chunks, ["embedding", "embedder"], batch_size=100)
        for organization_id in {chunk.organization_id for chunk in chunks}:
            sources.note_change(organization_id)
    return len(chunks)


def _require_room(source: KnowledgeSource, parts: Sequence[DocumentPart]) -> None:
    """Raises UnreadableDocument for more passages than a source or a knowledge base may have."""
    if len(parts) > MAX_PASSAGES_OF_SOURCE:
        raise UnreadableDocument(f"The source has more than {MAX_PASSAGES_OF_SOURCE:,} passages.")
    others = KnowledgeChunk.objects.filter(organization=source.organization_id)
    if others.exclude(source=source).count() + len(parts) > MAX_PASSAGES:
        raise UnreadableDocument(
            f"The knowledge base would have more than {MAX_PASSAGES:,} passages."
        )


def _read(source: KnowledgeSource, documents: Sequence[Fetched]) -> list[process.Read]:
    """Reads documents within the budget of a day. Raises UnreadableDocument if it is spent."""
    try:
        with reading_budget.spend(source.organization_id, process.SECONDS):
            return process.read_all([(each.kind, each.content, each.url) for each in documents])
    except ReadingBudgetSpent:
        raise UnreadableDocument(SPENT) from None


def _embed_passages(
    passages: Sequence[Passage], lease: Lease
) -> tuple[Embedder | None, list[bytes | None]]:
    """Returns the embedder and a vector for each passage; None if it does not answer."""
    embedder = configured.embedder()
    vectors: list[bytes | None] = []
    try:
        for start in range(0, len(passages), EMBEDDED_AT_ONCE):
            lease.check()
            part = passages[start : start + EMBEDDED_AT_ONCE]
            vectors += [encode_vector(vector) for vector in embedder.passages(part)]
    except RetrievalUnavailable as unavailable:
        log.warning("knowledge_embedder_unavailable", reason=str(unavailable))
        return None, [None] * len(passages)
    return embedder, vectors


def _store(
    source: KnowledgeSource,
    text: SourceText,
    embedder: Embedder | None,
    vectors: Sequence[bytes | None],
) -> None:
    chunks = [
        KnowledgeChunk(
            organization_id=source.organization_id,
            source=source,
            position=position,
            title=part.passage.title,
            heading=part.passage.heading,
            url=part.url,
            text=part.passage.text,
            embedding=vector,
            embedder=embedder.name if embedder else "",
        )
        for position, (part, vector) in enumerate(zip(text.parts, vectors, strict=True), start=1)
    ]
    with transaction.atomic():
        # One at a time for an organization, as for its other writers.
        Organization.objects.select_for_update(no_key=True).get(pk=source.organization_id)
        if not _finish(source, text):
            return
        _keep_ids(source, chunks)
        KnowledgeChunk.objects.filter(source=source).delete()
        KnowledgeChunk.objects.bulk_create(chunks, batch_size=BATCH)
        sources.note_change(source.organization_id)


def _is_stored(source: KnowledgeSource, parts: Sequence[DocumentPart]) -> bool:
    """Returns whether the passages of a source are those that were found."""
    stored = KnowledgeChunk.objects.filter(source=source)
    return source.digest == _digest(parts) and stored.count() == len(parts)


def _finish(source: KnowledgeSource, text: SourceText) -> bool:
    """Writes the outcome of a reading; False if the source was changed meanwhile."""
    columns: dict[str, object] = {}
    if text.status == SourceStatus.READY:
        columns["indexed_at"] = timezone.now()
    if text.parts:
        is_site = source.kind == SourceKind.SITEMAP
        named = urlsplit(source.url).netloc if is_site else text.parts[0].passage.title
        columns["title"] = source.title or named
    return document_claims.finish(
        source,
        status=text.status,
        attempts=0,
        error=text.note,
        passages=len(text.parts),
        digest=_digest(text.parts),
        reader=readers.VERSION,
        listed_at=None,
        **columns,
    )


def _keep_ids(source: KnowledgeSource, chunks: Sequence[KnowledgeChunk]) -> None:
    """Gives passages the ids that they had: answers cite them.

    A passage is the same one if its address and text are; of equal texts, that with the same path.
    """
    stored = KnowledgeChunk.objects.filter(source=source).order_by("position")
    known = list(stored.values_list("pk", "url", "text", "heading"))
    known_ids = {number for number, *_ in known}
    for length in (3, 2):
        free: dict[tuple[str, ...], deque[int]] = defaultdict(deque)
        taken = {chunk.pk for chunk in chunks}
        for number, *content in known:
            if number not in taken:
                free[tuple(content[:length])].append(number)
        for chunk in chunks:
            ids = free.get((chunk.url, chunk.text, chunk.heading)[:length])
            if chunk.pk not in known_ids and ids:
                chunk.pk = ids.popleft()


def request_outdated() -> int:
    """Has sources read again whose passages readers of an earlier version made; returns how many.

    Until then, and if it fails, they are searched as they are.
    """
    outdated = KnowledgeSource.objects.filter(status=SourceStatus.READY, reader__lt=readers.VERSION)
    chosen = list(outdated.defer("original").order_by("indexed_at", "pk")[:OUTDATED_AT_ONCE])
    for source in chosen:
        sources.request_index(source)
    return len(chosen)


def _fail(source: KnowledgeSource, reason: str) -> None:
    # Passages of an earlier success stay: an old answer is better than none.
    if document_claims.finish(
        source, status=SourceStatus.FAILED, attempts=0, error=reason, listed_at=None
    ):
        page_reading.note_failure(source, reason)


def _digest(parts: Sequence[DocumentPart]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(f"{part.url}\n{part.passage.whole}\n".encode())
    return digest.hexdigest()
