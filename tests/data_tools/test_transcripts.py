"""data_search_transcripts, data_get_transcript and data_list_negative_feedback."""

from datetime import timedelta
from typing import Any

import pytest

from customers import companies
from data_tools import transcripts
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.threads import (
    NOON,
    agent_message,
    conversation,
    customer_message,
    teammate_message,
)
from workspace.models import Agent, AgentKind, Company, Conversation, Customer, Feedback

DAY = timedelta(days=1)


@pytest.fixture
def acme(grant: Grant) -> Company:
    return companies.keep(Company(organization=grant.organization, name="Acme"))


@pytest.fixture
def maria(grant: Grant, acme: Company) -> Customer:
    return grant.customer(external_id="1", name="Maria", company=acme)


def sales_bot(grant: Grant) -> Agent:
    return Agent.objects.create(
        organization=grant.organization, kind=AgentKind.SALES, name="Sales bot"
    )


@pytest.fixture
def bot(grant: Grant) -> Agent:
    return sales_bot(grant)


def rate(one: Conversation, position: int, rating: str = "bad", **facts: Any) -> Feedback:
    return Feedback.objects.create(
        organization_id=one.organization_id,
        conversation=one,
        position=position,
        rating=rating,
        customer=one.customer,
        company=one.company,
        agent=one.agent,
        **{"at": NOON, **facts},
    )


def test_words_are_found_where_they_were_said_and_by_whom(mcp: McpClient, grant: Grant) -> None:
    asked = conversation(
        grant, customer_message("How does onboarding work?"), agent_message("Like this.")
    )
    answered = conversation(
        grant,
        customer_message("Hello"),
        agent_message("Onboarding takes two weeks."),
        teammate_message("Your onboarding begins on Monday."),
        started_at=NOON + DAY,
    )
    found = {
        said_by: ids(answer(mcp, "data_search_transcripts", query="onboarding", said_by=said_by))
        for said_by in ("anyone", "customer", "agent")
    }
    assert found == {
        "anyone": [answered.pk, asked.pk],
        "customer": [asked.pk],
        "agent": [answered.pk],
    }
    (item,) = answer(mcp, "data_search_transcripts", query="onboarding", said_by="agent")["items"]
    assert [(one["message_id"], one["author"]["kind"]) for one in item["excerpts"]] == [
        (2, "agent"),
        (3, "teammate"),
    ]
    assert item["excerpts"][0]["text"] == "Onboarding takes two weeks."


def test_without_words_the_first_thing_that_the_customer_said_is_quoted(
    mcp: McpClient, grant: Grant, maria: Customer, acme: Company, bot: Agent
) -> None:
    made = conversation(
        grant,
        agent_message("How can I help?"),
        customer_message("My export fails."),
        customer_message("Anyone?"),
        customer=maria,
        company=acme,
        agent=bot,
        outcome="escalated",
        mood="angry",
    )
    (item,) = answer(mcp, "data_search_transcripts")["items"]
    assert item == {
        "id": made.pk,
        "started_at": "2026-11-20T12:00:00+00:00",
        "user": {"id": maria.pk, "name": "Maria"},
        "company": {"id": acme.pk, "name": "Acme"},
        "agent": {"id": str(bot.pk), "name": "Sales bot"},
        "outcome": "escalated",
        "mood": "angry",
        "excerpts": [
            {
                "message_id": 2,
                "author": {"kind": "customer", "name": "Customer"},
                "text": "My export fails.",
            }
        ],
    }
    (said,) = answer(mcp, "data_search_transcripts", said_by="agent")["items"]
    assert said["excerpts"][0]["text"] == "How can I help?"


