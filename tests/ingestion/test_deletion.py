"""What servers delete: customers, companies, tickets, transcripts and events."""

from typing import Any
from urllib.parse import quote

import pytest

from audit.models import SecurityEvent
from customers import tasks
from oauth import server_keys
from tests.ingestion import app as own_app
from tests.ingestion.app import App, IngestionAnswer
from workspace.models import (
    Company,
    Conversation,
    ConversationMessage,
    Customer,
    Event,
    Feedback,
    Ticket,
    TicketMessage,
)

MESSAGES = [
    {"author": "customer", "text": "first"},
    {"author": "agent", "text": "second"},
    {"author": "customer", "text": "third"},
]
ADDRESSES = ("companies/acme", "tickets/T-1", "chat/transcripts/s-1", "events/e-1")


def delete(app: App, where: str) -> IngestionAnswer:
    return app.send("DELETE", where, b"")


def fill(server: App) -> None:
    ada = {"user_id": "ada/1", "traits": {"email": "ada@kunde.example"}}
    requests: tuple[tuple[str, Any], ...] = (
        ("companies", {"company_id": "acme", "traits": {"name": "Acme"}}),
        ("identify", ada | {"company_id": "acme"}),
        ("tickets/create", {"subject": "Hi", "user_id": "ada/1", "message": "Hello"}),
        ("tickets/create", {"subject": "Hi", "email": "b@x.example", "external_id": "T-1"}),
        ("chat/transcripts", {"session_id": "s-1", "user_id": "ada/1", "messages": MESSAGES}),
        ("events", {"events": [{"event_type": "click", "id": "e-1", "user_id": "ada/1"}]}),
    )
    for where, body in requests:
        answer = server.post(where, body)
        assert answer.status == 200, answer.json


@pytest.fixture
def server(app: App) -> App:
    """A server of an organization with one row of each kind."""
    server = app.server()
    fill(server)
    return server


def count(app: App) -> dict[str, int]:
    models = (Company, Customer, Ticket, TicketMessage, Conversation, ConversationMessage, Event)
    return {
        model.__name__: model._default_manager.filter(organization=app.organization).count()
        for model in models
    }


@pytest.mark.parametrize(
    ("where", "gone"),
    [
        ("companies/acme", {"Company": 0}),
        ("tickets/T-1", {"Ticket": 1}),
        ("chat/transcripts/s-1", {"Conversation": 0, "ConversationMessage": 0}),
        ("events/e-1", {"Event": 0}),
    ],
)
def test_a_server_deletes_a_row_once(
    app: App, server: App, where: str, gone: dict[str, int]
) -> None:
    before = count(app)
    answer = delete(server, where)
    assert (answer.status, answer.json["deleted"], answer.json["ignored"]) == (200, 1, [])
    assert count(app) == before | gone
    again = delete(server, where)
    assert (again.status, again.json["deleted"]) == (200, 0)
    assert "Nothing has this id" in again.json["ignored"][0]["reason"]
    recorded = SecurityEvent.objects.get(kind="data_deleted")
    assert recorded.organization_id == str(app.organization.pk)
    assert "by server key" in recorded.detail


def test_a_row_is_deleted_by_the_id_that_its_creation_returned(app: App, server: App) -> None:
    created = server.post("tickets/create", {"subject": "Hi", "email": "b@x.example"})
    assert delete(server, f"tickets/{created.json['ticket_id']}").json["deleted"] == 1
    company = Company.objects.get(organization=app.organization)
    assert delete(server, f"companies/{company.pk}").json["deleted"] == 1
    assert Customer.objects.get(organization=app.organization).company_id is None


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("where", [*ADDRESSES, "customers/ada%2F1"])
def test_another_organization_keeps_its_rows(app: App, where: str) -> None:
    before = count(app)
    other = own_app.create_app().server()
    answer = delete(other, where)
    assert (answer.status, bool(answer.json["ignored"])) == (200, True)
    assert count(app) == before


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("where", [*ADDRESSES, "customers/ada%2F1"])
def test_only_a_server_key_with_the_scope_deletes(app: App, where: str) -> None:
    before = count(app)
    assert delete(app.page("ada/1"), where).status == 403
    assert delete(app.server(server_keys.SDK_WRITE), where).status == 403
    assert delete(App(app.grant), where).status == 401
    assert count(app) == before


@pytest.mark.parametrize("named", ["ada/1", quote("ada/1", safe=""), quote(" ada/1 ")])
def test_a_customer_is_erased_by_their_id(app: App, server: App, named: str) -> None:
    key = Customer.objects.get(organization=app.organization).pk
    begun = delete(server, f"customers/{named}")
    assert (begun.status, begun.json["id"]) == (200, key)
    assert begun.json["state"] in {"under_way", "erased"}
    assert not Customer.objects.filter(external_id="ada/1").exists()
    tasks.finish_erasures()
    done = delete(server, f"customers/{key}").json
    assert (done["state"], done["erased"]["events"], done["erased"]["customers"]) == (
        "erased",
        1,
        1,
    )
    assert delete(server, f"customers/{named}").json["state"] == "erased"
    assert SecurityEvent.objects.filter(kind="customer_erased", subject=key).count() == 1
    assert "server key" in SecurityEvent.objects.get(kind="customer_erased").detail


def test_an_unknown_customer_is_named(server: App) -> None:
    answer = delete(server, "customers/nemo")
    assert (answer.status, answer.json["state"]) == (200, "unknown")
    assert answer.json["ignored"][0]["field"] == "user_id"
    assert delete(server, "customers/a%00b").json["state"] == "unknown"


def test_a_customer_who_came_back_is_erased_again(app: App, server: App) -> None:
    delete(server, "customers/ada/1")
    tasks.finish_erasures()
    back = server.post("identify", {"user_id": "ada/1", "allow_erased": True})
    again = delete(server, "customers/ada/1").json
    assert again["id"] == back.json["id"]
    tasks.finish_erasures()
    assert not Customer.objects.filter(organization=app.organization).exists()


def test_a_complete_transcript_deletes_the_messages_that_it_has_no_more(server: App) -> None:
    rating = {"position": 3, "rating": "bad"}
    sent = {"session_id": "s-1", "messages": MESSAGES[:2], "ratings": [rating]}
    assert server.post("chat/transcripts", sent).json["messages"] == 3
    del sent["ratings"]
    stored = server.post("chat/transcripts", sent | {"complete": True})
    assert stored.json["messages"] == 2
    texts = ConversationMessage.objects.order_by("position").values_list("text", flat=True)
    assert list(texts) == ["first", "second"]
    assert not Feedback.objects.exists()
    part = {"session_id": "s-1", "offset": 1, "messages": MESSAGES[1:2], "complete": True}
    assert server.post("chat/transcripts", part).json["messages"] == 2
    assert (
        server.post("chat/transcripts", {"session_id": "s-1", "complete": True}).json["messages"]
        == 0
    )
    assert Conversation.objects.get().question == ""
