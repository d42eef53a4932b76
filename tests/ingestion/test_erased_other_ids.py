"""Customers with other ids: erasing them, and what comes for an id while the erasure is open."""

from typing import Any

import pytest

from customers import tasks
from customers.privacy import erasure
from customers.privacy.erasure import PrivacyActor
from tests.ingestion.app import App
from workspace.models import Customer, Event, Join

MESSAGE = {"author": "customer", "text": "Hello"}


@pytest.fixture
def server(app: App) -> App:
    """A server that knows one person by two ids."""
    server = app.server()
    for name in ("zoe_1", "zoe_2"):
        sent = {"user_id": name, "traits": {"email": f"{name}@kunde.example"}}
        assert server.post("identify", sent).status == 200
    assert server.post("users/merge", {"from_id": "zoe_2", "into_id": "zoe_1"}).status == 200
    return server


@pytest.fixture
def erasing_server(app: App, server: App) -> App:
    """A server of an organization in which the person is being erased, and not gone yet."""
    customer = Customer.objects.get(organization=app.organization)
    erasure.begin(app.organization.pk, customer.pk, PrivacyActor("test"))
    return server


@pytest.mark.parametrize("kind", ["external", "internal"])
def test_a_customer_is_erased_by_a_merged_id(app: App, server: App, kind: str) -> None:
    customer = Customer.objects.get(organization=app.organization)
    named = "zoe_2" if kind == "external" else Join.objects.get(rule="merge").source
    begun = server.send("DELETE", f"customers/{named}", b"").json
    assert (begun["state"] in {"under_way", "erased"}, begun["id"]) == (True, customer.pk)
    tasks.finish_erasures()
    assert not Customer.objects.filter(organization=app.organization).exists()


@pytest.mark.parametrize("kind", ["external", "internal", "new"])
def test_an_erasure_under_way_is_found_by_a_merged_id(erasing_server: App, kind: str) -> None:
    source = Join.objects.get(rule="merge").source
    named = {"external": "zoe_2", "internal": source, "new": "zoe_1"}[kind]
    assert erasing_server.send("DELETE", f"customers/{named}", b"").json["state"] == "under_way"


REQUESTS: dict[str, Any] = {
    "identify": {"user_id": "zoe_2"},
    "tickets/create": {"subject": "Hi", "user_id": "zoe_2"},
    "chat/transcripts": {"session_id": "s", "user_id": "zoe_2", "messages": [MESSAGE]},
    "alias": {"previous_id": "zoe_2", "user_id": "yan_1"},
}


@pytest.mark.parametrize("where", REQUESTS)
def test_a_merged_id_is_refused_while_the_erasure_is_open(erasing_server: App, where: str) -> None:
    refused = erasing_server.post(where, REQUESTS[where])
    field = "previous_id" if where == "alias" else "user_id"
    assert refused.refusal == (409, field), refused.json


@pytest.mark.parametrize("where", ["identify", "tickets/create", "chat/transcripts"])
def test_a_server_may_store_a_merged_id_while_the_erasure_is_open(
    erasing_server: App, where: str
) -> None:
    assert erasing_server.post(where, REQUESTS[where] | {"allow_erased": True}).status == 200
    tasks.finish_erasures()
    assert Customer.objects.get(external_id="zoe_2")


def test_batches_leave_a_merged_id_out_while_the_erasure_is_open(erasing_server: App) -> None:
    sent = [{"event_type": "late", "user_id": "zoe_2"}, {"event_type": "late", "user_id": "yan_1"}]
    answer = erasing_server.post("events", {"events": sent})
    assert (answer.status, answer.json["stored"]) == (200, 1)
    answer = erasing_server.post(
        "users/update", {"users": [{"user_id": "zoe_2"}, {"user_id": "yan_2"}]}
    )
    assert (answer.status, answer.json["created"]) == (200, 1)
    tasks.finish_erasures()
    assert set(Customer.objects.values_list("external_id", flat=True)) == {"yan_1", "yan_2"}
    assert Event.objects.count() == 1


@pytest.mark.usefixtures("erasing_server")
def test_an_open_page_does_not_say_whose_events_were_refused(app: App) -> None:
    sent = [{"event_type": "late", "user_id": "zoe_1"}]
    app.trust_pages()
    (ignored,) = app.page().post("events", {"events": sent}).json["ignored"]
    assert ignored["field"] == "events[0].user_id"
    assert "erased" not in ignored["reason"]
