"""Two ids of one person: alias and merge, what the old id names then, and undoing it."""

from typing import Any

import pytest
from django.forms.models import model_to_dict

from customers import customers as customer_rows
from customers.identification import merges
from tests.ingestion import app as own_app
from tests.ingestion.app import App
from tests.ingestion.test_joins import BEA, MAIL, VISIT, chat, customer, events_of
from workspace.models import (
    Conversation,
    Customer,
    CustomerAlias,
    Event,
    Join,
    Lead,
    LeadStatus,
    Ticket,
)

Row = dict[str, Any]
EVE: Row = {
    "user_id": "eve_1",
    "company_id": "acme",
    "traits": {"email": "eve@x.example", "name": "Eve", "plan": "pro", "mrr": 12.5, "seats": 3},
}
EVE_2: Row = {"user_id": "eve_2", "traits": {"email": "eve@y.example", "seats": 9, "beta": True}}
PAIR = {"from_id": "eve_1", "into_id": "eve_2"}


@pytest.fixture
def server(app: App) -> App:
    """A server that knows one person by two ids, each with an event, a ticket and a chat."""
    found = app.server()
    for who in (EVE, EVE_2):
        named = {"user_id": who["user_id"]}
        found.post("identify", who)
        found.post("events", {"events": [{"event_type": who["user_id"], **named}]})
        found.post("tickets/create", {"subject": who["user_id"], **named})
        found.post("chat/transcripts", chat(who["user_id"], **named))
    return found


def columns(row: Customer) -> Row:
    row.refresh_from_db()
    left = {"updated_at"}
    return {
        name.attname: getattr(row, name.attname)
        for name in Customer._meta.concrete_fields
        if name.attname not in left
    }


def test_a_merge_gives_the_rows_and_what_is_missing(server: App) -> None:
    merged = customer("eve_1")
    answer = server.post("users/merge", PAIR)
    eve = customer("eve_2")
    rows = {"events": 1, "conversations": 1, "tickets": 1}
    assert (answer.status, answer.json["id"]) == (200, eve.pk)
    assert [(one["rule"], one["rows"]) for one in answer.json["joins"]] == [("merge", rows)]
    assert not Customer.objects.filter(pk=merged.pk).exists()
    for model in (Event, Ticket, Conversation):
        assert {row.customer_id for row in model.objects.all()} == {eve.pk}  # type: ignore[attr-defined]  # each has one
    assert (eve.name, eve.plan, eve.mrr, eve.company) == ("Eve", "pro", merged.mrr, merged.company)
    assert (eve.email, eve.custom_fields) == ("eve@y.example", {"seats": 9, "beta": True})
    assert eve.first_seen == merged.first_seen


def test_the_old_ids_name_the_customer_everywhere(app: App, server: App) -> None:
    merged = customer("eve_1")
    server.post("users/merge", PAIR)
    eve = customer("eve_2")
    assert server.post("identify", {"user_id": "eve_1"}).json["id"] == eve.pk
    server.post("events", {"events": [{"event_type": "late", "user_id": "eve_1"}]})
    assert events_of("eve_2") == ["eve_1", "eve_2", "late"]
    users = [{"user_id": "eve_1", "traits": {"plan": "a"}}, {"user_id": "eve_2"}]
    assert server.post("users/update", {"users": users}).json["updated"] == 2
    for author in ({"user_id": "eve_1"}, {"email": "Eve@x.example"}):
        answer = server.post("tickets/create", {"subject": "S", **author})
        assert answer.json["customer_id"] == eve.pk
    bound = customer_rows.find_bound(app.organization.pk, customer_id=merged.pk)
    assert bound is not None
    assert bound.id == eve.pk
    assert Customer.objects.count() == 1


def test_an_undone_merge_restores_both_customers(server: App) -> None:
    merged, eve = customer("eve_1"), customer("eve_2")
    before = columns(merged), columns(eve)
    join_id = server.post("users/merge", PAIR).json["joins"][0]["id"]
    server.post("events", {"events": [{"event_type": "after", "user_id": "eve_1"}]})
    times = Customer.objects.get().last_seen
    answer = server.post(f"joins/{join_id}/undo")
    assert (answer.status, answer.json["id"]) == (200, eve.pk)
    after = columns(merged), columns(eve)
    # What came after the merge stays with the customer who remained, seen meanwhile.
    assert after[0] == before[0]
    assert after[1] | {"last_seen": None} == before[1] | {"last_seen": None}
    assert eve.last_seen == times
    assert (events_of("eve_1"), events_of("eve_2")) == (["eve_1"], ["after", "eve_2"])
    assert Ticket.objects.get(subject="eve_1").customer == merged
    assert not CustomerAlias.objects.exists()
    again = server.post(f"joins/{join_id}/undo")
    assert again.status == 200
    assert Join.objects.get().undone_by


def test_merges_are_undone_in_any_order(server: App) -> None:
    server.post("identify", {"user_id": "eve_3"})
    first = server.post("users/merge", PAIR).json["joins"][0]["id"]
    second = server.post("alias", {"previous_id": "eve_2", "user_id": "eve_3"}).json["joins"][0]
    assert events_of("eve_3") == ["eve_1", "eve_2"]
    assert server.post("identify", {"user_id": "eve_1"}).json["id"] == customer("eve_3").pk
    assert server.post(f"joins/{first}/undo").status == 200
    assert (events_of("eve_1"), events_of("eve_3")) == (["eve_1"], ["eve_2"])
    assert server.post(f"joins/{second['id']}/undo").status == 200
    assert (events_of("eve_1"), events_of("eve_2")) == (["eve_1"], ["eve_2"])
    assert events_of("eve_3") == []


