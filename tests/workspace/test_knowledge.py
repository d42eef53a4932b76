"""Sources of the knowledge base become passages that are found; what cannot be read says why."""

import io
import json
import subprocess
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import docx
import pytest
from django.utils import timezone

import knowledge
from customers import tasks
from foundation.leases import LEASE
from knowledge import UnusableSource, fetching, indexing, sources
from retrieval import configured, hosted
from retrieval.documents import process, readers
from retrieval.interfaces import RetrievalUnavailable
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Site, sending
from tests.drivers.grants import Grant, make_grant
from tests.drivers.sent_tasks import run_with_sent
from tests.drivers.web_site import WebSite
from workspace import document_claims
from workspace.access import Access, CannotNarrow
from workspace.models import KnowledgeChunk, KnowledgeSource, SourceStatus

pytestmark = pytest.mark.django_db

REFUNDS = b"""# Refunds

Who gets money back.

## Yearly plans

In full within 30 days of the first payment.

## Monthly plans

Not for the month that has begun.
"""
PAGE = b"""<html><head><title>Slack</title></head><body><nav>Menu</nav><article><h1>Slack</h1>
<p>Every board can post its new cards into one channel of your Slack workspace.</p></article>
</body></html>"""
HTML = {"Content-Type": "text/html; charset=utf-8"}


def add(grant: Grant, original: bytes = REFUNDS, **facts: Any) -> KnowledgeSource:
    """A source of the organization, indexed."""
    given = {"kind": "markdown", "original": original, **facts}
    source = knowledge.add(grant.organization, **given)
    knowledge.index(source.pk)
    source.refresh_from_db()
    return source


def find_headings(grant: Grant, query: str, **options: Any) -> list[str]:
    """The headings of the passages that a search finds, or the title of one without."""
    access = Access(grant.organization.pk)
    return [hit.heading or hit.title for hit in knowledge.search(access, query, **options).hits]


@pytest.fixture(autouse=True)
def _read_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Documents are read in this process, which is faster; tests of the other one say so."""
    if request.node.get_closest_marker("usefixtures"):
        yield
        return
    with patch.object(process, "read_all", read_here):
        yield


@pytest.fixture
def reading_process() -> None:
    """Documents are read in a process of their own, as deployed."""


def read_here(documents: Any) -> list[process.Read]:
    return [
        process._decode_line(json.dumps(process._read_as_json(*each)).encode())
        for each in documents
    ]


@pytest.fixture
def web(settings: Any) -> Iterator[Site]:
    with site.serving(WebSite()) as serving:
        settings.HALO_KNOWLEDGE_PRIVATE_HOSTS = frozenset({serving.url.removeprefix("http://")})
        yield serving


def test_a_document_is_found_by_its_words_and_by_its_meaning(grant: Grant) -> None:
    source = add(grant)
    assert (source.status, source.title, source.passages) == (SourceStatus.READY, "Refunds", 3)
    access = Access(grant.organization.pk)
    for query in ("yearly", "purchase"):
        first = knowledge.search(access, query).hits[0]
        assert (first.title, first.heading) == ("Refunds", "Yearly plans")
        assert (first.source_id, first.source, first.position) == (source.pk, "Refunds", 2)
        assert first.text == "In full within 30 days of the first payment."


@pytest.mark.parametrize(
    "query", ["zebra crossing", "", "🙂", '"', "AND OR", "a\0b", "'", "*", "|"]
)
def test_any_query_is_answered(grant: Grant, query: str) -> None:
    add(grant)
    assert find_headings(grant, query) == []


def test_another_organization_finds_nothing(grant: Grant) -> None:
    source, others = add(grant), make_grant()
    assert find_headings(others, "yearly") == []
    assert find_headings(others, "yearly", source=source.pk) == find_headings(
        others, "yearly", source="ks_none"
    )


def test_a_call_that_is_bound_to_a_customer_searches_nothing(grant: Grant) -> None:
    add(grant)
    with pytest.raises(CannotNarrow):
        knowledge.search(Access(grant.organization.pk, customer_id="u_1"), "yearly")


def test_a_search_can_be_limited_to_a_source_by_its_id_or_title(grant: Grant) -> None:
    source = add(grant)
    add(grant, b"# Other\n\n## Yearly review\n\nOnce a year.")
    assert find_headings(grant, "yearly", source=source.pk) == ["Yearly plans"]
    assert find_headings(grant, "yearly", source="other") == ["Yearly review"]
    assert find_headings(grant, "yearly", source="nothing") == []


def test_a_changed_source_is_searched_as_it_is_now(grant: Grant) -> None:
    source = add(grant)
    assert find_headings(grant, "yearly") == ["Yearly plans"]
    KnowledgeSource.objects.filter(pk=source.pk).update(original=b"## Quarterly plans\n\nNever.")
    knowledge.request_index(source)
    knowledge.index(source.pk)
    assert find_headings(grant, "yearly") == []
    assert find_headings(grant, "quarterly") == ["Quarterly plans"]
    knowledge.remove(source)
    assert find_headings(grant, "quarterly") == []


PLANS = b"""# Guide

