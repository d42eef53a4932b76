"""Tickets, events and transcripts, as they are stored, refused and repeated."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rest import idempotency
from rest.models import RepeatableRequest
from tests.drivers import in_process_server
from tests.ingestion import app as own_app
from tests.ingestion.app import SDK, App
from workspace.models import (
    Conversation,
    ConversationMessage,
    Customer,
    Event,
    Feedback,
    Ticket,
    TicketMessage,
    TicketStatus,
)

TICKET = {"user_id": "1", "subject": "Login fails", "message": "I cannot log in."}


def create_ticket(server: App, **changes: Any) -> Ticket:
    answer = server.post("tickets/create", TICKET | changes)
    assert answer.status == 200, answer.json
    return Ticket.objects.get(pk=answer.json["ticket_id"])


def test_a_ticket_has_its_first_message_and_author(app: App) -> None:
    server = app.server()
    server.post("identify", {"user_id": "1", "company_id": "c", "traits": {"name": "Ada"}})
    ticket = create_ticket(server, priority="priority", metadata={"channel": "form"})
    message = TicketMessage.objects.get()
    assert (ticket.status, ticket.priority, ticket.source) == ("open", "priority", "api")
    assert (ticket.customer, ticket.company) == (Customer.objects.get(), ticket.customer.company)
    assert (ticket.message_count, ticket.last_author_kind) == (1, "customer")
    assert (message.position, message.heading, message.author_name) == (1, "Login fails", "Ada")
    assert ticket.last_message_at == message.at == ticket.created_at == ticket.updated_at


def test_replies_are_numbered_and_note_the_first_response(app: App) -> None:
    server = app.server()
    ticket = create_ticket(server)
    where = f"tickets/{ticket.pk}/messages"
    note = server.post(where, {"message": "VIP", "author": "teammate", "internal": True})
    assert (note.json["ticket_id"], note.json["position"]) == (ticket.pk, 2)
    ticket.refresh_from_db()
    assert ticket.first_response_at is None
    server.post(where, {"message": "Try again.", "author": "agent", "author_name": "Halo"})
    ticket.refresh_from_db()
    assert (ticket.first_response_at, ticket.last_author_name) == (ticket.last_message_at, "Halo")


def test_a_customer_s_message_opens_a_resolved_ticket_again(app: App) -> None:
    server = app.server()
    ticket = create_ticket(server)
    Ticket.objects.update(status=TicketStatus.RESOLVED, resolved_at=timezone.now())
    server.post(f"tickets/{ticket.pk}/messages", {"message": "Closed.", "author": "teammate"})
    ticket.refresh_from_db()
    assert ticket.status == TicketStatus.RESOLVED
    server.post(f"tickets/{ticket.pk}/messages", {"message": "Still broken."})
    ticket.refresh_from_db()
    assert (ticket.status, ticket.resolved_at) == (TicketStatus.OPEN, None)


def test_a_ticket_of_another_organization_looks_like_none(app: App) -> None:
    foreign = create_ticket(own_app.create_app().server())
    server = app.server()
    answers = [
        server.post(f"tickets/{one}/messages", {"message": "Hello"})
        for one in (foreign.pk, "tkt_none", "tkt_\0")
    ]
    assert {one.refusal for one in answers} == {(404, "ticket_id")}
    assert answers[0].json == answers[1].json
    assert foreign.messages.count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"subject": ""}, "subject"),
        ({"subject": "s" * 1001}, "subject"),
        ({"subject": 5}, "subject"),
        ({"subject": "a\0"}, "subject"),
        ({"message": "m" * 50_001}, "message"),
        ({"message": "\ud800"}, "message"),
        ({"email": "nobody"}, "email"),
        ({"source": "s" * 51}, "source"),
        ({"priority": "high"}, "priority"),
        ({"priority": ["normal"]}, "priority"),
        ({"metadata": {"a": "x" * 50_000}}, "metadata"),
        ({"metadata": []}, "metadata"),
        ({"colour": "red"}, "colour"),
        ({"user_id": None}, "user_id"),
    ],
)
def test_a_wrong_field_of_a_ticket_is_named(app: App, changes: dict[str, Any], field: str) -> None:
    answer = app.server().post("tickets/create", TICKET | changes)
    assert answer.refusal == (400, field)
    assert not Ticket.objects.exists()


def test_a_ticket_needs_an_author(app: App) -> None:
    answer = app.page().post("tickets/create", {"subject": "Hello"})
    assert answer.refusal == (400, "user_id")


def test_an_idempotency_key_creates_one_ticket(app: App) -> None:
    server = app.server()
    first = server.post("tickets/create", TICKET, idempotency_key="k1")
    assert server.post("tickets/create", TICKET, idempotency_key="k1").json == first.json
    assert Ticket.objects.count() == 1
    other = server.post("tickets/create", TICKET | {"subject": "Other"}, idempotency_key="k1")
    assert (other.status, other.json["field"]) == (409, "Idempotency-Key")
    assert server.post("tickets/create", TICKET, idempotency_key="k2").status == 200
    assert server.post("tickets/create", TICKET, idempotency_key="k k").status == 400
    assert (
        own_app.create_app().server().post("tickets/create", TICKET, idempotency_key="k1").status
        == 200
    )


UNSTORABLE: list[tuple[str, Any, str]] = [
    ("tickets/create", TICKET | {"priority": "\udfff"}, "priority"),
    ("tickets/create", TICKET | {"priority": ["\udbff"]}, "priority[0]"),
    ("tickets/create", TICKET | {"\udbff": 1}, ""),
    ("chat/transcripts", {"messages": [{}, {"author": "\udc00"}]}, "messages[1].author"),
    ("chat/transcripts", {"session_id": "s", "outcome": "a\0"}, "outcome"),
    (
        "chat/transcripts",
        {"ratings": [{"value": {"deep": ["\udc00"]}}]},
        "ratings[0].value.deep[0]",
    ),
    ("events", {"events": [{"event_type": "click", "at": "\udbff"}]}, "events[0].at"),
    ("events", {"events": [{"\0": "click"}]}, "events[0]"),
    ("events", ["\udbff"], "[0]"),
    ("companies", {"company_id": "1", "traits": {"plan": "\udbff"}}, "traits.plan"),
    ("identify", "\udbff", ""),
]


@pytest.mark.parametrize(("where", "body", "field"), UNSTORABLE)
def test_text_that_cannot_be_encoded_is_refused_before_it_is_repeated(
    app: App, where: str, body: Any, field: str
) -> None:
    answer = app.server().post(where, body)
    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert answer.json.get("field", "") == field
    assert answer.json["reason"] == "The text contains NUL or a lone surrogate."


@pytest.mark.parametrize("user_id", ["a\0b", "\udfff"])
def test_an_identity_that_cannot_be_stored_is_refused(app: App, user_id: str) -> None:
    answer = app.page(user_id).post("tickets/create", {"subject": "Hello"}, idempotency_key="k")
    assert answer.refusal == (403, "user_token")
    answer = app.page("7", name=user_id).post("identify", {})
    assert answer.refusal == (403, "user_token")


def test_callers_with_one_idempotency_key_get_tickets_of_their_own(app: App) -> None:
    callers = [app.page(), app.page("7"), app.page("8"), app.server(), app.server()]
    for number, caller in enumerate(callers):
        sent = {"subject": f"Ticket {number}", "email": "ada@x.example"}
        assert caller.post("tickets/create", sent, idempotency_key="invoice-9").status == 200
    assert Ticket.objects.count() == len(callers)


def test_a_server_gets_no_ticket_of_a_page_with_the_same_body(app: App) -> None:
    sent = {"subject": "Refund", "email": "ada@x.example"}
    of_page = app.page().post("tickets/create", sent, idempotency_key="refund-1")
    of_server = app.server().post("tickets/create", sent, idempotency_key="refund-1")
    assert (of_page.status, of_server.status) == (200, 200)
    assert of_page.json != of_server.json


def test_an_identity_cannot_write_the_key_of_another_one(app: App) -> None:
    for user_id, key in [("7", "8/x"), ("7/8", "x"), ('7","8', "x"), ("7", '8","x')]:
        sent = {"subject": "Hello", "message": f"{user_id} {key}"}
        assert app.page(user_id).post("tickets/create", sent, idempotency_key=key).status == 200
    assert Ticket.objects.count() == 4


def test_a_refused_request_spends_no_key(app: App) -> None:
    page = app.page()
    assert page.post("tickets/create", {"subject": "Hello"}, idempotency_key="k").status == 400
    sent = {"subject": "Hello", "email": "a@x.example"}
    assert page.post("tickets/create", sent, idempotency_key="k").status == 200


def test_keys_are_forgotten_after_a_day(app: App) -> None:
    app.server().post("tickets/create", TICKET, idempotency_key="k")
    assert idempotency.prune() == 0
    RepeatableRequest.objects.update(created_at=timezone.now() - timedelta(days=1, minutes=1))
    assert idempotency.prune() == 1


def test_a_batch_of_events_is_stored(app: App) -> None:
    at = timezone.now() - timedelta(minutes=5)
    events = [
        {"event_type": "page_view", "page_url": "https://x.example/", "session_id": "s"},
        {"event_type": "click", "element_selector": "#buy", "user_id": "1", "at": at.isoformat()},
        {"event_type": "own", "metadata": {"n": 1}},
    ]
    answer = app.server().post("events", {"events": events})
    assert answer.json == {"success": True, "stored": 3, "ignored": [], "ignored_count": 0}
    view, click, own = Event.objects.order_by("pk")
    assert (view.page_url, view.session_id, view.customer) == ("https://x.example/", "s", None)
    assert (click.at, click.customer) == (at, Customer.objects.get(external_id="1"))
    assert own.at <= timezone.now()


def test_an_event_with_a_known_id_is_stored_once(app: App) -> None:
    batch = {"events": [{"event_type": "a", "id": "e1"}, {"event_type": "a", "id": "e1"}]}
    first, again = (app.page().post("events", batch).json for _ in range(2))
    known = "It is stored already."
    assert first["stored"] == 1
    assert first["ignored"] == [{"field": "events[1]", "reason": known}]
    assert (again["stored"], again["ignored_count"]) == (0, 2)
    own_app.create_app().page().post("events", batch)
    assert Event.objects.count() == 2


@pytest.mark.parametrize(
    "other",
    [{"event_type": "b"}, {"user_id": "2"}, {"session_id": "t"}, {"metadata": {"n": 2}}],
)
def test_another_event_with_a_known_id_is_refused_and_nothing_is_stored(
    app: App, other: dict[str, Any]
) -> None:
    server = app.server()
    event = {"event_type": "a", "id": "e1", "user_id": "1", "session_id": "s"}
    assert server.post("events", {"events": [event]}).status == 200
    batch = {"events": [{"event_type": "new"}, event | other]}
    answer = server.post("events", batch)
    assert (answer.status, answer.json["error"]) == (409, "conflict")
    assert answer.json["fields"] == [
        {"field": "events[1].id", "reason": "Another event has this id."}
    ]
    assert Event.objects.get().event_type == "a"


def test_a_page_that_sends_again_after_signing_in_loses_no_events(app: App) -> None:
    visit = {"event_type": "page_view", "id": "e-1", "session_id": "s"}
    assert app.page().post("events", {"events": [visit]}).status == 200
    again = app.page("42").post("events", {"events": [visit, visit | {"id": "e-2"}]})
    assert (again.status, again.json["stored"]) == (200, 1)
    assert [one["field"] for one in again.json["ignored"]] == ["events[0]"]
    by_customer = Event.objects.order_by("pk").values_list("customer__external_id", flat=True)
    # By the session, what was a visitor's is the customer's now.
    assert list(by_customer) == ["42", "42"]
    other = app.page("43").post("events", {"events": [visit | {"id": "e-2"}]})
    assert other.refusal == (409, "events[0].id")


def test_a_page_cannot_take_the_ids_of_a_servers_events(app: App) -> None:
    app.page().post("events", {"events": [{"event_type": "taken", "id": "invoice-1"}]})
    sent = {"events": [{"event_type": "paid", "id": "invoice-1", "user_id": "1"}]}
    assert app.server().post("events", sent).json["stored"] == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"event_type": "t" * 101}, "event_type"),
        ({"event_type": ""}, "event_type"),
        ({"event_type": None}, "event_type"),
        ({"page_url": "p" * 2049}, "page_url"),
        ({"metadata": {"a": "x" * 10_000}}, "metadata"),
        ({"metadata": {"\ud800": 1}}, "metadata"),
        ({"metadata": "m"}, "metadata"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2026-01-01T00:00:00"}, "at"),
        ({"session_id": "\0"}, "session_id"),
        ({"user": "1"}, "user"),
    ],
)
def test_one_bad_event_is_named_and_nothing_is_stored(
    app: App, changes: dict[str, Any], field: str
) -> None:
    batch: list[Any] = [{"event_type": "click"} for _ in range(5)]
    batch[3] |= changes
    assert app.server().post("events", {"events": batch}).refusal == (400, f"events[3].{field}")
    assert not Event.objects.exists()


def test_a_batch_has_1_to_100_events(app: App) -> None:
    page = app.page()
    for many, status in ((0, 400), (1, 200), (100, 200), (101, 400)):
        answer = page.post("events", {"events": [{"event_type": "e"}] * many})
        assert (many, answer.status, answer.json.get("field")) == (
            many,
            status,
            None if status == 200 else "events",
        )
    assert Event.objects.count() == 101


def test_a_batch_is_one_insert_and_no_statement_for_each_event(app: App) -> None:
    page = app.page("1")
    page.post("identify")
    batch = [{"event_type": "e", "id": str(number), "user_id": "1"} for number in range(100)]
    with CaptureQueriesContext(connection) as one:
        page.post("events", {"events": batch[:1]})
    with CaptureQueriesContext(connection) as many:
        page.post("events", {"events": batch})
    assert len(many) == len(one)
    inserts = [query for query in many if "INTO" in query["sql"] and "_event" in query["sql"]]
    assert len(inserts) == 1


def test_a_transcript_is_stored_in_parts_and_can_be_sent_again(app: App) -> None:
    server = app.server()
    agent = app.organization.agents.get()
    first = {
        "session_id": "s-1",
        "user_id": "1",
        "agent_id": str(agent.pk),
        "mode": "chat",
        "messages": [
            {"author": "agent", "text": "Hello!"},
            {"author": "customer", "text": "How do I log in?", "sentiment": -0.5},
        ],
    }
    for _ in range(2):
        stored = server.post("chat/transcripts", first)
        assert (stored.status, stored.json["messages"]) == (200, 2)
    second = {
        "session_id": "s-1",
        "offset": 2,
        "messages": [{"author": "agent", "text": "With SSO."}],
        "ratings": [{"position": 3, "rating": "bad", "comment": "Wrong"}],
        "mood": "frustrated",
        "outcome": "escalated",
        "confidence": 40,
    }
    assert server.post("chat/transcripts", second).json["messages"] == 3
    conversation = Conversation.objects.get()
    assert (conversation.question, conversation.mood) == ("How do I log in?", "frustrated")
    assert (conversation.agent, conversation.customer) == (agent, Customer.objects.get())
    texts = ConversationMessage.objects.order_by("position").values_list("position", "text")
    assert list(texts) == [(1, "Hello!"), (2, "How do I log in?"), (3, "With SSO.")]
    rated = Feedback.objects.get()
    assert (rated.position, rated.rating, rated.customer) == (3, "bad", conversation.customer)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"session_id": ""}, "session_id"),
        ({"mode": "fax"}, "mode"),
        ({"confidence": 101}, "confidence"),
        ({"confidence": "40"}, "confidence"),
        ({"offset": 1}, "offset"),
        ({"offset": -1}, "offset"),
        ({"agent_id": "00000000-0000-7000-8000-000000000000"}, "agent_id"),
        ({"agent_id": "x"}, "agent_id"),
        ({"messages": [{"author": "agent", "text": "t" * 10_001}]}, "messages[0].text"),
        ({"messages": [{"author": "agent", "text": "t"}] * 51}, "messages"),
        ({"messages": [{"author": "god", "text": "t"}]}, "messages[0].author"),
        ({"messages": [{"author": "agent", "text": "t", "sentiment": 2}]}, "messages[0].sentiment"),
        ({"ratings": [{"position": 1, "rating": "bad"}]}, "ratings[0].position"),
        ({"ratings": [{"position": 0, "rating": "bad"}]}, "ratings[0].position"),
    ],
)
def test_a_wrong_field_of_a_transcript_is_named(
    app: App, changes: dict[str, Any], field: str
) -> None:
    answer = app.server().post("chat/transcripts", {"session_id": "s"} | changes)
    assert answer.refusal == (400, field)
    assert not Conversation.objects.exists()


def test_an_agent_of_another_organization_looks_like_none(app: App) -> None:
    foreign = own_app.create_app().organization.agents.get()
    sent = {"session_id": "s", "agent_id": str(foreign.pk)}
    assert app.server().post("chat/transcripts", sent).refusal == (400, "agent_id")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"null",
        b'"text"',
        b"\xff",
        b'{"a":1,"a":2}',
        b'{"events":NaN}',
        b"[" * 100,
    ],
)
def test_a_body_that_is_no_object_is_refused(app: App, body: bytes) -> None:
    server = app.server()
    for where in ("events", "identify", "users/update"):
        answer = server.send("POST", where, body)
        assert (answer.status, answer.json["error"]) == (400, "invalid_request")
        assert answer.json["reason"]


def test_a_body_of_another_type_size_or_method_is_refused(app: App, settings: Any) -> None:
    server = app.server()
    form = server.send("POST", "events", b"a=1", "application/x-www-form-urlencoded")
    assert (form.status, form.json["error"]) == (415, "unsupported_media_type")
    assert server.send("PUT", "events", b"{}").json["error"] == "method_not_allowed"
    assert server.send("GET", "events", b"").headers["Allow"] == "POST, OPTIONS"
    settings.HALO_MAX_BODY_BYTES = 1024
    assert server.send("POST", "events", b" " * 1025).json["error"] == "payload_too_large"
    assert Client().get(f"{SDK}nothing").status_code == 404


def test_a_body_that_the_server_does_not_read_is_refused_as_json(app: App) -> None:
    headers = [*app.page().headers.items(), ("Content-Type", "application/json")]
    status, sent, body = in_process_server.request(
        "POST", f"{SDK}events", headers, b" " * 1_048_577
    )
    assert (status, json.loads(body)["error"]) == (413, "payload_too_large")
    # Otherwise a browser hides the refusal from the page that sent the body.
    assert sent["access-control-allow-origin"] == "*"
