"""Reads the pages of a source, some at a time: a site may be slow, and others wait meanwhile.

A site has the pages that its sitemap lists; a web page and a file are one page each. Every page is
a row that stays (`KnowledgePage`), with its state and what was read of it. What was read so far is
in the rows, so that another worker can go on. When all pages have been read, the passages of the
source are made of the rows. A page that has not changed is not read again. One that fails for the
moment keeps what was known of it; one that is gone, not listed any more or not to be indexed loses
its text.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Final

from django.db import transaction
from django.db.models import Max, Q, QuerySet, Sum
from django.utils import timezone

from foundation.leases import Lease, WorkStopped
from knowledge import fetching, page_texts, sources
from knowledge.fetching import Fetched, ListedPage, PageGone, Validators
from knowledge.page_texts import PageText
from knowledge.parts import DocumentPart
from knowledge.robots import RobotsRules
from retrieval.documents import cutting, process, readers
from retrieval.documents.sections import ExcludedDocument, ParsedDocument, UnreadableDocument
from retrieval.interfaces import Passage
from workspace.models import (
    KnowledgeChunk,
    KnowledgePage,
    KnowledgeSource,
    PageState,
    SourceKind,
    SourceStatus,
)

# What one turn of a source takes at most, and one page or reading more.
TURN_SECONDS: Final = 20.0
TURN_PAGES: Final = 20
MAX_TOTAL_BYTES: Final = 50 * 1_048_576
TOO_LARGE: Final = f"The site has more than {MAX_TOTAL_BYTES // 1_048_576} MB."
UNLISTED: Final = "The sitemap does not list the page any more."
# How long the date that a sitemap lists is trusted: some sites list the same one for ever.
TRUSTED: Final = timedelta(days=30)
# A page of a sign-in service may have no field for a password.
FEW_CHARACTERS: Final = 600
BATCH: Final = 200
# A time that a document or a server gives is left out if it cannot be one of a change.
FIRST_YEAR: Final = 1990

Reader = Callable[[Sequence[Fetched]], Sequence[process.Read]]


@dataclass(frozen=True, slots=True)
class SourceText:
    """The passages of a source whose pages were read, its status, and what could not be read."""

    parts: Sequence[DocumentPart]
    status: SourceStatus
    note: str


def read_some(source: KnowledgeSource, lease: Lease, read: Reader) -> bool:
    """Reads pages for some seconds; returns whether all of them have been read.

    Raises UnreadableDocument if the sitemap or the robots.txt of the site cannot be read, and
    WorkStopped.
    """
    pages = KnowledgePage.objects.filter(source=source)
    if source.listed_at is None or not pages.exists():
        _list_pages(source, lease)
    waiting = pages.filter(state=PageState.WAITING)
    known_size = pages.exclude(state=PageState.WAITING).aggregate(total=Sum("size"))["total"]
    if (known_size or 0) >= MAX_TOTAL_BYTES:
        _note_failures(waiting, TOO_LARGE)
    turn = [*waiting.order_by("position")[:TURN_PAGES]]
    fetched = [*_fetch(source, turn, lease)]
    if fetched:
        found = read([document for _page, document in fetched])
        for (page, document), result in zip(fetched, found, strict=True):
            _note_reading(page, document, result)
    lease.check()
    return not waiting.exists()


def collect(source: KnowledgeSource) -> SourceText:
    """Returns the text of a source whose pages were read, and notes which of them are copies.

    Raises UnreadableDocument if no page of a site exists: then the site stays as it was.
    """
    pages = [*KnowledgePage.objects.filter(source=source).order_by("position")]
    by_id = {page.pk: page for page in pages}
    texts = [_page_text(page) for page in pages if page.passages and page.read_at]
    copies = page_texts.find_copies(texts)
    kept = [text for text in texts if text.id not in copies]
    left = page_texts.drop_repeated_blocks(kept)
    _note_copies(by_id, copies)
    _settle_addresses([by_id[text.id] for text in kept])
    for page in pages:
        page.passage_count = len(left.get(page.pk, ()))
    KnowledgePage.objects.bulk_update(
        pages, ["state", "error", "address", "passage_count"], batch_size=BATCH
    )
    # A site's pages keep their own titles.
    title = "" if source.kind == SourceKind.SITEMAP else source.title
    parts = [
        DocumentPart(by_id[text.id].address, cutting.replace_title(passage, title))
        for text in kept
        for passage in left[text.id]
    ]
    status, note = _summarize(source, pages)
    return SourceText(parts, status, note)


def note_failure(source: KnowledgeSource, reason: str) -> None:
    """Notes why the pages that still wait were not read."""
    pages = KnowledgePage.objects.filter(source=source)
    _note_failures(pages.filter(state=PageState.WAITING), reason)


def _list_pages(source: KnowledgeSource, lease: Lease) -> None:
    listed = _find_listed(source, lease)
    if not listed:
        raise UnreadableDocument("The sitemap lists no pages of its own host.")
    now = timezone.now()
    with transaction.atomic():
        # One worker at a time lists them: the row is locked until they are stored.
        own = KnowledgeSource.objects.filter(pk=source.pk, claim=source.claim)
        if not own.update(listed_at=now):
            raise WorkStopped
        known = {page.url: page for page in _find_known(source)}
        urls = {each.url for each in listed}
        _note_unlisted([page for url, page in known.items() if url not in urls])
        _note_listed([(known[each.url], each) for each in listed if each.url in known], now)
        pages = KnowledgePage.objects.filter(source=source)
        last = pages.aggregate(last=Max("position"))["last"] or 0
        new = [each for each in listed if each.url not in known]
        KnowledgePage.objects.bulk_create(
            [
                KnowledgePage(
                    organization_id=source.organization_id,
                    source=source,
                    position=position,
                    url=each.url,
                    lastmod=each.lastmod,
                )
                for position, each in enumerate(new, start=last + 1)
            ],
            batch_size=BATCH,
        )
    source.listed_at = now


def _find_listed(source: KnowledgeSource, lease: Lease) -> list[ListedPage]:
    if source.kind == SourceKind.SITEMAP:
        return fetching.list_pages(source.url, lease.check)
    return [ListedPage(source.url)]


def _find_known(source: KnowledgeSource) -> list[KnowledgePage]:
    """Returns the pages of a source; before it had rows, they are made of its passages."""
    pages = KnowledgePage.objects.filter(source=source)
    if source.kind in sources.FETCHED and not pages.exists():
        texts: dict[str, list[list[str]]] = {}
        chunks = KnowledgeChunk.objects.filter(source=source).order_by("position")
        for chunk in chunks.defer("embedding"):
            texts.setdefault(chunk.url, []).append([chunk.title, chunk.heading, chunk.text])
        KnowledgePage.objects.bulk_create(
            [
                KnowledgePage(
                    organization_id=source.organization_id,
                    source=source,
                    position=position,
                    url=url,
                    final_url=url,
                    address=url,
                    title=passages[0][0],
                    passages=passages,
                    read_at=source.indexed_at or source.created_at,
                )
                for position, (url, passages) in enumerate(texts.items(), start=1)
            ],
            batch_size=BATCH,
        )
    return [*pages]


def _note_unlisted(pages: Sequence[KnowledgePage]) -> None:
    """Drops the text of pages that are not listed any more, and the rows at the next listing."""
    gone = [page.pk for page in pages if page.state == PageState.GONE]
    KnowledgePage.objects.filter(pk__in=gone).delete()
    for page in pages:
        if page.state != PageState.GONE:
            _drop(page, PageState.GONE, UNLISTED)


def _note_listed(pages: Sequence[tuple[KnowledgePage, ListedPage]], now: datetime) -> None:
    """Has pages wait to be read, unless the sitemap says that they have not changed since."""
    for page, listed in pages:
        is_known = page.read_at is not None and _is_of_this_version(page)
        is_same = is_known and bool(listed.lastmod) and listed.lastmod == page.lastmod
        is_recent = page.read_at is not None and page.read_at > now - TRUSTED
        page.state = PageState.UNCHANGED if is_same and is_recent else PageState.WAITING
        page.error, page.lastmod = "", listed.lastmod
    rows = [page for page, _listed in pages]
    KnowledgePage.objects.bulk_update(rows, ["state", "error", "lastmod"], batch_size=BATCH)


def _fetch(
    source: KnowledgeSource, pages: Sequence[KnowledgePage], lease: Lease
) -> Iterator[tuple[KnowledgePage, Fetched]]:
    """Yields the pages that have to be read, and notes what came of the others."""
    if not pages:
        return
    if source.kind not in sources.FETCHED:
        yield pages[0], Fetched(source.url, source.kind, bytes(source.original or b""))
        return
    rules = fetching.robots_rules(source.url)
    until = time.monotonic() + TURN_SECONDS
    for page in pages:
        lease.check()
        document = _fetch_page(page, rules)
        if document is not None:
            yield page, document
        if time.monotonic() > until:
            return


def _fetch_page(page: KnowledgePage, rules: RobotsRules) -> Fetched | None:
    """Returns the document of a page if it has to be read; otherwise its state says why not."""
    is_known = _is_of_this_version(page)
    known = Validators(page.etag, page.last_modified) if is_known else fetching.UNKNOWN
    try:
        document = fetching.page(page.url, rules, known)
    except ExcludedDocument as excluded:
        _drop(page, PageState.EXCLUDED, str(excluded))
    except PageGone as gone:
        _drop(page, PageState.GONE, str(gone))
    except UnreadableDocument as error:
        _keep(page, str(error))
    else:
        if document is not None and page.digest != _digest(document):
            return document
        _confirm(page, known if document is None else document.validators)
    return None


def _note_reading(page: KnowledgePage, document: Fetched, result: process.Read) -> None:
    size = len(document.content)
    if isinstance(result, ExcludedDocument):
        _drop(page, PageState.EXCLUDED, str(result))
    elif isinstance(result, UnreadableDocument):
        _keep(page, str(result), size=size)
    elif _is_sign_in(page, document, result):
        _drop(page, PageState.EXCLUDED, fetching.ASKS_TO_SIGN_IN)
    else:
        passages = cutting.passages(result)
        now = timezone.now()
        _write(
            page,
            PageState.READ,
            error="",
            size=size,
            title=passages[0].title,
            passages=[[one.title, one.heading, one.text] for one in passages],
            final_url=document.url,
            address=fetching.find_canonical(document.url, result.canonical),
            read_at=now,
            modified_at=_find_modified(page, document, result, now),
            etag=document.validators.etag,
            last_modified=document.validators.last_modified,
            digest=_digest(document),
        )


def _confirm(page: KnowledgePage, validators: Validators) -> None:
    _write(
        page,
        PageState.UNCHANGED,
        error="",
        read_at=timezone.now(),
        etag=validators.etag,
        last_modified=validators.last_modified,
    )


def _keep(page: KnowledgePage, reason: str, **columns: object) -> None:
    """Notes that a page could not be read; the sitemap's date does not count for its text then."""
    state = PageState.FAILED if page.read_at is None else PageState.KEPT
    _write(page, state, error=reason, lastmod="", **columns)