## Plans

### Free

#### Support

In the forum.

### Enterprise

#### Support

Within an hour.
"""


def test_a_passage_is_found_by_the_headings_above_it(grant: Grant) -> None:
    add(grant, PLANS)
    assert find_headings(grant, "enterprise support")[0] == "Plans > Enterprise > Support"
    assert find_headings(grant, "free support")[0] == "Plans > Free > Support"


def test_a_document_under_another_title_keeps_its_own_above_the_headings(grant: Grant) -> None:
    add(grant, PLANS, title="Handbook")
    found = find_headings(grant, "guide enterprise support")
    assert found[0] == "Guide > Plans > Enterprise > Support"


def test_passages_that_stay_keep_their_ids(grant: Grant) -> None:
    source = add(grant, PLANS)
    before = dict(source.chunks.values_list("text", "pk"))
    changed = PLANS.replace(b"# Guide\n", b"# Guide\n\nNew words.\n").replace(b"an hour", b"a day")
    KnowledgeSource.objects.filter(pk=source.pk).update(original=changed)
    knowledge.request_index(source)
    knowledge.index(source.pk)
    after = dict(source.chunks.values_list("text", "pk"))
    assert after["In the forum."] == before["In the forum."]
    assert after.keys() == {"New words.", "In the forum.", "Within a day."}
    assert not {after["New words."], after["Within a day."]} & set(before.values())


def test_passages_of_an_earlier_version_are_read_again_and_found_meanwhile(grant: Grant) -> None:
    source = add(grant, PLANS)
    # That version had no rows of pages, and its digest is that of other headings.
    source.pages.all().delete()
    KnowledgeSource.objects.filter(pk=source.pk).update(reader=0, digest="0" * 64)
    source.chunks.update(heading="Support", search_text=None, embedder="hashed-1")
    assert find_headings(grant, "forum support") == ["Support", "Support"]
    assert tasks.pick_up_knowledge() == 1
    knowledge.index(source.pk)
    source.refresh_from_db()
    assert (source.status, source.reader) == (SourceStatus.READY, readers.VERSION)
    assert find_headings(grant, "free forum support")[0] == "Plans > Free > Support"
    assert tasks.pick_up_knowledge() == 0


def test_words_of_passages_are_computed_where_they_are_missing(grant: Grant) -> None:
    source = add(grant)
    source.chunks.update(search_text=None)
    assert find_headings(grant, "yearly") == ["Yearly plans"]
    assert tasks.fill_search_texts() == 3
    assert not source.chunks.filter(search_text=None).exists()
    source.chunks.filter(position=2).update(text="Never.")
    assert source.chunks.filter(search_text=None).count() == 1


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Größe", "GROESSE"),
        ("cafe", "Cafe\u0301"),
        ("e-mail", "an email"),
        ("v2.3.1", "Version 2.3.1"),
        ("退款", "你好。我要退款。订单号"),
        ("sign up", "a signup"),
        ("out of order", "It is out of order."),
        ("encription", "encryption of disks"),
        ("Rechnung", "Alle Rechnungen"),
    ],
)
def test_words_are_found_as_people_write_them(grant: Grant, query: str, text: str) -> None:
    add(grant, f"# A\n\n{text}".encode())
    add(grant, b"# B\n\nOther words about something else.")
    assert find_headings(grant, query) == ["A"]


def test_a_question_with_words_that_nothing_has_finds_nothing(grant: Grant) -> None:
    add(grant, PLANS)
    answer = knowledge.search(Access(grant.organization.pk), "Does the guide describe bitcoin?")
    assert (answer.hits, answer.missing) == ((), ("describe", "bitcoin"))
    assert len(answer.nearest) == 2
    assert answer.ignored == ("does", "the")


def test_a_search_makes_few_statements(grant: Grant, django_assert_num_queries: Any) -> None:
    add(grant)
    find_headings(grant, "yearly")
    with django_assert_num_queries(4):
        find_headings(grant, "yearly")


def word_document() -> bytes:
    document = docx.Document()
    document.add_heading("Holidays", 1)
    document.add_paragraph("Thirty days for everybody.")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def pdf_document(text: str, title: bytes = b"") -> bytes:
    """A PDF of one page, written by hand."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(written)
    return written + (
        b"xref\n0 6\n0000000000 65535 f \n%s"
        b"trailer\n<< /Size 6 /Root 1 0 R /Info << /Title (%s) >> >>\nstartxref\n%d\n%%%%EOF"
        % (table, title, start)
    )


