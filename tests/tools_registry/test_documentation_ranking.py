"""The page that a reader would hope for comes first, on either database."""

from pathlib import Path

import pytest

from documentation.index import refresh
from documentation.query import DocumentationQuery
from documentation.ranking import TermMatch, rank, terms_of
from tests.drivers.documentation import search

CORPUS = Path(__file__).parent.parent / "fixtures" / "documentation"

BEST = {
    "how do I revoke a token?": "tokens#revoking-a-token",
    "somebody copied my refresh token": "tokens#refreshing",
    "which scope do I need for search_docs": "scopes#the-scopes-there-are",
    "insufficient scope 403": "scopes#when-a-scope-is-missing",
    "smallest scope for a client": "scopes#choosing-the-smallest-set",
    "rate limit": "rate-limits#",
    "what happens when I exceed the rate limit": (
        "rate-limits#what-happens-when-you-exceed-a-limit"
    ),
    "429 Retry-After": "rate-limits#what-happens-when-you-exceed-a-limit",
    "are batches charged": "rate-limits#batches",
    "escalation policy": "escalation-policy#",
    "who is paged outside office hours": "escalation-policy#who-is-paged",
    "response time for urgent tickets": "escalation-policy#response-times",
    "customer wants a human": "escalation-policy#when-the-agent-escalates",
    "how long are audit rows kept": "audit-log#how-long-rows-are-kept",
    "is my password recorded in the log": "audit-log#what-is-never-recorded",
    "hubspot deals": "integrations#hubspot",
    "linear.create_bug": "integrations#linear",
    "turn on an action": "integrations#turning-an-action-on",
    "connect ChatGPT": "connect-a-client#chatgpt",
    "claude mcp add": "connect-a-client#claude-code",
    "cannot register client": "connect-a-client#the-client-says-it-cannot-register",
    "install chat widget": "widget#",
    "identity secret": "widget#telling-the-widget-who-is-signed-in",
    "verify webhook signature": "webhooks#verifying-the-signature",
    "where do invoices go": "billing#invoices",
    "conversations included in the starter plan": "billing#limits-of-each-plan",
    "SAML sign-in": "single-sign-on#saml",
    "upload pdf": "knowledge#files",
    "why is the answer wrong": "knowledge#why-an-answer-is-wrong",
    "webhook retr": "webhooks#retries",
}


@pytest.mark.django_db
@pytest.mark.parametrize(("query", "best"), BEST.items(), ids=BEST)
def test_the_section_that_answers_comes_first(query: str, best: str) -> None:
    refresh(CORPUS)
    first = search(query, 5)[0]
    assert f"{first.page}#{first.anchor}" == best


def order(query: str, *matches: TermMatch) -> list[int]:
    return [one.section for one in rank(terms_of(DocumentationQuery.parse(query), []), matches)]


def test_strengths_compare_within_their_term_only() -> None:
    # The second term's unit is a thousand times the first one's; each section leads in one.
    scores = rank(
        terms_of(DocumentationQuery.parse("alpha xyz beta"), []),
        [
            TermMatch(0, 1, "a", 0.002),
            TermMatch(0, 2, "b", 0.001),
            TermMatch(2, 1, "a", 1.0),
            TermMatch(2, 2, "b", 2.0),
        ],
    )
    assert [one.score for one in scores] == [0.75, 0.75]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    common = [TermMatch(0, section, f"page-{section}", 1.0) for section in range(1, 9)]
    assert order("common rare", *common, TermMatch(1, 9, "page-9", 1.0))[0] == 9


def test_all_words_in_passing_beat_one_word_in_full() -> None:
    one_in_full = TermMatch(0, 1, "a", 1.0), TermMatch(1, 8, "c", 1.0)
    both_in_passing = TermMatch(0, 2, "b", 0.45), TermMatch(1, 2, "b", 0.45)
    assert order("alpha beta", *one_in_full, *both_in_passing)[0] == 2


def test_equal_sections_keep_the_order_of_the_index() -> None:
    assert order("word", TermMatch(0, 7, "b", 1.0), TermMatch(0, 3, "a", 1.0)) == [3, 7]


def test_a_third_section_of_a_page_makes_room_for_others() -> None:
    same = [TermMatch(0, section, "long", 1.0 - section / 100) for section in range(1, 5)]
    assert order("word", *same, TermMatch(0, 9, "short", 0.1)) == [1, 2, 9]


def test_no_match_gives_no_order() -> None:
    assert order("word") == []
