"""A conversation stays with its customer, its company and its day."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer
from tests.drivers.mcp import McpClient
from tests.ingestion.app import App, IngestionAnswer
from workspace.models import Conversation, ConversationMessage, Customer, Feedback


def days_ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def write(app: App, text: str = "", **changes: Any) -> IngestionAnswer:
    """Sends a part of the conversation of one device."""
    messages = [{"author": "customer", "text": text}] if text else []
    body: dict[str, Any] = {"session_id": "kiosk", "messages": messages}
    return app.server().post("chat/transcripts", body | changes)


def test_a_conversation_does_not_go_to_the_next_person_at_the_device(app: App) -> None:
    assert write(app, "My salary is 1", user_id="dan").status == 200
    refused = write(app, "Hello", user_id="eve", offset=1)
    assert refused.refusal == (409, "user_id")
    assert Conversation.objects.get().customer == Customer.objects.get(external_id="dan")
    assert ConversationMessage.objects.get().text == "My salary is 1"
    assert not Customer.objects.filter(external_id="eve").exists()


def test_another_person_reads_nothing_of_it(app: App) -> None:
    app.server().post("identify", {"user_id": "eve"})
    write(app, "My salary is 1", user_id="dan")
    write(app, "Hello", user_id="eve", offset=1)
    mcp = McpClient(app.grant.token("data:read"))
    for named, total in (("dan", 1), ("eve", 0)):
        bound = bind_id(Customer.objects.get(external_id=named))
        assert answer(mcp, "data_search_transcripts", bound)["total"] == total


def test_a_part_without_a_person_belongs_to_the_conversation(app: App) -> None:
    write(app, "Hello", user_id="dan")
    assert write(app, "Bye", offset=1).status == 200
    assert Conversation.objects.get().customer == Customer.objects.get()


def test_a_visitors_conversation_becomes_that_of_who_signs_in(app: App) -> None:
    write(app, "Hello")
    app.server().post("identify", {"user_id": "dan", "company_id": "acme"})
    write(app, "It is me", user_id="dan", offset=1)
    conversation, customer = Conversation.objects.get(), Customer.objects.get()
    assert (conversation.customer, conversation.company) == (customer, customer.company)


def test_a_late_detail_does_not_move_a_conversation_to_another_company(app: App) -> None:
    server = app.server()
    server.post("identify", {"user_id": "fay", "company_id": "acme"})
    write(app, "Hello", user_id="fay")
    server.post("identify", {"user_id": "fay", "company_id": "beta"})
    assert write(app, user_id="fay", mood="angry").status == 200
    conversation = Conversation.objects.get()
    assert conversation.company is not None
    assert (conversation.company.external_id, conversation.mood) == ("acme", "angry")


def test_an_old_conversation_is_of_its_day(app: App) -> None:
    first, last = days_ago(600), days_ago(599)
    messages = [
        {"author": "agent", "text": "Yes", "at": last.isoformat()},
        {"author": "customer", "text": "Hello", "at": first.isoformat()},
    ]
    ratings = [{"position": 1, "rating": "bad"}, {"position": 2, "rating": "good"}]
    ratings[1] |= {"at": last.isoformat()}
    write(app, messages=messages, ratings=ratings)
    assert Conversation.objects.get().started_at == first
    given = Feedback.objects.order_by("position").values_list("at", flat=True)
    assert list(given) == [last, last]


@pytest.mark.parametrize("days", [700, 1])
def test_the_day_of_a_conversation_never_changes(app: App, days: int) -> None:
    started = days_ago(30)
    write(app, "Hello", started_at=started.isoformat())
    late = write(app, "Bye", offset=1, started_at=days_ago(days).isoformat())
    assert [one["field"] for one in late.json["ignored"]] == ["started_at"]
    write(app, messages=[{"author": "agent", "text": "", "at": days_ago(days).isoformat()}])
    assert Conversation.objects.get().started_at == started


def test_the_first_messages_say_when_a_conversation_began(app: App) -> None:
    write(app, mood="angry")
    at = days_ago(20)
    write(app, messages=[{"author": "customer", "text": "Hello", "at": at.isoformat()}])
    assert Conversation.objects.get().started_at == at
    assert write(app, started_at=at.isoformat()).json["ignored"] == []


def test_a_message_that_is_sent_again_without_a_time_keeps_its_own(app: App) -> None:
    write(app, "Hello")
    before = ConversationMessage.objects.get().at
    write(app, "Hello!")
    message = ConversationMessage.objects.get()
    assert (message.text, message.at) == ("Hello!", before)
    at = days_ago(3)
    write(app, messages=[{"author": "customer", "text": "Hello", "at": at.isoformat()}])
    assert ConversationMessage.objects.get().at == at


def test_a_conversation_that_is_sent_after_its_end_needs_no_other_time(app: App) -> None:
    ended = days_ago(1)
    assert write(app, "Hello", ended_at=ended.isoformat()).status == 200
    conversation = Conversation.objects.get()
    assert (conversation.started_at, conversation.ended_at) == (ended, ended)


def test_a_conversation_does_not_end_before_it_starts(app: App) -> None:
    refused = write(app, started_at=days_ago(1).isoformat(), ended_at=days_ago(2).isoformat())
    assert refused.refusal == (400, "ended_at")
    assert not Conversation.objects.exists()