def test_a_title_of_a_pdf_that_no_database_stores_stops_nothing(grant: Grant) -> None:
    title = "\ufeffSa\0fe\x01ty".encode("utf-16-be")
    written = b"".join(b"\\%03o" % byte for byte in title)
    content = pdf_document("Fire drills in May", title=written)
    source = add(grant, content, kind="pdf")
    assert (source.status, source.error, source.passages) == (SourceStatus.READY, "", 1)
    assert source.chunks.get().title == "Safety"


def test_an_older_address_that_is_no_link_is_not_in_an_answer(grant: Grant) -> None:
    for url in ("javascript:alert(1)", "https://help.example.com/refunds"):
        source = add(grant, url="https://help.example.com/other")
        KnowledgeChunk.objects.filter(source=source).update(url=url)
    access = Access(grant.organization.pk)
    urls = {hit.url for hit in knowledge.search(access, "refunds of yearly plans").hits}
    assert urls == {"", "https://help.example.com/refunds"}


@pytest.mark.usefixtures("reading_process")
def test_pdf_word_and_html_files_are_read(grant: Grant) -> None:
    assert add(grant, pdf_document("Fire drills in May"), kind="pdf", title="Safety").passages == 1
    assert find_headings(grant, "fire drills") == ["Page 1"]
    assert add(grant, word_document(), kind="docx").title == "Holidays"
    assert add(grant, PAGE, kind="html").title == "Slack"
    assert find_headings(grant, "channel for cards") == ["Slack"]


