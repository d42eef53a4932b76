"""Turns knowledge sources into passages with vectors."""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from foundation.limits import charging
from foundation.limits.window import Bucket, Limit, LimitStoreDown
from retrieval import configured
from retrieval.documents import cutting, process
from retrieval.documents.sections import Unreadable
from retrieval.interfaces import Embedder, Passage, RetrievalUnavailable, stored
from workspace.knowledge import fetching, sources
from workspace.knowledge.fetching import Fetched
from workspace.models import KnowledgeChunk, KnowledgeSource, Organization
from workspace.models.knowledge import SourceKind, SourceStatus

log = structlog.get_logger(__name__)

MAX_PASSAGES: Final = 50_000
MAX_PASSAGES_OF_SOURCE: Final = 10_000
# A source that has waited, or is being indexed, for so long has lost its message or its worker.
LOST_AFTER: Final = timedelta(minutes=2)
ENDED_AFTER: Final = timedelta(minutes=20)
AT_ONCE: Final = 100
BATCH: Final = 500
DAY: Final = 86_400
# Of a second: what the time of a day is counted in, as a limit has a million units at most.
TENTHS: Final = 10
SPENT: Final = (
    "The organization has used up the time to read documents for today. Index it again tomorrow."
)
UNEXPECTED: Final = "The document could not be read: an internal error, which is in the log."


@dataclass(frozen=True, slots=True)
class _Part:
    """A passage and the address of the document that it is of."""

    url: str
    passage: Passage


def index(source_id: str) -> None:
    """Reads a source that waits and replaces its passages; a failure is its status and its error.

    Does nothing if there is no such source, if it does not wait, or if another worker is at it. If
    the source was changed meanwhile, the result is discarded.
    """
    source = _claimed(source_id)
    if source is None:
        return
    try:
        parts = _parts(source)
    except Unreadable as unreadable:
        _fail(source, str(unreadable))
        return
    except Exception:  # a reader's defect ends this source, not the worker
        log.exception("knowledge_index_failed", source=source.pk)
        _fail(source, UNEXPECTED)
        return
    _store(source, parts, *_embedded([part.passage for part in parts]))


def pick_up() -> list[str]:
    """Returns the ids of sources that have to be indexed and that no worker is at."""
    now = timezone.now()
    lost = Q(status=SourceStatus.PENDING, updated_at__lt=now - LOST_AFTER)
    ended = Q(status=SourceStatus.INDEXING, updated_at__lt=now - ENDED_AFTER)
    rows = KnowledgeSource.objects.filter(lost | ended).order_by("updated_at")
    return list(rows.values_list("pk", flat=True)[:AT_ONCE])


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
        chunk.embedding, chunk.embedder = stored(vector), embedder.name
    with transaction.atomic():
        KnowledgeChunk.objects.bulk_update(chunks, ["embedding", "embedder"], batch_size=100)
        for organization_id in {chunk.organization_id for chunk in chunks}:
            sources.note_change(organization_id)
    return len(chunks)


def _claimed(source_id: str) -> KnowledgeSource | None:
    """Marks a waiting source as being indexed and returns it; None if another worker did so."""
    now = timezone.now()
    ended = Q(status=SourceStatus.INDEXING, updated_at__lt=now - ENDED_AFTER)
    waits = Q(status=SourceStatus.PENDING) | ended
    taken = KnowledgeSource.objects.filter(waits, pk=source_id).update(
        status=SourceStatus.INDEXING, updated_at=now
    )
    return KnowledgeSource.objects.filter(pk=source_id).first() if taken else None


