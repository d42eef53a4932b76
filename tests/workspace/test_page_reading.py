"""Sites are read in turns; each page has a state, and what fails for the moment keeps its text."""

from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

import pytest

import knowledge
from customers import tasks
from knowledge import fetching, page_reading
from retrieval.documents import process
from retrieval.documents.readers import read
from tests.drivers import grants
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Site, sending
from tests.drivers.grants import Grant
from tests.drivers.web_site import WebSite
from workspace import document_claims
from workspace.models import KnowledgeChunk, KnowledgePage, KnowledgeSource, SourceStatus

pytestmark = pytest.mark.django_db

HTML = {"Content-Type": "text/html; charset=utf-8"}
NAME = "http://www.sitemaps.org/schemas/sitemap/0.9"


@pytest.fixture(autouse=True)
def _read_here() -> Iterator[None]:
    """Documents are read in this process, which is faster."""

    def read_here(documents: Any) -> Any:
        return [read(*document) for document in documents]

    with patch.object(process, "read_all", read_here):
        yield


@pytest.fixture
def queued_tasks() -> Iterator[list[tuple[str, str]]]:
    """The tasks that are sent, which nothing runs."""
    sent: list[tuple[str, str]] = []
    with patch("foundation.queueing.send", lambda *given: sent.append(given)):
        yield sent


@pytest.fixture
def web(settings: Any) -> Iterator[Site]:
    with site.serving(WebSite()) as serving:
        settings.HALO_KNOWLEDGE_PRIVATE_HOSTS = frozenset({serving.url.removeprefix("http://")})
        yield serving


def page(name: str) -> site.Answer:
    html = f"<html><head><title>{name}</title></head><body><article><h1>{name}</h1>"
    text = "Every board can post its new cards into one channel of your workspace."
    return sending(f"{html}<p>{name} {text}</p></article></body></html>".encode(), headers=HTML)


def script(web: Site, pages: Mapping[str, site.Answer]) -> None:
    """The sitemap, then each of its pages, in this order."""
    listed = "".join(f"<x><loc>{web.url}/{name}</loc></x>" for name in pages)
    web.script(sending(f'<urlset xmlns="{NAME}">{listed}</urlset>'.encode()), *pages.values())


def add(grant: Grant, web: Site) -> KnowledgeSource:
    return knowledge.add(grant.organization, kind="sitemap", url=f"{web.url}/sitemap.xml")


def index(source: KnowledgeSource) -> KnowledgeSource:
    tasks.index_knowledge(source.pk)
    source.refresh_from_db()
    return source


def known_pages(source: KnowledgeSource) -> set[str]:
    """The pages with passages, by the last part of their address."""
    urls = KnowledgeChunk.objects.filter(source=source).values_list("url", flat=True)
    return {url.rpartition("/")[2] for url in urls}


@pytest.mark.usefixtures("queued_tasks")
@pytest.mark.parametrize("status", [500, 503, 429, 403])
def test_pages_that_fail_for_the_moment_keep_their_passages_and_are_counted(
    grant: Grant, web: Site, status: int
) -> None:
    names = [f"p{number}" for number in range(10)]
    script(web, {name: page(name) for name in names})
    source = index(add(grant, web))
    assert (source.status, source.error, known_pages(source)) == (SourceStatus.READY, "", {*names})
    down = {name: sending(b"", status) for name in names[1:]}
    script(web, {"p0": page("changed"), **down})
    knowledge.request_index(source)
    index(source)
    assert (source.status, known_pages(source)) == (SourceStatus.READY, {*names})
    assert source.error.startswith(
        "9 of 10 pages could not be read; what was known of them is kept. "
        f"The first is {web.url}/p1: The page could not be fetched: the server answered {status}"
    )
    first = KnowledgeChunk.objects.filter(source=source).earliest("position")
    assert first.title == "changed"
    states = KnowledgePage.objects.order_by("position").values_list("state", flat=True)
    assert [*states] == ["read", *["kept"] * 9]