def test_an_alias_of_an_id_that_nobody_has_names_the_customer(server: App) -> None:
    sent = {"previous_id": "cookie-1", "user_id": "eve_2"}
    answer = server.post("alias", sent)
    assert answer.json["id"] == customer("eve_2").pk
    assert server.post("identify", {"user_id": "cookie-1"}).json["id"] == customer("eve_2").pk
    assert "joins" not in server.post("alias", sent).json
    assert "joins" not in server.post("users/merge", {**PAIR, "from_id": "cookie-1"}).json


def test_only_servers_merge_and_undo(app: App, server: App) -> None:
    join_id = server.post("users/merge", PAIR).json["joins"][0]["id"]
    page = app.page("eve_2")
    alias = {"previous_id": "a", "user_id": "eve_2"}
    sent = {"users/merge": PAIR, "alias": alias, f"joins/{join_id}/undo": {}}
    assert {page.post(where, body).status for where, body in sent.items()} == {403}


def test_wrong_ids_of_a_merge_are_named(app: App, server: App) -> None:
    wrong = {**PAIR, "from_id": "nowhere"}
    assert server.post("users/merge", wrong).refusal == (404, "from_id")
    assert server.post("alias", {"previous_id": "null", "user_id": "a"}).refusal == (
        400,
        "previous_id",
    )
    join_id = server.post("users/merge", PAIR).json["joins"][0]["id"]
    other = own_app.create_app().server()
    assert other.post(f"joins/{join_id}/undo").refusal == (404, "join_id")
    assert other.post("users/merge", PAIR).refusal == (404, "from_id")
    assert app.organization.pk == Join.objects.get().organization_id


def test_a_customer_with_very_many_rows_is_not_merged(
    server: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merges, "MAX_MERGED", 2)
    assert server.post("users/merge", PAIR).refusal == (409, "from_id")
    assert events_of("eve_1") == ["eve_1"]


def test_an_undone_session_goes_back_and_stays_there(app: App) -> None:
    app.page().post("events", {"events": VISIT})
    sent = {"user_id": "anna_1", "session_id": "s_anna"}
    server = app.server()
    join_id = server.post("identify", sent).json["joins"][0]["id"]
    assert server.post(f"joins/{join_id}/undo").json["joins"][0]["rows"] == {"events": 2}
    assert events_of("anna_1") == []
    assert "joins" not in server.post("identify", sent).json
    assert events_of("anna_1") == []


def test_an_undone_address_gives_back_tickets_and_leads(app: App) -> None:
    server = app.server()
    server.post("tickets/create", MAIL)
    lead = {"traits": {"email": "bea@kunde.example", "name": "Bea", "phone": "1"}}
    app.page().post("identify", lead)
    sent = {**BEA, "company_id": "acme"}
    joined = server.post("identify", sent).json["joins"][0]
    assert joined["rows"] == {"tickets": 1, "leads": 1}
    bea = customer("bea_1")
    assert (bea.name, bea.custom_fields) == ("Bea", {"phone": "1"})
    server.post(f"joins/{joined['id']}/undo")
    bea.refresh_from_db()
    assert (bea.name, bea.custom_fields) == ("", {})
    ticket, found = Ticket.objects.get(), Lead.objects.get()
    assert (ticket.customer, ticket.company) == (None, None)
    assert (found.customer, found.status, found.converted_at) == (None, LeadStatus.OPEN, None)
    assert "joins" not in server.post("identify", sent).json
    assert model_to_dict(Ticket.objects.get())["customer"] is None


def test_a_server_joins_the_chat_of_a_session_and_gives_it_back(app: App) -> None:
    server = app.server()
    server.post("chat/transcripts", chat("s_anna"))
    sent = {"user_id": "anna_1", "company_id": "acme", "session_id": "s_anna"}
    join_id = server.post("identify", sent).json["joins"][0]["id"]
    server.post(f"joins/{join_id}/undo")
    row = Conversation.objects.get()
    assert (row.customer, row.company) == (None, None)


@pytest.mark.parametrize("kept", [{"plan": "pro", "beta": True}, {}])
def test_undoing_the_first_of_two_merges_takes_its_values_only(app: App, kept: Row) -> None:
    server = app.server()
    claims = {"plan": "pro", "beta": True, "name": "Eve", "email": "eve@x.example"}
    for name, traits in (("eve_1", claims), ("eve_2", {"role": "admin"}), ("eve_3", kept)):
        server.post("identify", {"user_id": name, "traits": traits})
    before = {name: columns(customer(name)) for name in ("eve_1", "eve_2", "eve_3")}
    pairs = (("eve_1", "eve_2"), ("eve_2", "eve_3"))
    for one, other in pairs:
        answer = server.post("users/merge", {"from_id": one, "into_id": other})
        assert answer.status == 200
    for join in Join.objects.order_by("joined_at"):
        assert server.post(f"joins/{join.pk}/undo").status == 200
    seen = {"first_seen", "last_seen"}
    for name, values in before.items():
        after = columns(customer(name))
        assert {key: after[key] for key in after if key not in seen} == {
            key: values[key] for key in values if key not in seen
        }
    assert not CustomerAlias.objects.exists()


def test_a_trait_that_a_merge_gave_can_be_set_by_an_older_message_after_undoing(
    server: App,
) -> None:
    join_id = server.post("users/merge", PAIR).json["joins"][0]["id"]
    server.post(f"joins/{join_id}/undo")
    older = {"user_id": "eve_2", "timestamp": "2026-01-01T00:00:00Z", "traits": {"plan": "free"}}
    answer = server.post("identify", older)
    assert (answer.json["stored"], customer("eve_2").plan) == (["plan"], "free")
