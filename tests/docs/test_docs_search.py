"""Whoever asks the documentation a natural question is sent to the right page first."""

from functools import cache

import pytest
from django.conf import settings

from tests.docs.reading import PAGES
from tools_registry.documentation import index
from tools_registry.documentation.index import refresh
from tools_registry.documentation.markdown import read_page
from tools_registry.documentation.search import Hit, pages, search

pytestmark = pytest.mark.django_db

QUESTIONS = [
    ("connect an integration check connection disconnect", "integrations"),
    ("what happens when a vendor is slow or down", "integrations"),
    ("how do I start the server", "getting-started"),
    ("connect Cursor", "connect-a-client"),
    ("does FastMCP work", "compatibility"),
    ("MCP Inspector", "compatibility"),
    ("how do I connect Claude Code", "connect-a-client"),
    ("which redirect URIs are accepted", "connect-a-client"),
    ("how do scopes work", "scopes"),
    ("what does actions:* imply", "scopes"),
    ("register a client with curl", "sign-in-and-consent"),
    ("consent page", "sign-in-and-consent"),
    ("what does it cost to refuse a body that cannot be obeyed", "performance"),
    ("how long does an access token live", "tokens"),
    ("how do I revoke a token?", "tokens"),
    ("refresh token replay", "tokens"),
    ("narrow what a client may do", "connections"),
    ("import customers from a CSV file", "customers"),
    ("add an authenticator app", "sign-in-security"),
    ("sign in with a passkey", "sign-in-security"),
    ("where are recovery codes shown", "sign-in-security"),
    ("guessing passwords", "rate-limits"),
    ("JSON-RPC error codes", "mcp-endpoint"),
    ("which protocol revisions are supported", "mcp-endpoint"),
    ("search_docs arguments", "tools"),
    ("why was my call refused", "troubleshooting"),
    ("which layer refuses first", "permissions"),
    ("enable an action on the Ask AI agent", "permissions"),
    ("escalation policy", "permissions"),
    ("create a deal in HubSpot", "hubspot"),
    ("which HubSpot scopes does the private app need", "hubspot"),
    ("which Slack channels may be posted to", "slack"),
    ("connect Stripe", "stripe"),
    ("approve a refund", "billing-requests"),
    ("cancel a Stripe subscription", "stripe"),
    ("file a bug in Linear", "linear"),
    ("which label does a feature request get", "linear"),
    ("rate limits", "rate-limits"),
    ("how many tool calls per minute are allowed", "rate-limits"),
    ("audit log columns", "audit-log"),
    ("where do I see refused calls", "audit-log"),
    ("what does bearer_rejected mean", "security-events"),
    ("environment variables", "configuration"),
    ("nginx proxy TLS", "deployment"),
    ("how do I back up the database", "deployment"),
    ("install the widget", "install-the-widget"),
    ("identity token claims", "install-the-widget"),
    ("client cannot connect", "troubleshooting"),
    ("how do I add a tool", "writing-tools"),
    ("how do I write an integration", "writing-an-integration"),
    ("test an integration with a stand-in", "writing-an-integration"),
    ("import contracts between floors", "architecture"),
]


# The pages are the same in every test, and reading all of them is most of indexing them.
read_once = cache(read_page)


@pytest.fixture(autouse=True)
def _indexed(monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("refresh token replay", "Replay ends the chain"),
        ("which redirect URIs are accepted", "Which redirect URIs are accepted"),
        ("what is never in the audit log", "What is never in it"),
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


def test_the_walkthrough_is_told_that_there_is_no_escalation() -> None:
    (hit, *_rest) = search("escalation policy", limit=5)
    assert isinstance(hit, Hit)
    assert hit.heading == "After a refusal: no escalation"
    assert "There is no **escalation** **policy**" in hit.snippet