@pytest.mark.usefixtures("queued_tasks")
def test_an_address_that_is_longer_than_sitemaps_allow_stops_no_other_page(
    grant: Grant, web: Site
) -> None:
    long = f"{web.url}/{'a' * 2_048}"
    listed = "".join(f"<x><loc>{url}</loc></x>" for url in (long, f"{web.url}/short"))
    web.script(sending(f'<urlset xmlns="{NAME}">{listed}</urlset>'.encode()), page("short"))
    source = index(add(grant, web))
    assert (source.status, source.error, known_pages(source)) == (SourceStatus.READY, "", {"short"})


@pytest.mark.usefixtures("queued_tasks")
@pytest.mark.parametrize("status", [404, 410])
def test_only_pages_that_are_gone_or_not_listed_any_more_lose_their_passages(
    grant: Grant, web: Site, status: int
) -> None:
    script(web, {name: page(name) for name in ("stays", "gone", "unlisted")})
    source = index(add(grant, web))
    script(web, {"stays": page("stays"), "gone": sending(b"", status)})
    knowledge.request_index(source)
    assert (index(source).error, known_pages(source)) == ("", {"stays"})


@pytest.mark.usefixtures("queued_tasks")
def test_a_site_of_which_no_page_can_be_read_stays_as_it_was(grant: Grant, web: Site) -> None:
    script(web, {name: page(name) for name in ("a", "b")})
    source = index(add(grant, web))
    script(web, {name: sending(b"", 503) for name in ("a", "b")})
    knowledge.request_index(source)
    index(source)
    assert (source.status, known_pages(source)) == (SourceStatus.FAILED, {"a", "b"})
    assert {page.state for page in KnowledgePage.objects.all()} == {"kept"}


def test_a_site_is_read_in_turns_between_which_others_have_the_thread(
    grant: Grant, web: Site, queued_tasks: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_reading, "TURN_PAGES", 2)
    names = [f"p{number}" for number in range(5)]
    script(web, {name: page(name) for name in names})
    source, other = add(grant, web), grants.make_grant().organization
    waiting = knowledge.add(other, kind="markdown", original=b"# Seats\n\nEach costs the same.")
    queued_tasks.clear()
    seen = [(index(source).status, len(web.seen) - 1, source.attempts) for _ in range(3)]
    assert seen == [("pending", 2, 0), ("pending", 4, 0), ("ready", 5, 0)]
    assert known_pages(source) == {*names}
    assert queued_tasks[0] == ("workspace.index_knowledge", waiting.pk)


@pytest.mark.usefixtures("queued_tasks")
def test_a_site_goes_on_with_another_worker_where_the_first_one_ended(
    grant: Grant, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_reading, "TURN_PAGES", 1)
    script(web, {name: page(name) for name in ("a", "b")})
    source = index(add(grant, web))
    with monkeypatch.context() as patched:

        def end_process(*_given: Any) -> Any:
            raise SystemExit

        patched.setattr(fetching, "page", end_process)
        with pytest.raises(SystemExit):
            index(source)
    assert index(source).status == SourceStatus.INDEXING
    KnowledgeSource.objects.update(leased_until=source.created_at)
    assert document_claims.find_left(KnowledgeSource) == [source.pk]
    assert (index(source).status, known_pages(source)) == (SourceStatus.READY, {"a", "b"})


@pytest.mark.usefixtures("queued_tasks")
def test_a_site_with_more_bytes_than_are_read_says_which_pages_were_left_out(
    grant: Grant, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_reading, "TURN_PAGES", 1)
    monkeypatch.setattr(page_reading, "MAX_TOTAL_BYTES", 1)
    script(web, {name: page(name) for name in ("a", "b", "c")})
    source = index(add(grant, web))
    index(source)
    assert (source.status, known_pages(source)) == (SourceStatus.READY, {"a"})
    assert "2 of 3 pages could not be read" in source.error
    assert "The site has more than 50 MB." in source.error
