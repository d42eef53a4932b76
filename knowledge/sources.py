"""Adds, removes and re-indexes knowledge sources."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from foundation import links, outbound
from foundation.ids import uuid7
from foundation.outbound import OutboundError
from knowledge import fetching
from retrieval.documents.sections import storable
from workspace import document_claims
from workspace.models import (
    KnowledgeIndex,
    KnowledgePage,
    KnowledgeSource,
    Organization,
    PageState,
    SourceKind,
    User,
)
from workspace.models.knowledge import SourceStatus

MAX_BYTES: Final = 10 * 1_048_576
MAX_SOURCES: Final = 5_000
MAX_TITLE: Final = 300
MAX_FILE_NAME: Final = 255
# The kind of an uploaded file, by the ending of its name.
KINDS: Final[Mapping[str, SourceKind]] = {
    ".md": SourceKind.MARKDOWN,
    ".markdown": SourceKind.MARKDOWN,
    ".txt": SourceKind.MARKDOWN,
    ".html": SourceKind.HTML,
    ".htm": SourceKind.HTML,
    ".pdf": SourceKind.PDF,
    ".docx": SourceKind.DOCX,
}
FETCHED: Final = frozenset({SourceKind.URL, SourceKind.SITEMAP})


class UnusableSource(Exception):
    """A file or an address cannot be a source; the message is for the person who adds it."""


class UnusableAddress(UnusableSource):
    """The address cannot be one of a source."""


def kind_of(file_name: str) -> SourceKind:
    """Returns the kind of a file by its name. Raises UnusableSource."""
    kind = KINDS.get(PurePath(file_name).suffix.lower())
    if kind is None:
        raise UnusableSource(f"Only these files can be added: {', '.join(KINDS)}.")
    return kind


def add(
    organization: Organization,
    *,
    kind: str,
    title: str = "",
    url: str = "",
    original: bytes | None = None,
    file_name: str = "",
    added_by: User | None = None,
) -> KnowledgeSource:
    """Adds a source, which the worker indexes soon afterwards. Raises UnusableSource.

    A URL or a sitemap has an address and no file. The other kinds have a file of at most 10 MB;
    their address, if any, is where people can read the document. A source without a title has the
    name of its file until its document has been read.
    """
    check(SourceKind(kind), url, original)
    if KnowledgeSource.objects.filter(organization=organization).count() >= MAX_SOURCES:
        raise UnusableSource(f"A knowledge base has at most {MAX_SOURCES:,} sources.")
    with transaction.atomic():
        source = KnowledgeSource.objects.create(
            organization=organization,
            kind=kind,
            title=title.strip()[:MAX_TITLE],
            url=url,
            original=original,
            file_name=storable(PurePath(file_name).name)[:MAX_FILE_NAME],
            added_by=added_by,
        )
        document_claims.send(source)
    return source


def request_index(source: KnowledgeSource) -> None:
    """Has the worker index a source again; what it indexes at the moment is discarded."""
    with transaction.atomic():
        KnowledgeSource.objects.filter(pk=source.pk).update(
            status=SourceStatus.PENDING,
            error="",
            attempts=0,
            claim=None,
            leased_until=None,
            listed_at=None,
            updated_at=timezone.now(),
        )
        pages = KnowledgePage.objects.filter(source=source)
        pages.exclude(state=PageState.GONE).update(state=PageState.WAITING, error="")
        document_claims.send(source)


@transaction.atomic
def remove(source: KnowledgeSource) -> None:
    """Deletes a source and its passages."""
    source.delete()
    note_change(source.organization_id)


def note_change(organization_id: UUID) -> None:
    """Records that the passages have changed: vectors in memory are loaded again."""
    row = KnowledgeIndex(organization_id=organization_id, version=uuid7())
    KnowledgeIndex.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["organization"], update_fields=["version"]
    )


def check(kind: SourceKind, url: str, original: bytes | None) -> None:
    """Raises UnusableSource for a file or an address that cannot be a source of its kind."""
    if kind not in FETCHED:
        if not original:
            raise UnusableSource("The file is empty.")
        if len(original) > MAX_BYTES:
            raise UnusableSource(f"The file has more than {MAX_BYTES // 1_048_576} MB.")
        # Answers cite it, and clients make a link of it.
        if url and not links.is_web_address(url):
            raise UnusableAddress("Enter an address that begins with https:// or http://.")
        return
    try:
        outbound.vet(url, policy=fetching.policy_for(url))
    except OutboundError as refused:
        raise UnusableAddress(f"This address cannot be fetched. {refused}.") from None
