"""The JSON document with everything that is stored about a customer."""

import json
from typing import Any

import pytest

from audit.models import SecurityEvent
from customers.privacy import export
from tests.docs.doc_pages import table, words
from tests.drivers.grants import Grant, make_grant
from tests.workspace.privacy import EMAIL, EXTERNAL_ID, NAME, SECRET, Life, export_customer
from workspace.models import Event


@pytest.fixture
def life(grant: Grant) -> Life:
    return Life(grant)


def test_an_export_has_everything_about_the_customer(life: Life) -> None:
    document = export_customer(life.grant, EMAIL)
    customer, company = document["customer"], document["company"]
    assert (customer["id"], customer["external_id"]) == (life.customer.pk, EXTERNAL_ID)
    assert (customer["email"], customer["name"]) == (EMAIL, NAME)
    assert customer["context"]["cart"]["value"] == [SECRET]
    assert customer["vendor_ids"] == {"stripe": "cus_Quill"}
    assert company["name"] == f"{SECRET} 1 Ltd"
    counts = {name: len(rows) for name, rows in document.items() if isinstance(rows, list)}
    assert counts == {
        "leads": 2,
        "events": 1,
        "feedback": 1,
        "conversations": 1,
        "tickets": 2,
        "aliases": 0,
        "joins": 0,
        "outgoing_mails": 0,
        "approval_requests": 1,
        "agent_sessions": 0,
        "calls": 5,
        "security_events": 1,
        "mentions": 0,
        "left_as_they_are": 0,
        # The company, which has no other customer.
        "not_looked_for": 1,
    }


def test_threads_have_their_messages_in_order(life: Life) -> None:
    document = export_customer(life.grant, EMAIL)
    (ticket,) = (one for one in document["tickets"] if one["messages"])
    assert [message["position"] for message in ticket["messages"]] == [1, 3]
    (conversation,) = document["conversations"]
    assert [one["author_kind"] for one in conversation["messages"]] == [
        *("customer", "agent", "agent")
    ]


def test_an_export_names_no_other_customer_or_organization(life: Life) -> None:
    elsewhere = Life(make_grant("actions:* data:read"))
    text = json.dumps(export_customer(life.grant, EMAIL))
    for other in (life.neighbour, elsewhere.customer, elsewhere.neighbour):
        assert other.pk not in text
    assert "neighbour" not in text


def test_an_export_is_recorded_with_actor_and_counts(life: Life) -> None:
    export_customer(life.grant, EMAIL)
    event = SecurityEvent.objects.get(kind="customer_exported")
    assert (event.subject, "tickets: 2" in event.detail) == (life.customer.pk, True)
    assert "by manage.py customer" in event.detail
    assert EMAIL not in event.detail


def test_an_export_is_sent_in_parts(life: Life, django_assert_max_num_queries: Any) -> None:
    Event.objects.bulk_create(
        Event(organization=life.grant.organization, customer=life.customer, event_type="x" * 90)
        for _ in range(300)
    )
    from customers.privacy.erasure import PrivacyActor  # noqa: PLC0415  after the settings

    with django_assert_max_num_queries(75):
        parts = list(export.document(life.customer, PrivacyActor("test")))
    assert max(map(len, parts)) < 5_000
    assert len(json.loads("".join(parts))["events"]) == 301


def test_the_page_lists_every_member_of_the_document(life: Life) -> None:
    listed = words([row[0] for row in table("privacy", "Export a customer")])
    assert listed == list(export_customer(life.grant, EMAIL))
