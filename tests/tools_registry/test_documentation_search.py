"""Whatever is asked, search answers with sections or with nothing, and never with an error."""

from collections.abc import Callable
from pathlib import Path

import pytest

from documentation.index import refresh
from documentation.search import DocumentationHit, pages, read
from tests.drivers.documentation import search

CORPUS = Path(__file__).parent.parent / "fixtures" / "documentation"

Write = Callable[..., None]

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus() -> None:
    refresh(CORPUS)


@pytest.fixture
def write_pages(tmp_path: Path) -> Write:
    """Index pages given by their names and Markdown."""

    def write(**sources: str) -> None:
        for slug, source in sources.items():
            (tmp_path / f"{slug}.md").write_text(source)
        refresh(tmp_path)

    return write


def test_a_hit_names_its_page_and_its_section(write_pages: Write) -> None:
    write_pages(tokens="# Tokens\n\nThey expire.\n\n## Ending one\n\nRevoke it **at once**.\n")
    hits = search("revoke", 5)
    assert hits == [
        DocumentationHit("tokens", "Tokens", "Ending one", "ending-one", hits[0].snippet, 1.0)
    ]
    assert hits[0].snippet == "**Revoke** it at once."


@pytest.mark.usefixtures("corpus")
def test_hits_come_best_first_with_rounded_scores() -> None:
    scores = [hit.score for hit in search("tokens of a client", 10)]
    assert len(scores) > 2
    assert scores == sorted(scores, reverse=True)
    assert scores == [round(score, 4) for score in scores]


@pytest.mark.usefixtures("corpus")
def test_a_page_that_has_much_to_say_takes_two_places_at_most() -> None:
    found = [hit.page for hit in search("webhook ticket escalation agent token", 50)]
    assert len(set(found)) > 3
    assert max(found.count(page) for page in found) == 2


@pytest.mark.usefixtures("corpus")
def test_no_more_hits_than_wanted_are_given() -> None:
    assert len(search("token", 2)) == 2


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_finds_nothing(limit: int) -> None:
    assert search("token", limit) == []


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    "query", ["xyzzy", "plugh frotz", "", "   ", "the of and", "how do I", "🎉"]
)
def test_nothing_known_finds_nothing(query: str) -> None:
    assert search(query, 5) == []


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    "query",
    [
        'revoke "token',
        "revoke' token''",
        "revoke AND OR NOT token",
        "NEAR(revoke token, 2)",
        "revoke & | ! <-> token:*",
        "page_title: revoke ^token -text:x",
        "(((revoke token",
        "revoke\x00 token",
        "revoke \ud800 token",
        "revoke % _ \\ token",
        "revoke 🎉 token",
        "revoke \ue000 token \ue001",
        "revoke; DROP TABLE tools_registry_documentationsection; --token",
        "REVOKE\n\tTOKEN",
        "revoke token " + "filler" * 1700,
        "revoke token " + "the " * 2500,
        "revoke token " + " ".join(f"w{number}" for number in range(2000)),
        "revoke ٣ ² token",
    ],
)
def test_any_text_is_a_question(query: str) -> None:
    assert search(query, 3)[0].heading == "Revoking a token"


def test_words_match_in_every_form(write_pages: Write) -> None:
    write_pages(page="# Page\n\nClients are revoked.\n")
    assert len(search("revoking a client", 5)) == 1


@pytest.mark.parametrize("beginning", ["int", "integ", "integrat", "integratio", "INTEGRATION"])
def test_the_last_word_may_be_unfinished(write_pages: Write, beginning: str) -> None:
    write_pages(page="# Page\n\nIntegrations act for you.\n")
    hits = search(f"how many {beginning}", 5)
    assert [hit.snippet for hit in hits] == ["**Integrations** act for you."]


def test_only_the_last_word_may_be_unfinished(write_pages: Write) -> None:
    write_pages(page="# Page\n\nIntegrations act for you.\n")
    assert search("integrat xyzzy", 5) == []


def test_a_whole_word_beats_a_longer_one(write_pages: Write) -> None:
    write_pages(
        one="# One\n\nThe login page has a login form and a login button.\n",
        two="# Two\n\nThe log of what happened is kept for a long while, and then removed.\n",
    )
    assert [hit.page for hit in search("log", 5)] == ["two", "one"]


