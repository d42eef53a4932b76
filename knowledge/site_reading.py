"""Reads the pages of a sitemap, some at a time: a site may be slow, and others wait meanwhile.

What was read so far is in rows, so that another worker can go on. When all pages have been read,
the passages of the source are replaced at once. A page that fails for the moment keeps what was
known of it; only a page that is gone, or is not listed any more, loses its passages.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from django.db.models import Sum

from foundation.leases import Lease
from knowledge import fetching
from knowledge.fetching import Fetched, PageGone
from knowledge.parts import DocumentPart
from retrieval.documents import cutting, process
from retrieval.documents.sections import UnreadableDocument
from retrieval.interfaces import Passage
from workspace.models import KnowledgeChunk, KnowledgePage, KnowledgeSource, PageState

# What one turn of a source takes at most, and one page or reading more.
TURN_SECONDS: Final = 20.0
TURN_PAGES: Final = 20
MAX_TOTAL_BYTES: Final = 50 * 1_048_576
TOO_LARGE: Final = f"The site has more than {MAX_TOTAL_BYTES // 1_048_576} MB."

Reader = Callable[[Sequence[Fetched]], Sequence[process.Read]]


def read_some(source: KnowledgeSource, lease: Lease, read: Reader) -> bool:
    """Reads pages for some seconds; returns whether all of them have been read.

    Raises UnreadableDocument if the sitemap cannot be read, and WorkStopped.
    """
    pages = KnowledgePage.objects.filter(source=source)
    if not pages.exists():
        _list_pages(source, lease)
    waiting = pages.filter(state=PageState.WAITING)
    if (pages.aggregate(total=Sum("size"))["total"] or 0) >= MAX_TOTAL_BYTES:
        waiting.update(state=PageState.FAILED, error=TOO_LARGE)
    turn = [*waiting.order_by("position")[:TURN_PAGES]]
    fetched = [*_fetch(turn, lease)]
    if fetched:
        found = read([document for _page, document in fetched])
        for (page, document), result in zip(fetched, found, strict=True):
            _note_reading(page, document, result)
    lease.check()
    return not waiting.exists()


def collect(source: KnowledgeSource) -> tuple[list[DocumentPart], str]:
    """Returns the passages of a site that was read, and what could not be read of it, or nothing.

    Raises UnreadableDocument if no page could be read: then the site stays as it was.
    """
    pages = [*KnowledgePage.objects.filter(source=source).order_by("position")]
    failed = [page for page in pages if page.state in {PageState.FAILED, PageState.GONE}]
    if len(failed) == len(pages):
        raise UnreadableDocument(failed[0].error)
    kept = _find_known([page.url for page in failed if page.state == PageState.FAILED], source)
    parts = [
        DocumentPart(page.url, passage)
        for page in pages
        for passage in (
            [Passage(*each) for each in page.passages]
            if page.state == PageState.READ
            else kept.get(page.url, [])
        )
    ]
    unread = [page for page in failed if page.state == PageState.FAILED]
    if not unread:
        return parts, ""
    note = (
        f"{len(unread)} of {len(pages)} pages could not be read; what was known of them is kept. "
        f"The first is {unread[0].url}: {unread[0].error}"
    )
    return parts, note


def forget(source: KnowledgeSource) -> None:
    """Deletes what was read so far."""
    KnowledgePage.objects.filter(source=source).delete()


def _list_pages(source: KnowledgeSource, lease: Lease) -> None:
    listed = fetching.list_pages(source.url, lease.check)
    if not listed:
        raise UnreadableDocument("The sitemap lists no pages of its own host.")
    KnowledgePage.objects.bulk_create(
        [
            KnowledgePage(
                organization_id=source.organization_id, source=source, position=position, url=url
            )
            for position, url in enumerate(listed, start=1)
        ],
        # Another worker may have listed them, if the lease of this one has ended.
        ignore_conflicts=True,
    )


def _fetch(pages: Sequence[KnowledgePage], lease: Lease) -> Iterator[tuple[KnowledgePage, Fetched]]:
    until = time.monotonic() + TURN_SECONDS
    for page in pages:
        lease.check()
        try:
            yield page, fetching.page(page.url)
        except UnreadableDocument as error:
            is_gone = isinstance(error, PageGone)
            _write(page, PageState.GONE if is_gone else PageState.FAILED, error=str(error))
        if time.monotonic() > until:
            return


def _note_reading(page: KnowledgePage, document: Fetched, result: process.Read) -> None:
    if isinstance(result, UnreadableDocument):
        _write(page, PageState.FAILED, size=len(document.content), error=str(result))
        return
    # A site's pages keep their own titles.
    passages = [[one.title, one.heading, one.text] for one in cutting.passages(result, "")]
    _write(page, PageState.READ, size=len(document.content), passages=passages)


def _write(page: KnowledgePage, state: PageState, **columns: object) -> None:
    KnowledgePage.objects.filter(pk=page.pk).update(state=state, **columns)


def _find_known(urls: Sequence[str], source: KnowledgeSource) -> dict[str, list[Passage]]:
    """Returns the passages that are stored of some pages, by address."""
    known: dict[str, list[Passage]] = {}
    chunks = KnowledgeChunk.objects.filter(source=source, url__in=urls).order_by("position")
    for chunk in chunks.defer("embedding"):
        passage = Passage(chunk.title, chunk.heading, chunk.text)
        known.setdefault(chunk.url, []).append(passage)
    return known