def _drop(page: KnowledgePage, state: PageState, reason: str) -> None:
    """Drops the text of a page, and what tells whether it has changed."""
    _write(
        page,
        state,
        error=reason,
        size=0,
        passages=[],
        passage_count=0,
        read_at=None,
        modified_at=None,
        etag="",
        last_modified="",
        lastmod="",
        digest="",
    )


def _write(page: KnowledgePage, state: PageState, **columns: object) -> None:
    KnowledgePage.objects.filter(pk=page.pk).update(state=state, tried_at=timezone.now(), **columns)


def _note_failures(pages: QuerySet[KnowledgePage], reason: str) -> None:
    read = Q(read_at__isnull=False)
    pages.filter(read).update(state=PageState.KEPT, error=reason, lastmod="")
    pages.filter(~read).update(state=PageState.FAILED, error=reason, lastmod="")


def _is_sign_in(page: KnowledgePage, document: Fetched, result: ParsedDocument) -> bool:
    length = sum(len(section.text) for section in result.sections)
    return length < FEW_CHARACTERS and fetching.is_moved_to_sign_in(page.url, document.url)


def _is_of_this_version(page: KnowledgePage) -> bool:
    """Returns whether what was read of a page is what would be read of it now."""
    return page.digest.startswith(f"{readers.VERSION}:")