@pytest.mark.parametrize(
    "arguments",
    [
        {"user": "Maria"},
        {"company": "Acme"},
        {"agent": "sales bot"},
        {"mode": "voice"},
        {"outcome": "resolved"},
        {"mood": "happy"},
        {"from_": "2026-11-21"},
    ],
    ids="-".join,
)
def test_conversations_are_found_by_each_filter(
    mcp: McpClient, grant: Grant, maria: Customer, bot: Agent, arguments: dict[str, Any]
) -> None:
    conversation(grant, customer_message("Another"))
    wanted = conversation(
        grant,
        customer=maria,
        company=maria.company,
        agent=bot,
        mode="voice",
        outcome="resolved",
        mood="happy",
        started_at=NOON + DAY,
    )
    assert ids(answer(mcp, "data_search_transcripts", **arguments)) == [wanted.pk]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("outcome", [("resolved", 2), ("(none)", 1)]),
        ("mood", [("angry", 2), ("(none)", 1)]),
        ("agent", [("Sales bot", 2), ("(none)", 1)]),
        ("company", [("(none)", 2), ("Acme", 1)]),
        ("day", [("2026-11-21", 1), ("2026-11-20", 2)]),
    ],
)
def test_conversations_are_counted_by_group(
    mcp: McpClient, grant: Grant, acme: Company, by: str, groups: list[tuple[str, int]]
) -> None:
    bot = sales_bot(grant)
    conversation(grant, outcome="resolved", agent=bot, mood="angry")
    conversation(grant, outcome="resolved", agent=bot, started_at=NOON + DAY, company=acme)
    conversation(grant, mood="angry")
    found = answer(mcp, "data_search_transcripts", group_by=by)["groups"]
    shown = [
        (one["value"] if isinstance(one["value"], str) else one["value"]["name"], one["count"])
        for one in found
    ]
    assert sorted(shown) == sorted(groups)


def test_by_relevance_the_conversation_with_most_such_messages_is_first(
    mcp: McpClient, grant: Grant
) -> None:
    made = [
        conversation(grant, *[customer_message("An export")] * many, started_at=NOON + many * DAY)
        for many in (1, 3, 2, 1)
    ]
    arguments: Any = {"query": "export", "sort": "relevance", "page_size": 1}
    found = [answer(mcp, "data_search_transcripts", **arguments)]
    while cursor := found[-1].get("next_cursor"):
        found.append(answer(mcp, "data_search_transcripts", cursor=cursor, **arguments))
    last = sorted([made[0].pk, made[3].pk])
    assert [pk for page in found for pk in ids(page)] == [made[1].pk, made[2].pk, *last]
    assert {page["total"] for page in found} == {4}
    counts = answer(mcp, "data_search_transcripts", **arguments, group_by="day")["groups"]
    assert sum(one["count"] for one in counts) == 4