UNREADABLE = {
    "pdf": (b"%PDF-1.7 nothing", "The file is not a valid PDF."),
    "docx": (b"PK\x03\x04 nothing", "The file is not a valid Word document (.docx)."),
    "html": (b"<html></html>", "The page has no text."),
    "markdown": (b"\xff\xfe", "The file is not text in UTF-8."),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_file_that_cannot_be_read_says_why(grant: Grant, kind: str) -> None:
    content, reason = UNREADABLE[kind]
    source = add(grant, content, kind=kind)
    assert (source.status, source.error) == (SourceStatus.FAILED, reason)


@pytest.mark.usefixtures("reading_process")
def test_reading_that_takes_too_long_is_ended(grant: Grant) -> None:
    with (
        patch.object(process, "SECONDS", 0.01),
        patch.object(process.read_all, "__defaults__", (0.01,)),
    ):
        source = add(grant)
    assert (source.status, source.error) == (SourceStatus.FAILED, process.TOO_HARD)


@pytest.mark.usefixtures("reading_process")
def test_the_reading_process_has_no_secrets_of_the_server() -> None:
    with patch("subprocess.Popen", wraps=subprocess.Popen) as started:
        process.read_all([("markdown", b"# A\n\nb", "")])
    assert started.call_args.kwargs["env"] == {}


def test_a_long_section_is_cut_between_paragraphs(grant: Grant) -> None:
    paragraph = "Every seat costs the same, whoever sits on it. " * 12
    source = add(grant, f"# Seats\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}".encode())
    texts = KnowledgeChunk.objects.filter(source=source).values_list("text", flat=True)
    assert [len(text) for text in texts.order_by("position")] == [1_128, 563]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"original": b""}, "The file is empty."),
        ({"original": b"x" * (sources.MAX_BYTES + 1)}, "The file has more than 10 MB."),
        ({"kind": "url", "url": "http://example.com/"}, "only https"),
        ({"kind": "url", "url": "https://127.0.0.1/"}, "cannot be fetched"),
        ({"kind": "sitemap", "url": "file:///etc/passwd"}, "cannot be fetched"),
        ({"kind": "url", "url": ""}, "cannot be fetched"),
    ],
)
def test_what_cannot_be_a_source_is_refused(
    grant: Grant, facts: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UnusableSource, match=reason):
        add(grant, **facts)
    assert not KnowledgeSource.objects.exists()


def test_a_web_page_is_fetched_and_read(grant: Grant, web: Site) -> None:
    web.script(sending(PAGE, headers=HTML))
    source = add(grant, None, kind="url", url=f"{web.url}/slack")
    assert (source.status, source.title) == (SourceStatus.READY, "Slack")
    hit = knowledge.search(Access(grant.organization.pk), "slack").hits[0]
    assert hit.url == f"{web.url}/slack"


