"""What belongs to no customer becomes that of the customer who becomes known."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from customers import text_backfill
from customers.identification import joins
from tests.ingestion import app as own_app
from tests.ingestion.app import App
from workspace.models import Conversation, Customer, Event, Feedback, Join, Lead, Ticket

Row = dict[str, Any]
VISIT: list[Row] = [
    {"event_type": "page_view", "page_url": "https://a.example/pricing", "session_id": "s_anna"},
    {"event_type": "click", "element_selector": "#buy", "session_id": "s_anna"},
]


def days_ago(days: float) -> str:
    return (timezone.now() - timedelta(days=days)).isoformat()


def customer(external_id: str) -> Customer:
    return Customer.objects.get(external_id=external_id)


def events_of(external_id: str) -> list[str]:
    rows = Event.objects.filter(customer__external_id=external_id)
    return sorted(rows.values_list("event_type", flat=True))


def chat(session_id: str, **more: Any) -> Row:
    message = {"author": "customer", "text": "How much is it?"}
    return {"session_id": session_id, "messages": [message], **more}


def test_a_visit_becomes_that_of_the_customer_whom_identify_names(app: App) -> None:
    first = [{**VISIT[0], "at": days_ago(2)}, VISIT[1]]
    app.page().post("events", {"events": first})
    answer = app.page("anna_1").post("identify", {"session_id": "s_anna"})
    joined = Join.objects.get()
    assert answer.json["joins"] == [{"id": joined.pk, "rule": "session", "rows": {"events": 2}}]
    assert events_of("anna_1") == ["click", "page_view"]
    assert customer("anna_1").first_seen == Event.objects.get(event_type="page_view").at
    assert (joined.source, joined.origin, joined.customer) == (
        "s_anna",
        "page",
        customer("anna_1"),
    )


def test_a_visit_becomes_that_of_the_customer_of_an_event_in_its_session(app: App) -> None:
    app.page().post("events", {"events": VISIT})
    known = {"event_type": "signed_up", "session_id": "s_anna", "user_id": "anna_1"}
    answer = app.server().post("events", {"events": [known]})
    assert answer.json["joins"][0]["rows"] == {"events": 2}
    assert events_of("anna_1") == ["click", "page_view", "signed_up"]


def test_the_anonymous_id_of_another_product_names_a_session_too(app: App) -> None:
    app.page().post("events", {"events": VISIT})
    app.page("anna_1").post("identify", {"session_id": "s_new", "anonymous_id": "s_anna"})
    assert events_of("anna_1") == ["click", "page_view"]


def test_every_page_load_adds_to_one_record(app: App) -> None:
    for _ in range(2):
        app.page().post("events", {"events": VISIT})
        app.page("anna_1").post("identify", {"session_id": "s_anna"})
    keys = Event.objects.order_by("pk").values_list("pk", flat=True)
    assert Join.objects.get().rows["events"] == list(keys)
    assert len(events_of("anna_1")) == 4


def test_a_session_of_another_customer_is_never_taken(app: App) -> None:
    server = app.server()
    server.post("events", {"events": [VISIT[0] | {"user_id": "ada"}, VISIT[1]]})
    assert events_of("ada") == ["click", "page_view"]
    server.post("events", {"events": VISIT})
    assert "joins" not in server.post("identify", {"user_id": "bo", "session_id": "s_anna"}).json
    assert events_of("bo") == []


def test_the_chat_of_another_customer_keeps_its_session(app: App) -> None:
    server = app.server()
    server.post("chat/transcripts", chat("s_anna", user_id="ada"))
    app.page().post("events", {"events": VISIT})
    app.page("bo").post("identify", {"session_id": "s_anna"})
    assert events_of("bo") == []


def test_old_events_of_a_session_stay_with_it(app: App) -> None:
    rows = [{**VISIT[0], "at": days_ago(31)}, VISIT[1]]
    app.server().post("events", {"events": rows})
    app.page("anna_1").post("identify", {"session_id": "s_anna"})
    assert events_of("anna_1") == ["click"]


def test_a_session_that_many_visitors_share_is_that_of_no_customer(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "MAX_ROWS", 1)
    app.page().post("events", {"events": VISIT})
    app.page("anna_1").post("identify", {"session_id": "s_anna"})
    assert events_of("anna_1") == []


def test_a_page_cannot_claim_a_conversation(app: App) -> None:
    app.server().post("chat/transcripts", chat("s_anna"))
    app.page("anna_1").post("identify", {"session_id": "s_anna"})
    assert Conversation.objects.get().customer is None


def test_a_server_joins_the_conversation_of_a_session_with_its_ratings(app: App) -> None:
    server = app.server()
    rating = {"position": 1, "rating": "bad"}
    server.post("chat/transcripts", chat("s_anna", ratings=[rating]))
    Ticket.objects.create(
        organization=app.organization, subject="Pricing", conversation=Conversation.objects.get()
    )
    sent = {"user_id": "anna_1", "company_id": "acme", "session_id": "s_anna"}
    answer = server.post("identify", sent)
    rows = {"conversations": 1, "feedback": 1, "tickets": 1}
    assert answer.json["joins"][0]["rows"] == rows
    anna = customer("anna_1")
    for model in (Conversation, Feedback, Ticket):
        row: Any = model.objects.get()
        assert (row.customer, row.company) == (anna, anna.company)


def test_a_chat_with_its_customer_joins_the_visit(app: App) -> None:
    app.page().post("events", {"events": VISIT})
    server = app.server()
    server.post("chat/transcripts", chat("s_anna"))
    answer = server.post("chat/transcripts", chat("s_anna", user_id="anna_1"))
    assert answer.json["joins"][0]["rows"] == {"events": 2, "conversations": 1}
    assert events_of("anna_1") == ["click", "page_view"]


def test_an_event_is_known_after_it_was_joined(app: App) -> None:
    batch = {"events": [VISIT[0] | {"id": "1", "at": days_ago(0)}]}
    app.page().post("events", batch)
    app.page("anna_1").post("identify", {"session_id": "s_anna"})
    assert app.page().post("events", batch).json["stored"] == 0


def test_sessions_of_two_organizations_are_apart(app: App) -> None:
    app.page().post("events", {"events": VISIT})
    own_app.create_app().page("anna_1").post("identify", {"session_id": "s_anna"})
    assert events_of("anna_1") == []


MAIL = {"email": "bea@kunde.example", "subject": "Offer", "message": "How much?"}
BEA: Row = {"user_id": "bea_1", "traits": {"email": "Bea@kunde.example"}}


def test_a_ticket_of_a_proven_address_becomes_that_of_its_customer(app: App) -> None:
    server = app.server()
    server.post("tickets/create", MAIL)
    answer = server.post("identify", {**BEA, "company_id": "acme"})
    assert answer.json["joins"][0]["rows"] == {"tickets": 1}
    ticket = Ticket.objects.get()
    assert (ticket.customer, ticket.company) == (customer("bea_1"), customer("bea_1").company)


def test_a_bulk_update_joins_tickets_of_proven_addresses(app: App) -> None:
    server = app.server()
    server.post("tickets/create", MAIL)
    answer = server.post("users/update", {"users": [BEA, {"user_id": "bo"}]})
    assert [one["rule"] for one in answer.json["joins"]] == ["address"]
    assert Ticket.objects.get().customer == customer("bea_1")


def test_an_address_that_a_page_claims_joins_no_ticket(app: App) -> None:
    server = app.server()
    app.page().post("tickets/create", MAIL)
    server.post("identify", BEA)
    assert Ticket.objects.get().customer is None
    server.post("tickets/create", {**MAIL, "email": "cy@kunde.example"})
    app.trust_pages()
    claim = {"user_id": "mallory", "traits": {"email": "cy@kunde.example"}}
    app.page().post("identify", claim)
    assert not Ticket.objects.filter(customer__external_id="mallory").exists()


def test_a_claimed_address_makes_nobody_the_author(app: App) -> None:
    app.trust_pages()
    app.page().post("identify", {"user_id": "mallory", "traits": {"email": "bea@kunde.example"}})
    server = app.server()
    assert server.post("tickets/create", MAIL).json["customer_id"] is None
    server.post("identify", BEA)
    assert Ticket.objects.get().customer == customer("bea_1")


def test_tickets_of_an_address_that_two_customers_have_stay(app: App) -> None:
    server = app.server()
    server.post("tickets/create", MAIL)
    users = [BEA, {**BEA, "user_id": "bea_2"}]
    server.post("users/update", {"users": users})
    assert Ticket.objects.get().customer is None


def test_a_lead_of_an_address_that_two_customers_have_stays_open(app: App) -> None:
    server = app.server()
    server.post("identify", BEA)
    server.post("identify", {"traits": {"email": BEA["traits"]["email"]}})
    assert "joins" not in server.post("identify", {**BEA, "user_id": "bea_2"}).json
    assert Lead.objects.get().customer is None


def test_an_earlier_address_still_finds_the_customer(app: App) -> None:
    server = app.server()
    for address in ("dan@old.example", "dan@new.example"):
        server.post("identify", {"user_id": "dan_1", "traits": {"email": address}})
    answer = server.post("tickets/create", {**MAIL, "email": "Dan@old.example"})
    assert answer.json["customer_id"] == customer("dan_1").pk
    server.post("identify", {"user_id": "dan_2", "traits": {"email": "dan@old.example"}})
    answer = server.post("tickets/create", {**MAIL, "email": "dan@old.example"})
    assert answer.json["customer_id"] == customer("dan_2").pk


def test_tickets_of_an_earlier_version_get_their_address(app: App) -> None:
    rows = [
        Ticket(organization=app.organization, subject="1", metadata={"email": "Bea@x.example"}),
        Ticket(organization=app.organization, subject="2", metadata={"email": 5}),
    ]
    Ticket.objects.bulk_create(rows)
    text_backfill.fill_search_texts()
    keys = Ticket.objects.order_by("subject").values_list("email_key", flat=True)
    assert list(keys) == ["bea@x.example", ""]
