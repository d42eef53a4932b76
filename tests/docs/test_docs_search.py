"""Whoever asks the documentation a natural question is sent to the right page first."""

from functools import cache

import pytest
from django.conf import settings

from documentation import index
from documentation.index import refresh
from documentation.markdown import read_page
from documentation.search import DocumentationHit, answer, pages
from tests.docs.doc_pages import PAGES
from tests.drivers.documentation import search

pytestmark = pytest.mark.django_db

QUESTIONS = [
    ("how do I get started", "getting-started"),
    ("connect Cursor", "connect-a-client"),
    ("does FastMCP work", "compatibility"),
    ("MCP Inspector", "compatibility"),
    ("how do I connect Claude Code", "connect-a-client"),
    ("which redirect URIs are accepted", "connect-a-client"),
    ("how do scopes work", "scopes"),
    ("what does actions:* imply", "scopes"),
    ("register a client with curl", "sign-in-and-consent"),
    ("consent page", "sign-in-and-consent"),
    ("how long does an access token live", "tokens"),
    ("how do I revoke a token?", "tokens"),
    ("refresh token replay", "tokens"),
    ("narrow what a client may do", "connections"),
    ("how does a cron job call the tools", "programs"),
    ("add an authenticator app", "sign-in-security"),
    ("sign in with a passkey", "sign-in-security"),
    ("where are recovery codes shown", "sign-in-security"),
    ("guessing passwords", "rate-limits"),
    ("JSON-RPC error codes", "mcp-endpoint"),
    ("import an OpenAPI document as a project", "gateway"),
    ("which protocol revisions are supported", "mcp-endpoint"),
    ("search_docs arguments", "tools"),
    ("how do periods and cursors of the data tools work", "data-tools"),
    ("find customers by company or plan", "data-tools"),
    ("which spellings of a word does a search find", "search"),
    ("how is the churn rate defined", "metrics"),
    ("rate limits", "rate-limits"),
    ("how many tool calls per minute are allowed", "rate-limits"),
    ("why was my call refused", "refusals"),
    ("which layer refuses first", "refusals"),
    ("escalation policy", "refusals"),
    ("call a tool without an AI client", "ask-your-workspace"),
    ("bind a call to a customer", "mcp-endpoint"),
    ("install the widget", "install-the-widget"),
    ("identity token claims", "install-the-widget"),
    ("API for events and tickets of customers", "sdk-api"),
    ("late messages, wrong clocks and ids of no person", "identification"),
    ("create an MCP token for a project", "gateway"),
    ("read people and time off over the HR API", "hr-api"),
    ("create a session with an agent and stream a turn", "agents"),
    ("503 Retry-After temporarily unavailable", "outages"),
    ("whoami and search_people of the HR endpoint", "hr-endpoint"),
]


# The pages are the same in every test, and reading all of them is most of indexing them.
read_once = cache(read_page)


@pytest.fixture(autouse=True)
def _search_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "read_page", read_once)
    refresh(settings.HALO_DOCS_SOURCE)


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_the_right_page_comes_first(question: str, expected: str) -> None:
    assert [hit.page for hit in search(question, limit=5)][:1] == [expected]


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("how long does a token live", "Formats, and how long a token lives"),
        ("how do I revoke a token?", "Revoke a token"),
        ("refresh token replay", "Replay revokes the token family"),
        ("which redirect URIs are accepted", "Which redirect URIs are accepted"),
        ("where do I find the identity secret", "The identity secret"),
        ("error codes", "Error codes"),
    ],
)
def test_the_right_part_of_a_page_comes_first(question: str, heading: str) -> None:
    assert [hit.heading for hit in search(question, limit=5)][:1] == [heading]


def test_every_page_answers_some_question() -> None:
    assert {expected for _, expected in QUESTIONS} == {file.stem for file in PAGES}


def test_every_page_is_in_the_index_under_its_title() -> None:
    titles = {file.stem: file.read_text().splitlines()[0].removeprefix("# ") for file in PAGES}
    assert dict(pages()) == titles


def test_a_question_about_something_else_is_answered_with_nothing() -> None:
    assert search("zebra crossing", limit=5) == []


def test_a_word_with_a_typing_error_finds_what_the_right_word_finds() -> None:
    right, wrong = (search(word, limit=5) for word in ("authentication", "authentification"))
    assert wrong
    assert wrong[0].page in {hit.page for hit in right}


@pytest.mark.parametrize(
    ("question", "missing"),
    [("bitcoin payments", ("bitcoin",)), ("a helm chart for kubernetes", ("helm", "kubernetes"))],
)
def test_a_question_that_nothing_answers_says_so(question: str, missing: tuple[str, ...]) -> None:
    found = answer(question, limit=5)
    assert not found.fits
    assert set(missing) <= set(found.missing)


def test_a_question_that_a_page_answers_fits() -> None:
    assert answer("which redirect URIs are accepted", limit=5).fits


def test_the_walkthrough_is_shown_that_there_is_no_escalation() -> None:
    (hit, *_rest) = search("escalation policy", limit=5)
    assert isinstance(hit, DocumentationHit)
    assert hit.heading == "After a refusal: no escalation"
    assert "There is no **escalation** **policy**" in hit.snippet