REFUSED = {
    "answered 404": sending(b"", 404),
    "of a type that is not read: image/png": sending(b"x", headers={"Content-Type": "image/png"}),
    "too large": sending(b"x" * (fetching.MAX_PAGE_BYTES + 1), headers=HTML),
    "redirects to a URL that is not fetched": sending(b"", 302, {"Location": "https://127.0.0.1/"}),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_page_that_cannot_be_fetched_says_why(grant: Grant, web: Site, reason: str) -> None:
    web.script(REFUSED[reason])
    source = add(grant, None, kind="url", url=f"{web.url}/page")
    assert source.status == SourceStatus.FAILED
    assert reason in source.error


def sitemap(root: str, *places: str) -> site.Answer:
    listed = "".join(f"<x><loc>{place}</loc></x>" for place in places)
    name = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return sending(f'<{root} xmlns="{name}">{listed}</{root}>'.encode())


def test_a_sitemap_adds_the_pages_of_its_host_within_the_limit(
    grant: Grant, web: Site, settings: Any
) -> None:
    settings.HALO_SITEMAP_PAGES = 2
    pages = [f"{web.url}/{number}" for number in range(4)]
    web.script(
        sitemap("sitemapindex", f"{web.url}/pages.xml"),
        sitemap("urlset", "https://elsewhere.example/", *pages),
        sending(b"", 404),
        sending(PAGE, headers=HTML),
    )
    source = add(grant, None, kind="sitemap", url=f"{web.url}/sitemap.xml", title="Help")
    assert (source.status, source.title, source.passages) == (SourceStatus.READY, "Help", 1)
    assert [seen.path for seen in web.seen] == ["/sitemap.xml", "/pages.xml", "/0", "/1"]
    assert KnowledgeChunk.objects.get().url == pages[1]


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><loc>&b;</loc></urlset>'


@pytest.mark.parametrize("content", [b"no xml", b"<urlset/>", BOMB])
def test_a_sitemap_of_nothing_is_a_failure(grant: Grant, web: Site, content: bytes) -> None:
    web.script(sending(content))
    source = add(grant, None, kind="sitemap", url=f"{web.url}/sitemap.xml")
    assert (source.status, source.error[:11]) == (SourceStatus.FAILED, "The sitemap")


def test_a_failed_source_keeps_the_passages_that_it_had(grant: Grant, web: Site) -> None:
    web.script(sending(PAGE, headers=HTML), sending(b"", 500))
    source = add(grant, None, kind="url", url=f"{web.url}/slack")
    knowledge.request_index(source)
    knowledge.index(source.pk)
    source.refresh_from_db()
    assert source.status == SourceStatus.FAILED
    assert find_headings(grant, "slack") == ["Slack"]


def test_what_a_crash_left_is_picked_up(grant: Grant) -> None:
    waiting = knowledge.add(grant.organization, kind="markdown", original=REFUNDS)
    ended = knowledge.add(grant.organization, kind="markdown", original=REFUNDS)
    KnowledgeSource.objects.filter(pk=ended.pk).update(
        status=SourceStatus.INDEXING, leased_until=timezone.now() + LEASE
    )
    assert tasks.pick_up_knowledge() == 0
    earlier = timezone.now() - document_claims.LOST_AFTER * 2
    KnowledgeSource.objects.update(updated_at=earlier, leased_until=None)
    KnowledgeSource.objects.filter(pk=ended.pk).update(leased_until=earlier)
    assert run_with_sent(tasks.pick_up_knowledge) == 2
    for source in (waiting, ended):
        source.refresh_from_db()
        assert source.status == SourceStatus.READY


def test_a_source_is_indexed_by_one_worker_at_a_time(grant: Grant) -> None:
    source = knowledge.add(grant.organization, kind="markdown", original=REFUNDS)
    KnowledgeSource.objects.filter(pk=source.pk).update(
        status=SourceStatus.INDEXING, leased_until=timezone.now() + LEASE
    )
    tasks.index_knowledge(source.pk)
    assert not KnowledgeChunk.objects.exists()


def test_a_result_is_discarded_if_the_source_was_changed_meanwhile(grant: Grant) -> None:
    source = knowledge.add(grant.organization, kind="markdown", original=REFUNDS)
    read = process.read_all

    def read_late(documents: Any) -> Any:
        knowledge.request_index(source)
        return read(documents)

    with patch.object(process, "read_all", read_late):
        knowledge.index(source.pk)
    source.refresh_from_db()
    assert (source.status, source.passages) == (SourceStatus.PENDING, 0)


class Silent:
    """An embedder that does not answer."""

    name = "silent"

    def passages(self, _passages: Any) -> Any:
        raise RetrievalUnavailable("It does not answer.")

    query = passages


def test_without_an_embedder_the_words_are_searched_and_vectors_follow(grant: Grant) -> None:
    with patch.object(configured, "embedder", Silent):
        assert add(grant).status == SourceStatus.READY
        assert find_headings(grant, "yearly") == ["Yearly plans"]
        assert find_headings(grant, "purchase") == ["Yearly plans"]
        assert tasks.embed_missing() == 0
    assert tasks.embed_missing() == 3
    assert find_headings(grant, "purchase")[0] == "Yearly plans"
    assert tasks.embed_missing() == 0


def test_without_an_answer_of_the_reranker_the_order_is_that_before(
    grant: Grant, settings: Any
) -> None:
    add(grant)
    settings.HALO_RERANKER, settings.HALO_RERANKER_URL = "voyage", "http://127.0.0.1:1"
    with patch.object(hosted, "QUERY_SECONDS", 0.2):
        assert find_headings(grant, "yearly")[0] == "Yearly plans"


def test_a_knowledge_base_has_an_end(grant: Grant) -> None:
    with patch.object(indexing, "MAX_PASSAGES", 4):
        assert add(grant).status == SourceStatus.READY
        more = add(grant)
    assert (more.status, more.error) == (
        SourceStatus.FAILED,
        "The knowledge base would have more than 4 passages.",
    )
