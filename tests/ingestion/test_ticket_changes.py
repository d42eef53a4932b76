"""Tickets as a server changes them: status, assignee, dates and ids."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from customers.privacy import retention
from tests.drivers.data_tools import answer
from tests.drivers.mcp import McpClient
from tests.ingestion import app as own_app
from tests.ingestion.app import App, IngestionAnswer
from workspace.models import Ticket, TicketMessage

CREATED = {"subject": "Login fails", "message": "I cannot log in.", "email": "ada@x.example"}


def days_ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def create(server: App, **changes: Any) -> Ticket:
    created = server.post("tickets/create", CREATED | changes)
    assert created.status == 200, created.json
    return Ticket.objects.get(pk=created.json["ticket_id"])


def change(server: App, named: str, **changes: Any) -> IngestionAnswer:
    return server.send("PATCH", f"tickets/{named}", json.dumps(changes).encode())


def test_a_ticket_is_resolved_and_opened_again(app: App) -> None:
    server = app.server()
    ticket = create(server)
    resolved = change(server, ticket.pk, status="resolved")
    assert (resolved.status, resolved.json["changed"]) == (200, ["status", "resolved_at"])
    ticket.refresh_from_db()
    assert ticket.resolved_at is not None
    assert change(server, ticket.pk, status="resolved").json["changed"] == []
    change(server, ticket.pk, status="snoozed")
    ticket.refresh_from_db()
    assert (ticket.status, ticket.resolved_at) == ("snoozed", None)


def test_open_tickets_are_those_that_are_not_resolved(app: App) -> None:
    server = app.server()
    first, second = create(server), create(server)
    change(server, first.pk, status="resolved")
    mcp = McpClient(app.grant.token("data:read"))
    found = answer(mcp, "data_search_tickets", status="unresolved")
    assert [item["id"] for item in found["items"]] == [second.pk]


def test_a_ticket_has_an_assignee_a_category_and_a_priority(app: App) -> None:
    server = app.server()
    ticket = create(server)
    facts = {"category": "Sign-in", "inbox": "Support", "priority": "priority"}
    changed = change(server, ticket.pk, assignee=app.grant.user.email.upper(), **facts)
    assert sorted(changed.json["changed"]) == ["assignee", "category", "inbox", "priority"]
    ticket.refresh_from_db()
    assert (ticket.assignee, ticket.category, ticket.inbox) == (
        app.grant.user, "Sign-in", "Support",
    )  # fmt: skip
    change(server, ticket.pk, assignee="", category="")
    ticket.refresh_from_db()
    assert (ticket.assignee, ticket.category, ticket.priority) == (None, "", "priority")


def test_a_changed_subject_is_found_by_its_words(app: App) -> None:
    server = app.server()
    ticket = create(server)
    change(server, ticket.pk, subject="Passkey rejected")
    mcp = McpClient(app.grant.token("data:read"))
    assert answer(mcp, "data_search_tickets", query="passkey")["total"] == 1
    assert answer(mcp, "data_search_tickets", query="fails")["total"] == 0
    assert TicketMessage.objects.get().heading == "Passkey rejected"


def test_an_old_ticket_has_its_own_days(app: App) -> None:
    created, resolved = days_ago(700), days_ago(699)
    ticket = create(
        app.server(),
        status="resolved",
        created_at=created.isoformat(),
        resolved_at=resolved.isoformat(),
    )
    assert (ticket.created_at, ticket.resolved_at) == (created, resolved)
    assert TicketMessage.objects.get().at == created


def test_a_ticket_is_named_by_the_id_of_another_system(app: App) -> None:
    server = app.server()
    ticket = create(server, external_id=" T-1 ")
    assert change(server, "T-1", status="spam").json["changed"] == ["status"]
    replied = server.post("tickets/T-1/messages", {"message": "Hello"})
    assert (replied.status, replied.json["ticket_id"]) == (200, ticket.pk)
    stranger = own_app.create_app().server()
    assert change(stranger, "T-1", status="open").refusal == (404, "ticket_id")
    assert create(stranger, external_id="T-1").pk != ticket.pk


def test_another_ticket_with_a_known_external_id_is_refused(app: App) -> None:
    server = app.server()
    create(server, external_id="T-1")
    other = create(server)
    for refused in (
        server.post("tickets/create", CREATED | {"external_id": "T-1"}),
        change(server, other.pk, external_id="T-1", status="resolved"),
    ):
        assert refused.refusal == (409, "external_id")
    other.refresh_from_db()
    assert (other.external_id, other.status) == ("", "open")
    assert Ticket.objects.count() == 2


def test_a_repeated_creation_with_a_key_is_no_conflict(app: App) -> None:
    server, sent = app.server(), CREATED | {"external_id": "T-1"}
    first, again = (server.post("tickets/create", sent, idempotency_key="k") for _ in range(2))
    assert (first.status, again.json) == (200, first.json)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"status": "closed"}, "status"),
        ({"priority": "high"}, "priority"),
        ({"assignee": "stranger@x.example"}, "assignee"),
        ({"assignee": "nobody"}, "assignee"),
        ({"assignee": 5}, "assignee"),
        ({"subject": ""}, "subject"),
        ({"external_id": "undefined"}, "external_id"),
        ({"resolved_at": "2026-01-01T00:00:00Z"}, "resolved_at"),
        ({"status": "resolved", "resolved_at": "2001-01-01T00:00:00Z"}, "resolved_at"),
        ({"status": "resolved", "resolved_at": "1970-01-01T00:00:00Z"}, "resolved_at"),
        ({"status": "resolved", "resolved_at": "2190-01-01T00:00:00Z"}, "resolved_at"),
        ({"user_id": "1"}, "user_id"),
        ({"created_at": "2026-01-01T00:00:00Z"}, "created_at"),
    ],
)
def test_a_wrong_change_is_refused_by_name(app: App, changes: dict[str, Any], field: str) -> None:
    server = app.server()
    ticket = create(server)
    assert change(server, ticket.pk, **{"category": "New"} | changes).refusal == (400, field)
    ticket.refresh_from_db()
    assert (ticket.status, ticket.category) == ("open", "")


def test_the_member_of_another_organization_is_no_assignee(app: App) -> None:
    stranger = own_app.create_app().grant.user
    server = app.server()
    ticket = create(server)
    refused = change(server, ticket.pk, assignee=stranger.email)
    assert refused.refusal == (400, "assignee")


def test_an_unknown_ticket_and_one_of_another_organization_look_the_same(app: App) -> None:
    foreign = create(own_app.create_app().server())
    for named in (foreign.pk, "tkt_none", "%00"):
        refused = change(app.server(), named, status="resolved")
        assert refused.refusal == (404, "ticket_id"), named
    foreign.refresh_from_db()
    assert foreign.status == "open"


def test_what_only_a_server_says_of_a_new_ticket_is_ignored_of_a_page(app: App) -> None:
    said = {"status": "resolved", "external_id": "T-1", "inbox": "VIP"}
    said |= {"created_at": days_ago(900).isoformat(), "assignee": app.grant.user.email}
    created = app.page().post("tickets/create", CREATED | said | {"category": "Bug"})
    ticket = Ticket.objects.get(pk=created.json["ticket_id"])
    assert (ticket.status, ticket.external_id, ticket.inbox) == ("open", "", "")
    assert (ticket.assignee, ticket.category) == (None, "Bug")
    assert {one["field"] for one in created.json["ignored"]} == {*said, "email"}


def test_resolved_tickets_of_the_api_are_deleted_when_their_time_is_over(
    app: App, settings: Any
) -> None:
    old, days = days_ago(40).isoformat(), {"created_at": days_ago(50).isoformat()}
    create(app.server(), status="resolved", resolved_at=old, **days)
    kept = create(app.server(), **days)
    settings.HALO_RETENTION_TICKETS_DAYS = 30
    retention.prune()
    assert Ticket.objects.get() == kept