def _parts(source: KnowledgeSource) -> list[_Part]:
    """Reads the documents of a source. Raises Unreadable if none can be read."""
    documents = _documents(source)
    read = _read(source, documents)
    unreadable = [found for found in read if isinstance(found, Unreadable)]
    if len(unreadable) == len(read):
        raise unreadable[0]
    # A site's pages keep their own titles; one document has the title that it was given.
    title = "" if source.kind == SourceKind.SITEMAP else source.title
    parts = [
        _Part(each.url, passage)
        for each, found in zip(documents, read, strict=True)
        if not isinstance(found, Unreadable)
        for passage in cutting.passages(found, title)
    ]
    if len(parts) > MAX_PASSAGES_OF_SOURCE:
        raise Unreadable(f"The source has more than {MAX_PASSAGES_OF_SOURCE:,} passages.")
    others = KnowledgeChunk.objects.filter(organization=source.organization_id)
    if others.exclude(source=source).count() + len(parts) > MAX_PASSAGES:
        raise Unreadable(f"The knowledge base would have more than {MAX_PASSAGES:,} passages.")
    return parts


def _read(source: KnowledgeSource, documents: Sequence[Fetched]) -> list[process.Read]:
    """Reads documents within the budget of a day. Raises Unreadable if it is spent."""
    limit = Limit(settings.HALO_KNOWLEDGE_DAILY_SECONDS * TENTHS, DAY)
    longest = math.ceil(process.SECONDS * TENTHS)
    budget = Bucket(f"reading:{source.organization_id}", limit, longest)
    if charging.charge_or_share([budget], on_outage=lambda: None) is not None:
        raise Unreadable(SPENT)
    started = time.monotonic()
    try:
        return process.read_all([(each.kind, each.content) for each in documents])
    finally:
        left = longest - math.ceil((time.monotonic() - started) * TENTHS)
        with suppress(LimitStoreDown):
            if left > 0:
                charging.give_back([replace(budget, cost=left)])


def _documents(source: KnowledgeSource) -> Sequence[Fetched]:
    if source.kind == SourceKind.SITEMAP:
        return fetching.pages_of(source.url)
    if source.kind == SourceKind.URL:
        return [fetching.page(source.url)]
    return [Fetched(source.url, source.kind, bytes(source.original or b""))]


def _embedded(passages: Sequence[Passage]) -> tuple[Embedder | None, list[bytes | None]]:
    """Returns the embedder and a vector for each passage; None if it does not answer."""
    embedder = configured.embedder()
    try:
        return embedder, [stored(vector) for vector in embedder.passages(passages)]
    except RetrievalUnavailable as unavailable:
        log.warning("knowledge_embedder_unavailable", reason=str(unavailable))
        return None, [None] * len(passages)


def _store(
    source: KnowledgeSource,
    parts: Sequence[_Part],
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
        for position, (part, vector) in enumerate(zip(parts, vectors, strict=True), start=1)
    ]
    now = timezone.now()
    with transaction.atomic():
        # One at a time for an organization, as for its other writers.
        Organization.objects.select_for_update(no_key=True).get(pk=source.organization_id)
        if not _finish(
            source,
            status=SourceStatus.READY,
            error="",
            title=source.title or parts[0].passage.title,
            passages=len(chunks),
            digest=_digest(parts),
            indexed_at=now,
        ):
            return
        KnowledgeChunk.objects.filter(source=source).delete()
        KnowledgeChunk.objects.bulk_create(chunks, batch_size=BATCH)
        sources.note_change(source.organization_id)


def _fail(source: KnowledgeSource, reason: str) -> None:
    # Passages of an earlier success stay: an old answer is better than none.
    _finish(source, status=SourceStatus.FAILED, error=reason)


def _finish(source: KnowledgeSource, **columns: str | int | datetime) -> bool:
    """Writes the result, unless the source was changed or deleted since it was claimed."""
    claimed = KnowledgeSource.objects.filter(
        pk=source.pk, status=SourceStatus.INDEXING, updated_at=source.updated_at
    )
    return bool(claimed.update(**columns, updated_at=timezone.now()))


def _digest(parts: Sequence[_Part]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(f"{part.url}\n{part.passage.whole}\n".encode())
    return digest.hexdigest()
