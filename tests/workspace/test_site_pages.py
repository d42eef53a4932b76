"""What a site says of its pages counts: which are indexed, at which address, and what is new."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.utils import timezone

import knowledge
from customers import tasks
from customers.demo import seeding
from knowledge import fetching, page_reading
from retrieval.documents import process
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import resetting, sending
from tests.drivers.grants import Grant
from tests.drivers.web_site import HTML, WebSite, sending_page
from tests.workspace.test_knowledge import read_here
from workspace.models import KnowledgeChunk, KnowledgePage, KnowledgeSource, SourceStatus

pytestmark = pytest.mark.django_db

REFUNDS = "<p>Whoever pays for a year gets the money back within thirty days.</p>"
SEATS = "<p>Every seat costs the same, and guests of a board need none at all.</p>"
PORTS = "<p>The agent listens on port 7443 and can be set to use another one.</p>"


@pytest.fixture(autouse=True)
def _read_here() -> Iterator[None]:
    """Documents are read in this process, which is faster; nothing runs what is sent."""
    with (
        patch.object(process, "read_all", read_here),
        patch("foundation.queueing.send", lambda *_sent: None),
    ):
        yield


@pytest.fixture
def web(settings: Any) -> Iterator[WebSite]:
    with site.serving(WebSite()) as serving:
        assert isinstance(serving, WebSite)
        settings.HALO_KNOWLEDGE_PRIVATE_HOSTS = frozenset({serving.url.removeprefix("http://")})
        yield serving


def add(grant: Grant, web: WebSite, path: str = "") -> KnowledgeSource:
    """A source of the whole site, or of one page, indexed."""
    kind, url = ("url", web.url + path) if path else ("sitemap", f"{web.url}/sitemap.xml")
    return index(knowledge.add(grant.organization, kind=kind, url=url))


def index(source: KnowledgeSource) -> KnowledgeSource:
    tasks.index_knowledge(source.pk)
    source.refresh_from_db()
    return source


def index_again(source: KnowledgeSource) -> KnowledgeSource:
    knowledge.request_index(source)
    return index(source)


def states(source: KnowledgeSource) -> dict[str, str]:
    """The state of each page, by its path in the list."""
    pages = KnowledgePage.objects.filter(source=source)
    return {f"/{page.url.split('/', 3)[3]}": page.state for page in pages}


def page_at(source: KnowledgeSource, path: str) -> KnowledgePage:
    return KnowledgePage.objects.get(source=source, url__endswith=path)


def texts(source: KnowledgeSource) -> str:
    """All that is searched of a source."""
    chunks = KnowledgeChunk.objects.filter(source=source).order_by("position")
    return "\n".join(chunks.values_list("text", flat=True))


def requests_of(web: WebSite, path: str) -> list[site.Seen]:
    return [seen for seen in web.seen if seen.path == path]


def serve(web: WebSite, **pages: site.Answer) -> None:
    web.pages.update({f"/{name}": answer for name, answer in pages.items()})
    web.list_pages(*(f"/{name}" for name in pages))


def test_pages_that_robots_txt_forbids_are_listed_and_never_fetched(
    grant: Grant, web: WebSite
) -> None:
    web.robots = sending(
        b"User-agent: *\nDisallow: /private\nAllow: /private/faq\nDisallow: /*.print$\n"
        b"User-agent: otherbot\nDisallow: /\n"
    )
    web.pages |= {
        "/seats": sending_page(SEATS),
        "/private/plan": sending_page("<p>SECRET</p>"),
        "/private/faq": sending_page(PORTS),
        "/seats.print": sending_page("<p>SECRET</p>"),
    }
    web.list_pages("/seats", "/private/plan", "/private/faq", "/seats.print", "/%70rivate/plan")
    source = add(grant, web)
    assert states(source) == {
        "/seats": "read",
        "/private/plan": "excluded",
        "/private/faq": "read",
        "/seats.print": "excluded",
        "/%70rivate/plan": "excluded",
    }
    assert page_at(source, "/private/plan").error == "The site's robots.txt does not permit it."
    assert "SECRET" not in texts(source)
    assert not [seen for seen in web.seen if "plan" in seen.path or "print" in seen.path]


def test_a_group_for_halo_replaces_the_one_for_all_robots(grant: Grant, web: WebSite) -> None:
    web.robots = sending(
        b"User-agent: *\nDisallow: /\n\nUser-agent: x\nUser-agent: Halo-MCP\nDisallow: /no\n"
    )
    serve(web, yes=sending_page(SEATS), no=sending_page(PORTS))
    assert states(add(grant, web)) == {"/yes": "read", "/no": "excluded"}


def test_nothing_is_fetched_while_robots_txt_cannot_be_had(grant: Grant, web: WebSite) -> None:
    serve(web, seats=sending_page(SEATS))
    source = add(grant, web)
    web.robots, web.seen[:] = sending(b"", 503), []
    index_again(source)
    assert (source.status, source.error) == (
        SourceStatus.FAILED,
        "The site's robots.txt could not be fetched: the server answered 503.",
    )
    assert states(source) == {"/seats": "kept"}
    assert "Every seat" in texts(source)
    assert not requests_of(web, "/seats")


def test_a_redirect_to_a_page_that_robots_txt_forbids_is_not_indexed(
    grant: Grant, web: WebSite
) -> None:
    web.robots = sending(b"User-agent: *\nDisallow: /private\n")
    web.pages["/private"] = sending_page("<p>SECRET</p>")
    serve(web, a=sending(b"", 302, {"Location": "/private"}), b=sending_page(SEATS))
    source = add(grant, web)
    assert states(source) == {"/a": "excluded", "/b": "read"}
    assert "SECRET" not in texts(source)


SCRIPT = "<script src=/app.js></script>"
NOT_INDEXED = {
    "noindex in a meta element": sending_page(
        "<p>SECRET prices</p>", head='<meta name="Robots" content="nofollow, NOINDEX">'
    ),
    "none for Halo by name": sending_page(
        "<p>SECRET</p>", head='<meta name="halo-mcp" content="none">'
    ),
    "noindex in a header": sending_page("<p>SECRET</p>", headers={"X-Robots-Tag": "noindex"}),
    "noindex for all in a header": sending_page(
        "<p>SECRET</p>", headers={"X-Robots-Tag": "nofollow, *: noindex"}
    ),
    "a form to sign in": sending_page(
        "<p>SECRET area</p><form><label>Email<input name=e></label><input type=password></form>"
    ),
    "status 401": sending(b"SECRET", 401),
    "a redirect to sign in": sending(b"", 302, {"Location": "/login?next=/portal"}),
    "a redirect to another host's sign-in": sending(
        b"", 302, {"Location": "https://id.example/sso/start"}
    ),
    "a page that needs JavaScript": sending(
        f"<body><noscript>Please enable JavaScript, SECRET</noscript><div id=root></div>{SCRIPT}"
        "</body>".encode(),
        headers=HTML,
    ),
    "a page that only leads to another": sending(
        b'<meta http-equiv="refresh" content="0; url=/seats"><p>SECRET moved</p>', headers=HTML
    ),
}


@pytest.mark.parametrize("case", NOT_INDEXED)
def test_what_is_not_to_be_indexed_is_listed_with_the_reason(
    grant: Grant, web: WebSite, case: str
) -> None:
    web.pages["/login"] = sending_page("<p>Continue with your company account.</p>")
    serve(web, seats=sending_page(SEATS), portal=sending_page("<p>SECRET of an old day</p>"))
    source = add(grant, web)
    assert "SECRET" in texts(source)
    web.pages["/portal"] = NOT_INDEXED[case]
    index_again(source)
    assert (source.status, source.error) == (SourceStatus.READY, "")
    assert states(source)["/portal"] == "excluded"
    assert page_at(source, "/portal").error
    assert "SECRET" not in texts(source)
    assert "company account" not in texts(source)


INDEXED = {
    "noindex for another robot": sending_page(
        PORTS, headers={"X-Robots-Tag": "googlebot: noindex, bingbot: none"}
    ),
    "a header that limits its time": sending_page(
        PORTS, headers={"X-Robots-Tag": "unavailable_after: 25 Jun 2030 15:00:00 PST"}
    ),
    "an article about passwords with a form": sending_page(
        PORTS
        + "<p>To change a password, open your profile and enter the old one twice.</p>" * 8
        + "<form><input type=password></form>"
    ),
    "an article about JavaScript": sending_page(PORTS + "<p>Enable JavaScript in settings.</p>"),
    "an article at a new address about signing in": sending_page(PORTS),
}


@pytest.mark.parametrize("case", INDEXED)
def test_pages_that_only_look_like_those_are_indexed(grant: Grant, web: WebSite, case: str) -> None:
    serve(web, login=INDEXED[case])
    assert states(source := add(grant, web)) == {"/login": "read"}
    assert "port 7443" in texts(source)


def test_a_single_page_that_is_not_to_be_indexed_makes_its_source_so(
    grant: Grant, web: WebSite
) -> None:
    web.pages["/draft"] = sending_page(SEATS)
    source = add(grant, web, "/draft")
    assert (source.status, source.passages) == (SourceStatus.READY, 1)
    web.pages["/draft"] = NOT_INDEXED["noindex in a header"]
    index_again(source)
    assert (source.status, source.passages) == (SourceStatus.EXCLUDED, 0)
    assert source.error == "The page says that it is not to be indexed (noindex)."
    assert not texts(source)


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_loses_its_text_at_once_and_is_listed(
    grant: Grant, web: WebSite, status: int
) -> None:
    serve(web, seats=sending_page(SEATS), ports=sending_page(PORTS))
    source = add(grant, web)
    web.pages["/ports"] = sending(b"", status)
    index_again(source)
    assert states(source) == {"/seats": "unchanged", "/ports": "gone"}
    assert page_at(source, "/ports").error.endswith(f"the server answered {status}.")
    assert "7443" not in texts(source)
    web.pages["/ports"] = sending_page(PORTS)
    index_again(source)
    assert states(source)["/ports"] == "read"
    assert "7443" in texts(source)


def test_a_connection_that_breaks_keeps_the_page_with_the_reason(
    grant: Grant, web: WebSite
) -> None:
    serve(web, seats=sending_page(SEATS), ports=sending_page(PORTS))
    source = add(grant, web)
    read_at = page_at(source, "/ports").read_at
    web.pages["/ports"] = resetting
    index_again(source)
    kept = page_at(source, "/ports")
    assert (kept.state, kept.read_at, kept.passage_count) == ("kept", read_at, 1)
    assert kept.tried_at is not None
    assert read_at is not None
    assert kept.tried_at > read_at
    assert kept.error.startswith("The page could not be fetched.")
    assert "7443" in texts(source)


REFUSED = {
    "redirects to a URL that is not fetched": sending(b"", 302, {"Location": "https://127.0.0.1/"}),
    "too large": sending(b"x" * (fetching.MAX_PAGE_BYTES + 1), headers=HTML),
    "of a type that is not read": sending(b"x", headers={"Content-Type": "image/png"}),
    "the server answered 301": sending(b"", 301),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_not_fetched_keeps_the_page_with_the_reason(
    grant: Grant, web: WebSite, reason: str
) -> None:
    serve(web, seats=sending_page(SEATS), ports=sending_page(PORTS))
    source = add(grant, web)
    web.pages["/ports"] = REFUSED[reason]
    index_again(source)
    assert states(source) == {"/seats": "unchanged", "/ports": "kept"}
    assert reason in page_at(source, "/ports").error
    assert "7443" in texts(source)


def test_an_etag_that_cannot_be_sent_back_stops_no_reading(grant: Grant, web: WebSite) -> None:
    for etag in ('"é"', f'"{"x" * 400}"'):
        serve(web, seats=sending_page(SEATS, headers={"ETag": etag}))
        source = add(grant, web)
        index_again(source)
        assert (states(source), page_at(source, "/seats").etag) == ({"/seats": "unchanged"}, "")
        knowledge.remove(source)


def test_a_page_that_is_not_listed_any_more_is_gone_and_then_forgotten(
    grant: Grant, web: WebSite
) -> None:
    serve(web, seats=sending_page(SEATS), ports=sending_page(PORTS))
    source = add(grant, web)
    web.list_pages("/seats")
    index_again(source)
    gone = page_at(source, "/ports")
    assert (gone.state, gone.error) == ("gone", "The sitemap does not list the page any more.")
    assert "7443" not in texts(source)
    index_again(source)
    assert states(source) == {"/seats": "unchanged"}


def conditional(answer: site.Answer, name: str, value: str) -> site.Answer:
    """A page whose server answers 304 to a request for another version than this one."""

    def respond(handler: Any) -> None:
        chosen = sending(b"", 304) if handler.headers.get(name) == value else answer
        chosen(handler)

    return respond


@pytest.mark.parametrize(
    ("header", "value", "asked"),
    [
        ("ETag", 'W/"v-1"', "If-None-Match"),
        ("Last-Modified", "Sun, 01 Nov 2026 08:00:00 GMT", "If-Modified-Since"),
    ],
)
def test_a_page_that_the_server_says_has_not_changed_is_not_read_again(
    grant: Grant, web: WebSite, header: str, value: str, asked: str
) -> None:
    page = sending_page(SEATS, headers={header: value})
    serve(web, seats=conditional(page, asked, value))
    source = add(grant, web)
    first = page_at(source, "/seats")
    passages = set(source.chunks.values_list("pk", flat=True))
    with patch.object(process, "read_all", side_effect=AssertionError):
        index_again(source)
    again = page_at(source, "/seats")
    assert requests_of(web, "/seats")[-1].headers[asked.lower()] == value
    assert (again.state, again.pk, source.status) == ("unchanged", first.pk, SourceStatus.READY)
    assert again.read_at is not None
    assert first.read_at is not None
    assert again.read_at > first.read_at
    assert set(source.chunks.values_list("pk", flat=True)) == passages
    if header == "Last-Modified":
        assert again.modified_at == datetime(2026, 11, 1, 8, tzinfo=UTC)


def test_the_same_content_without_a_validator_is_not_read_again(grant: Grant, web: WebSite) -> None:
    serve(web, seats=sending_page(SEATS))
    source = add(grant, web)
    with patch.object(process, "read_all", side_effect=AssertionError):
        index_again(source)
    assert states(source) == {"/seats": "unchanged"}


def test_a_page_is_not_requested_while_the_sitemap_lists_the_same_date(
    grant: Grant, web: WebSite
) -> None:
    web.pages["/seats"] = sending_page(SEATS)
    web.list_pages("/seats", lastmod="2026-10-05")
    source = add(grant, web)
    assert page_at(source, "/seats").modified_at == datetime(2026, 10, 5, tzinfo=UTC)
    index_again(source)
    assert (states(source), len(requests_of(web, "/seats"))) == ({"/seats": "unchanged"}, 1)
    web.pages["/seats"] = sending_page(PORTS)
    web.list_pages("/seats", lastmod="2026-10-06")
    assert "7443" in texts(index_again(source))
    # A site may list the same date for ever.
    web.pages["/seats"] = sending_page(REFUNDS)
    long_ago = timezone.now() - page_reading.TRUSTED - timedelta(hours=1)
    KnowledgePage.objects.update(read_at=long_ago)
    assert "thirty days" in texts(index_again(source))


def test_a_failure_does_not_count_as_a_reading_of_the_listed_date(
    grant: Grant, web: WebSite
) -> None:
    web.pages["/seats"] = sending_page(SEATS)
    web.list_pages("/seats", lastmod="2026-10-05")
    source = add(grant, web)
    web.pages["/seats"] = sending(b"", 503)
    web.list_pages("/seats", lastmod="2026-10-06")
    index_again(source)
    web.pages["/seats"] = sending_page(PORTS)
    assert "7443" in texts(index_again(source))


def test_pages_are_read_again_when_readers_have_changed(grant: Grant, web: WebSite) -> None:
    serve(
        web, seats=conditional(sending_page(SEATS, headers={"ETag": '"1"'}), "If-None-Match", '"1"')
    )
    source = add(grant, web)
    with patch("retrieval.documents.readers.VERSION", 10_000):
        index_again(source)
    assert states(source) == {"/seats": "read"}
    assert "if-none-match" not in requests_of(web, "/seats")[-1].headers


def test_a_moved_page_is_once_in_the_index_at_its_final_address(grant: Grant, web: WebSite) -> None:
    serve(
        web,
        moved=sending(b"", 301, {"Location": "/api-v2"}),
        ports=sending_page(PORTS, title="Ports"),
        **{"api-v2": sending_page(SEATS, title="API")},
    )
    source = add(grant, web)
    assert states(source) == {"/moved": "copy", "/ports": "read", "/api-v2": "read"}
    assert page_at(source, "/moved").error == (
        f"It has the same text as {web.url}/api-v2, which is kept."
    )
    assert [*source.chunks.filter(text__contains="seat").values_list("url", flat=True)] == [
        f"{web.url}/api-v2"
    ]
    web.list_pages("/moved", "/ports")
    index_again(source)
    assert states(source)["/moved"] == "unchanged"
    assert source.chunks.get(text__contains="seat").url == f"{web.url}/api-v2"


def test_the_canonical_address_is_cited_unless_it_is_of_another_site_or_page(
    grant: Grant, web: WebSite
) -> None:
    def page(text: str, canonical: str, title: str) -> site.Answer:
        return sending_page(text, title=title, head=f'<link rel="canonical" href="{canonical}">')

    serve(
        web,
        print=page(SEATS, "/seats", "Seats"),
        other=page(PORTS, "https://elsewhere.example/ports", "Ports"),
        first=page(REFUNDS, "/", "Refunds"),
        second=page("<p>Boards are archived after one year of silence.</p>", "/", "Boards"),
    )
    source = add(grant, web)
    assert set(states(source).values()) == {"read"}
    urls = source.chunks.order_by("position").values_list("url", flat=True)
    assert [url.removeprefix(web.url) for url in urls] == ["/seats", "/other", "/", "/second"]


def test_a_page_that_differs_in_one_word_is_no_copy(grant: Grant, web: WebSite) -> None:
    long = SEATS + PORTS + REFUNDS * 10
    serve(
        web,
        v1=sending_page(f"{long}<p>It needs Node 14.</p>"),
        v2=sending_page(f"{long}<p>It needs Node 22.</p>"),
        same=sending_page(f"<p>It needs Node 22.</p>{long}".replace("Every seat", "EVERY  seat")),
    )
    source = add(grant, web)
    found = texts(source)
    assert ("Node 14" in found, "Node 22" in found) == (True, True)
    assert sorted(states(source).values()) == ["copy", "read", "read"]


def test_only_the_main_content_without_repeated_blocks_is_indexed(
    grant: Grant, web: WebSite
) -> None:
    asks = "<p>Was this page helpful? Write to us.</p>"
    names = ("seats", "ports", "refunds", "boards")
    bodies = (SEATS, PORTS, REFUNDS, "<p>Boards are archived after one year.</p>")
    serve(
        web,
        **{
            name: sending_page(body + asks, title=name.title())
            for name, body in zip(names, bodies, strict=True)
        },
    )
    source = add(grant, web)
    found = texts(source)
    assert source.passages == 4
    for text in ("Home Prices", "Imprint", "helpful"):
        assert text not in found
    assert "Every seat costs the same" in found


def test_a_source_that_was_indexed_before_pages_had_rows_keeps_what_fails(
    grant: Grant, web: WebSite
) -> None:
    serve(web, seats=sending_page(SEATS), ports=sending_page(PORTS))
    source = add(grant, web)
    KnowledgePage.objects.all().delete()
    web.pages["/ports"] = sending(b"", 503)
    index_again(source)
    assert states(source) == {"/seats": "read", "/ports": "kept"}
    assert "7443" in texts(source)


def test_clearing_the_data_of_an_organization_deletes_pages_too(grant: Grant, web: WebSite) -> None:
    serve(web, seats=sending_page(SEATS))
    add(grant, web)
    seeding.clear(grant.organization)
    assert not KnowledgePage.objects.exists()
    assert not KnowledgeSource.objects.exists()


@pytest.mark.parametrize(
    "answer",
    [
        sending(b"User-agent: *\n" + b"Disallow: /a*b*c*d*e*f*$\n" * 20_000),
        sending(b"\xff\xfe\x00" * 1_000),
        sending(b":::\nDisallow\nUser-agent\n*: *\n"),
    ],
)
def test_a_hostile_robots_txt_stops_nothing(
    grant: Grant, web: WebSite, answer: site.Answer
) -> None:
    web.robots = answer
    serve(web, **{"a" * 500: sending_page(SEATS)})
    assert add(grant, web).status == SourceStatus.READY