def test_a_title_counts_more_than_a_heading_and_a_heading_more_than_text(
    write_pages: Write,
) -> None:
    filler = "Other words stand here. " * 4
    write_pages(
        text=f"# First\n\n## Part\n\n{filler} quota\n",
        heading=f"# Second\n\n## Quota\n\n{filler} more\n",
        title=f"# Quota\n\n## Part\n\n{filler} more\n",
    )
    assert [hit.page for hit in search("quota", 5)] == ["title", "heading", "text"]


def test_the_right_heading_beats_a_short_section_under_the_right_title(write_pages: Write) -> None:
    short = "## Where\n\nCounters live in memory or Redis."
    right = (
        "## The quota\n\n" + "Every connection has its own quota, counted again each minute. " * 4
    )
    write_pages(quota=f"# Quota\n\n{short}\n\n{right}\n")
    assert search("quota", 5)[0].heading == "The quota"


def test_a_section_with_all_words_beats_one_that_repeats_some(write_pages: Write) -> None:
    write_pages(
        some="# Some\n\nLimits and limits: limits everywhere, limits above limits.\n",
        every="# Every\n\nThis page says in passing that the monthly quota has its own limits.\n",
    )
    assert [hit.page for hit in search("monthly limits", 5)] == ["every", "some"]


def test_words_that_stand_together_beat_the_same_words_apart(write_pages: Write) -> None:
    write_pages(
        apart="# Page\n\nA rate is a number. Whoever counts knows that each has a limit.\n",
        joint="# Page\n\nA number is a rate limit. Whoever counts knows that each has one.\n",
    )
    assert [hit.page for hit in search("rate limit", 5)] == ["joint", "apart"]


@pytest.mark.parametrize(
    "name", ["tools/list", "hubspot.create_deal", "actions:linear:*", "-32002", "<url>", "X-Rate"]
)
def test_technical_names_are_found_as_they_are_written_and_by_their_parts(
    write_pages: Write, name: str
) -> None:
    part = "".join(letter if letter.isalnum() else " " for letter in name).split()[-1]
    write_pages(page=f"# Page\n\nThe name is `{name}` here.\n", other="# Other\n\nNothing.\n")
    assert [hit.page for hit in search(name, 5)] == ["page"]
    assert [hit.page for hit in search(part, 5)] == ["page"]


def test_a_snippet_shows_names_with_their_punctuation(write_pages: Write) -> None:
    write_pages(page="# Page\n\nCall `hubspot.create_deal` & wait for <url>.\n")
    assert search("create deal", 1)[0].snippet == (
        "Call hubspot.**create**_**deal** & wait for <url>."
    )


def test_a_match_in_the_title_alone_shows_the_beginning_of_the_section(write_pages: Write) -> None:
    write_pages(page="# Quota\n\nIt is counted by the month.\n")
    assert search("quota", 1)[0].snippet == "It is counted by the month."


@pytest.mark.usefixtures("corpus")
def test_a_page_reads_as_markdown_with_its_sections() -> None:
    page = read("rate-limits")
    assert page is not None
    assert (page.slug, page.title) == ("rate-limits", "Rate limits")
    assert [section.anchor for section in page.sections] == [
        "",
        "the-budgets",
        "what-happens-when-you-exceed-a-limit",
        "batches",
    ]
    assert page.text.startswith("# Rate limits\n\nEvery authorization has its own budget")
    assert "\n\n## Batches\n\nEach message of a batch is charged by itself.\n" in page.text


@pytest.mark.parametrize(
    "slug", ["nowhere", "", "../tokens", "tokens.md", "x\ud800", "x\x00", "x" * 500]
)
def test_an_unknown_page_is_none(slug: str) -> None:
    assert read(slug) is None


def test_pages_are_listed_by_title(write_pages: Write) -> None:
    write_pages(b="# Alpha\n\n## One\n\n## Two\n", a="# Beta\n")
    assert pages() == [("b", "Alpha"), ("a", "Beta")]


def test_an_empty_index_answers_nothing() -> None:
    assert (search("token", 5), pages()) == ([], [])
