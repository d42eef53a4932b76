"""What many conversations say together: pages before them, failed questions, bad moods."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from customers import companies
from data_tools import insight
from tests.drivers.data_tools import answer, ids
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.records import Records
from workspace.models import (
    AuthorKind,
    Company,
    Conversation,
    ConversationMessage,
    Customer,
    Event,
    Feedback,
    Rating,
)

MINUTE = timedelta(minutes=1)
NOW = timezone.now() - timedelta(hours=1)
PAGES = "data_top_pages_before_chat"
QUESTIONS = "data_top_unresolved_questions"
MOODS = "data_low_sentiment_conversations"


def conversation(grant: Grant, **facts: Any) -> Conversation:
    return Conversation.objects.create(
        organization=grant.organization, **{"started_at": NOW, **facts}
    )


def view(grant: Grant, page: str, minutes: int, kind: str = "page_view", **facts: Any) -> None:
    Event.objects.create(
        organization=grant.organization,
        event_type=kind,
        page_url=f"https://app.example/{page}",
        at=NOW - minutes * MINUTE,
        **facts,
    )


def test_the_last_page_before_a_conversation_counts(mcp: McpClient, grant: Grant) -> None:
    person = grant.customer(external_id="1")
    in_session = conversation(grant, session_id="s1", customer=person)
    of_customer = conversation(grant, customer=person, outcome="escalated")
    nowhere = conversation(grant, session_id="s2")
    view(grant, "home", 20, session_id="s1")
    view(grant, "billing", 10, session_id="s1")
    view(grant, "button", 5, kind="click", session_id="s1")
    view(grant, "export", 2, customer=person)
    view(grant, "old", 40, session_id="s2")
    view(grant, "later", -5, session_id="s2")
    found = answer(mcp, PAGES)
    assert [(one["page_url"], one["transcript_ids"]) for one in found["items"]] == [
        ("https://app.example/billing", [in_session.pk]),
        ("https://app.example/export", [of_customer.pk]),
    ]
    assert [one["share"] for one in found["items"]] == [0.5, 0.5]
    assert (found["considered"], found["total"]) == (3, 2)
    hour = answer(mcp, PAGES, within_minutes=60)
    assert [one["transcript_ids"] for one in hour["items"]][-1] == [nowhere.pk]
    (escalated,) = answer(mcp, PAGES, outcome="escalated")["items"]
    assert (escalated["page_url"], escalated["conversations"]) == ("https://app.example/export", 1)


CLUSTERS = {
    "How do I export my invoices as CSV?": [
        "how can I export invoices to csv",
        "Exporting invoices as CSV",
        "export the invoice as a CSV please",
    ],
    "Can I log in with Okta SSO?": ["SSO login with Okta", "okta sso log in"],
    "Where is the dark mode?": [],
}


@pytest.fixture
def person_with_failures(grant: Grant) -> Customer:
    """Three clusters of questions that nobody answered, and one question that was answered."""
    person = grant.customer(external_id="1")
    for question, alike in CLUSTERS.items():
        conversation(grant, question=question, outcome="escalated", customer=person)
        for other in alike:
            conversation(grant, question=other, outcome="abandoned", confidence=90)
    conversation(grant, question="What is the price?", outcome="resolved", confidence=95)
    return person


@pytest.mark.usefixtures("person_with_failures")
def test_questions_of_the_same_meaning_are_one_group(mcp: McpClient) -> None:
    found = answer(mcp, QUESTIONS)
    assert [one["count"] for one in found["items"]] == [4, 3, 1]
    for one, (question, alike) in zip(found["items"], CLUSTERS.items(), strict=True):
        assert one["question"] in {question, *alike}
        assert (one["users"], len(one["transcript_ids"])) == (1, min(3, 1 + len(alike)))
    assert (found["total"], found["considered"]) == (3, 8)
    assert answer(mcp, QUESTIONS, page_size=1)["returned"] == 1


@pytest.mark.usefixtures("person_with_failures")
@pytest.mark.parametrize(
    ("reason", "many"), [("escalated", 3), ("abandoned", 5), ("low_confidence", 1)]
)
def test_questions_by_the_reason_of_failure(
    mcp: McpClient, grant: Grant, reason: str, many: int
) -> None:
    conversation(grant, question="Is there a mobile app?", outcome="resolved", confidence=49)
    found = answer(mcp, QUESTIONS, reason=reason)
    assert sum(one["count"] for one in found["items"]) == many


def test_a_bad_rating_is_a_failure(mcp: McpClient, grant: Grant) -> None:
    rated = conversation(grant, question="Is there an API?", outcome="resolved", confidence=99)
    Feedback.objects.create(
        organization=grant.organization, conversation=rated, position=2, rating=Rating.BAD
    )
    for reason in ("any", "bad_rating"):
        (one,) = answer(mcp, QUESTIONS, reason=reason)["items"]
        assert one["transcript_ids"] == [rated.pk]
    assert answer(mcp, QUESTIONS, reason="escalated")["items"] == []


def test_a_ranking_says_that_it_considers_the_newest_only(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(insight, "MAX_RANKED", 2)
    for number in range(3):
        at = NOW - number * MINUTE
        conversation(grant, question=f"Topic{number}?", outcome="escalated", started_at=at)
    found = answer(mcp, QUESTIONS)
    assert {one["question"] for one in found["items"]} == {"Topic0?", "Topic1?"}
    first, *_ = found["hints"]
    assert first == "Only the newest 2 conversations of the period are considered."


def test_the_worst_mood_comes_first_with_the_worst_message(mcp: McpClient, grant: Grant) -> None:
    acme = companies.keep(Company(organization=grant.organization, name="Acme"))
    moods = [("confused", 5), ("angry", 40), ("frustrated", None), ("angry", 3), ("happy", 1)]
    rows = [
        conversation(grant, mood=mood, score=score, company=acme if score == 3 else None)
        for mood, score in moods
    ]
    for position, (kind, sentiment) in enumerate(
        [("customer", -0.2), ("agent", -1.0), ("customer", -0.9), ("customer", None)], start=1
    ):
        ConversationMessage.objects.create(
            organization=grant.organization,
            conversation=rows[3],
            position=position,
            author_kind=AuthorKind(kind),
            text=f"Message {position}",
            sentiment=sentiment,
        )
    found = answer(mcp, MOODS)
    assert ids(found) == [rows[number].pk for number in (3, 1, 2, 0)]
    assert found["items"][0]["worst_message"] == {"message_id": 3, "text": "Message 3"}
    assert found["items"][0]["company"] == {"id": acme.pk, "name": "Acme"}
    groups = answer(mcp, MOODS, group_by="mood")["groups"]
    assert groups == [
        {"value": "angry", "count": 2},
        {"value": "confused", "count": 1},
        {"value": "frustrated", "count": 1},
    ]
    assert ids(answer(mcp, MOODS, mood="frustrated")) == [rows[2].pk]


def test_pages_of_bad_moods_have_every_conversation_once(mcp: McpClient, grant: Grant) -> None:
    records = Records(grant).add(5)
    page = answer(mcp, MOODS, page_size=2)
    found = ids(page)
    while cursor := page.get("next_cursor"):
        page = answer(mcp, MOODS, page_size=2, cursor=cursor)
        found += ids(page)
    assert sorted(found) == sorted(one.pk for one in records.conversations)