def test_relevance_is_refused_without_words_and_for_too_many_matches(
    mcp: McpClient, grant: Grant, acme: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(grant, customer_message("An export"), company=acme)
    conversation(grant, customer_message("An export"), customer_message("An export"))
    error = refusal(mcp, "data_search_transcripts", sort="relevance")
    assert error["reason"] == "relevance needs query. Without it use started_at_desc."
    monkeypatch.setattr(transcripts, "MAX_RANKED", 2)
    ranked: Any = {"query": "export", "sort": "relevance"}
    assert "Add words or a company" in refusal(mcp, "data_search_transcripts", **ranked)["reason"]
    assert answer(mcp, "data_search_transcripts", **ranked, company="Acme")["total"] == 1


def test_a_conversation_begins_at_the_message_that_the_call_names(
    mcp: McpClient, grant: Grant
) -> None:
    made = conversation(grant, *[customer_message(f"{number}") for number in range(1, 41)])
    arguments: Any = {"transcript_id": made.pk, "message_id": 5}
    first = answer(mcp, "data_get_transcript", **arguments)
    second = answer(mcp, "data_get_transcript", **arguments, cursor=first["next_cursor"])
    assert [item["id"] for page in (first, second) for item in page["items"]] == [*range(5, 41)]
    beyond = answer(mcp, "data_get_transcript", transcript_id=made.pk, message_id=41)
    assert (beyond["items"], beyond["hints"]) == ([], ["Without message_id: 40."])


def test_a_conversation_whose_messages_were_deleted_says_so(mcp: McpClient, grant: Grant) -> None:
    made = conversation(grant, customer_message("Why?"))
    made.messages.all().delete()
    found = answer(mcp, "data_get_transcript", transcript_id=made.pk)
    assert (found["items"], found["hints"]) == ([], [transcripts.DELETED])
    Conversation.objects.update(message_count=0)
    found = answer(mcp, "data_get_transcript", transcript_id=made.pk)
    assert found["hints"] == ["No messages of this conversation were ever recorded."]


def test_messages_have_their_ratings(mcp: McpClient, grant: Grant) -> None:
    made = conversation(
        grant, customer_message("Why?"), agent_message("Because."), agent_message("So.")
    )
    rate(made, 2, comment="No answer")
    rate(made, 2, "good", comment="Correct", given_by="trainer")
    found = answer(mcp, "data_get_transcript", transcript_id=made.pk)["items"]
    ratings = [
        {name: v for name, v in item.items() if "rat" in name or "com" in name} for item in found
    ]
    assert ratings == [
        {},
        {
            "rating": "bad",
            "comment": "No answer",
            "trainer_rating": "good",
            "trainer_comment": "Correct",
        },
        {},
    ]


def test_an_unknown_transcript_is_not_found_with_a_way_out(mcp: McpClient) -> None:
    error = refusal(mcp, "data_get_transcript", transcript_id="conv_1")
    assert error["message"] == "No transcript conv_1. Find ids with data_search_transcripts."


def test_a_bad_rating_has_the_question_and_the_answer(
    mcp: McpClient, grant: Grant, maria: Customer, acme: Company
) -> None:
    made = conversation(
        grant,
        customer_message("First question"),
        agent_message("First answer"),
        customer_message("Second question"),
        agent_message("Let me see."),
        agent_message("Second answer"),
        customer_message("Thanks"),
        customer=maria,
        company=acme,
    )
    rate(made, 2, "good")
    bad = rate(made, 5, comment="Wrong", at=NOON)
    (item,) = answer(mcp, "data_list_negative_feedback", period="all_time")["items"]
    assert item == {
        "id": bad.pk,
        "at": "2026-11-20T12:00:00+00:00",
        "rating": "bad",
        "given_by": "customer",
        "comment": "Wrong",
        "question": "Second question",
        "answer": "Second answer",
        "transcript_id": made.pk,
        "message_id": 5,
        "user": {"id": maria.pk, "name": "Maria"},
    }


@pytest.mark.parametrize(
    "arguments",
    [{"given_by": "trainer"}, {"user": "Maria"}, {"agent": "sales bot"}, {"to": "2026-11-19"}],
    ids="-".join,
)
def test_bad_ratings_are_found_by_each_filter(
    mcp: McpClient, grant: Grant, maria: Customer, bot: Agent, arguments: dict[str, Any]
) -> None:
    rate(conversation(grant, agent_message("One")), 1)
    one = conversation(grant, agent_message("Two"), customer=maria, agent=bot)
    wanted = rate(one, 1, given_by="trainer", at=NOON - DAY)
    everything = {} if "to" in arguments else {"period": "all_time"}
    found = answer(mcp, "data_list_negative_feedback", **{**everything, **arguments})
    assert ids(found) == [wanted.pk]


def test_a_bound_call_reads_the_ratings_of_its_customer(
    mcp: McpClient, grant: Grant, maria: Customer
) -> None:
    rate(conversation(grant, agent_message("One")), 1)
    own = rate(conversation(grant, agent_message("Two"), customer=maria), 1)
    found = answer(mcp, "data_list_negative_feedback", bind_id(maria), period="all_time")
    assert ids(found) == [own.pk]


@pytest.mark.parametrize(("sort", "order"), [("ai_score_asc", [3, 50]), ("ai_score_desc", [50, 3])])
def test_conversations_are_sorted_by_their_score_with_those_without_one_last(
    mcp: McpClient, grant: Grant, sort: str, order: list[int]
) -> None:
    for score in (50, None, 3):
        conversation(grant, customer_message("Hello"), score=score)
    items = answer(mcp, "data_search_transcripts", sort=sort)["items"]
    assert [item.get("ai_score") for item in items] == [*order, None]