def _digest(document: Fetched) -> str:
    return f"{readers.VERSION}:{sha256(document.content).hexdigest()}"


def _find_modified(
    page: KnowledgePage, document: Fetched, result: ParsedDocument, now: datetime
) -> datetime | None:
    """Returns when a page was changed: as it says itself, as the sitemap or as the server says."""
    said = (result.modified, page.lastmod, document.validators.last_modified)
    times = (_parse_time(text) for text in said)
    return next((one for one in times if one and one.year >= FIRST_YEAR and one <= now), None)


def _parse_time(text: str) -> datetime | None:
    """Returns a time in the form of ISO 8601 or of HTTP (RFC 9110, section 5.6.7)."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = parse(text.strip())
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _page_text(page: KnowledgePage) -> PageText:
    passages = tuple(Passage(*each) for each in page.passages)
    return PageText(page.pk, passages, is_canonical=page.address == page.url)


def _note_copies(pages: dict[int, KnowledgePage], copies: dict[int, int]) -> None:
    for number, page in pages.items():
        if number in copies:
            kept = pages[copies[number]]
            page.state = PageState.COPY
            page.error = f"It has the same text as {kept.url}, which is kept."
        elif page.state == PageState.COPY:
            page.state, page.error = PageState.UNCHANGED, ""


def _settle_addresses(pages: Sequence[KnowledgePage]) -> None:
    """Gives each address to one page: the one that is there, or the first that names it.

    Pages with other texts that name the same canonical address are not that page.
    """
    owners = {page.final_url: page for page in reversed(pages) if page.final_url == page.address}
    for page in pages:
        if owners.setdefault(page.address, page) is not page:
            page.address = page.final_url or page.url


def _summarize(source: KnowledgeSource, pages: Sequence[KnowledgePage]) -> tuple[SourceStatus, str]:
    """Returns the status of a source and its error. Raises UnreadableDocument."""
    by_state: dict[str, list[KnowledgePage]] = {state: [] for state in PageState.values}
    for page in pages:
        by_state[page.state].append(page)
    failed = sorted(
        by_state[PageState.FAILED] + by_state[PageState.KEPT], key=lambda page: page.position
    )
    if by_state[PageState.READ] or by_state[PageState.UNCHANGED]:
        return SourceStatus.READY, _note(failed, len(pages))
    if failed:
        return SourceStatus.FAILED, failed[0].error
    if by_state[PageState.EXCLUDED]:
        return SourceStatus.EXCLUDED, by_state[PageState.EXCLUDED][0].error
    gone = by_state[PageState.GONE][0].error
    if source.kind == SourceKind.SITEMAP:
        # A site that lists nothing but pages that are gone is being moved, or is out of order.
        raise UnreadableDocument(gone)
    return SourceStatus.FAILED, gone


def _note(failed: Sequence[KnowledgePage], count: int) -> str:
    if not failed:
        return ""
    return (
        f"{len(failed)} of {count} pages could not be read; what was known of them is kept. "
        f"The first is {failed[0].url}: {failed[0].error}"
    )
