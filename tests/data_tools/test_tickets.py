"""data_search_tickets and data_get_ticket."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from customers import companies
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.threads import (
    MINUTE,
    NOON,
    agent_message,
    customer_message,
    teammate_message,
    ticket,
)
from workspace.models import Company, Ticket, TicketStatus

DAY = timedelta(days=1)


@pytest.fixture
def each_status(grant: Grant) -> dict[str, str]:
    """The id of a ticket in each status, the oldest first."""
    return {
        status: ticket(grant, status, created_at=NOON + number * MINUTE, status=status).pk
        for number, status in enumerate(TicketStatus.values)
    }


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("any", ["resolved", "snoozed", "in_progress", "priority", "open"]),
        ("unresolved", ["snoozed", "in_progress", "priority", "open"]),
        *((status, [status]) for status in TicketStatus.values),
    ],
)
def test_tickets_are_found_by_status(
    mcp: McpClient, each_status: dict[str, str], status: str, found: list[str]
) -> None:
    result = answer(mcp, "data_search_tickets", status=status)
    assert ids(result) == [each_status[name] for name in found]
    assert (result["total"], result["searched"]["status"]) == (len(found), status)


def test_counts_by_status_are_those_of_the_table(
    mcp: McpClient, grant: Grant, each_status: dict[str, str]
) -> None:
    ticket(grant, "Another", status="open")
    groups = answer(mcp, "data_search_tickets", group_by="status")["groups"]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, count(*) FROM workspace_ticket WHERE status <> 'spam' "
            "GROUP BY status ORDER BY count(*) DESC, status"
        )
        rows = cursor.fetchall()
    assert [(one["value"], one["count"]) for one in groups] == rows
    assert len(rows) == len(each_status) - 1


def test_a_ticket_has_names_next_to_ids(mcp: McpClient, grant: Grant) -> None:
    acme = companies.keep(Company(organization=grant.organization, name="Acme"))
    maria = grant.customer(external_id="1", name="Maria", company=acme)
    made = ticket(
        grant,
        "Export fails",
        customer_message("The export\nfails."),
        agent_message("Which one?"),
        note="Known bug",
        customer=maria,
        company=acme,
        assignee=grant.user,
        inbox="Support",
        first_response_at=NOON + MINUTE,
    )
    (item,) = answer(mcp, "data_search_tickets")["items"]
    assert item == {
        "id": made.pk,
        "subject": "Export fails",
        "status": "open",
        "priority": "normal",
        "assignee": {"id": str(grant.user.pk), "name": grant.user.email},
        "user": {"id": maria.pk, "name": "Maria"},
        "company": {"id": acme.pk, "name": "Acme"},
        "last_author": {"kind": "agent", "name": "AI agent"},
        "created_at": "2026-11-20T12:00:00+00:00",
        "updated_at": "2026-11-20T12:00:00+00:00",
        "excerpt": {
            "message_id": 1,
            "author": {"kind": "customer", "name": "Customer"},
            "text": "The export fails.",
        },
    }
    (detailed,) = answer(mcp, "data_search_tickets", response_format="detailed")["items"]
    more = {name: value for name, value in detailed.items() if name not in item}
    assert more == {
        "inbox": "Support",
        "source": "api",
        "first_response_at": "2026-11-20T12:01:00+00:00",
    }


def test_tickets_are_found_by_assignee(mcp: McpClient, grant: Grant) -> None:
    other = make_grant().user
    other.name = "Bob"
    other.save()
    grant.organization.memberships.create(user=other)
    mine = ticket(grant, "Mine", assignee=grant.user).pk
    theirs = ticket(grant, "Theirs", assignee=other).pk
    nobodys = ticket(grant, "Nobody's").pk
    found = {
        named: ids(answer(mcp, "data_search_tickets", assignee=named))
        for named in ("me", "ME", "unassigned", "bob", str(other.pk), other.email.upper())
    }
    assert found == {
        "me": [mine],
        "ME": [mine],
        "unassigned": [nobodys],
        "bob": [theirs],
        str(other.pk): [theirs],
        other.email.upper(): [theirs],
    }
    groups = answer(mcp, "data_search_tickets", group_by="assignee")["groups"]
    names = [
        one["value"] if isinstance(one["value"], str) else one["value"]["name"] for one in groups
    ]
    assert sorted(names) == sorted(["(none)", "Bob", grant.user.email])


def test_a_person_of_another_organization_is_no_assignee(mcp: McpClient, grant: Grant) -> None:
    elsewhere = make_grant().user
    ticket(grant, "Mine", assignee=grant.user)
    for named in (elsewhere.email, str(elsewhere.pk)):
        error = refusal(mcp, "data_search_tickets", assignee=named)
        assert (error["field"], error["reason"].startswith("none matches")) == ("assignee", True)
        assert str(elsewhere.pk) not in error["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "needle"},
        {"priority": "priority"},
        {"inbox": "SALES"},
        {"category": "billing"},
        {"source": "Email"},
        {"user": "maria"},
        {"company": "acme"},
        {"from_": "2026-11-19", "to": "2026-11-19"},
        {"time_field": "updated_at", "from_": "2026-11-25"},
        {"time_field": "resolved_at", "to": "2026-11-30"},
    ],
    ids="-".join,
)
def test_tickets_are_found_by_each_filter(
    mcp: McpClient, grant: Grant, arguments: dict[str, Any]
) -> None:
    acme = companies.keep(Company(organization=grant.organization, name="Acme"))
    ticket(grant, "Another", customer_message("Hay"))
    wanted = ticket(
        grant,
        "A",
        customer_message("A needle"),
        customer=grant.customer(external_id="1", name="Maria"),
        company=acme,
        priority="priority",
        inbox="Sales",
        category="Billing",
        source="email",
        created_at=NOON - DAY,
        updated_at=NOON + 5 * DAY,
        resolved_at=NOON + 5 * DAY,
    )
    assert ids(answer(mcp, "data_search_tickets", **arguments)) == [wanted.pk]


def test_tickets_are_sorted_by_the_time_that_the_call_names(mcp: McpClient, grant: Grant) -> None:
    changed = {1: 3, 2: 1, 3: 2}
    pks = {
        number: ticket(
            grant, f"{number}", created_at=NOON + number * DAY, updated_at=NOON + (3 + late) * DAY
        ).pk
        for number, late in changed.items()
    }
    orders = {
        sort: ids(answer(mcp, "data_search_tickets", sort=sort))
        for sort in ("created_at_desc", "created_at_asc", "updated_at_desc")
    }
    assert orders == {
        "created_at_desc": [pks[3], pks[2], pks[1]],
        "created_at_asc": [pks[1], pks[2], pks[3]],
        "updated_at_desc": [pks[1], pks[3], pks[2]],
    }


def test_the_excerpt_of_a_search_is_of_the_message_with_the_words(
    mcp: McpClient, grant: Grant
) -> None:
    ticket(
        grant,
        "Help",
        customer_message("Hello"),
        agent_message("Try the needle"),
        customer_message("Needles?"),
    )
    (item,) = answer(mcp, "data_search_tickets", query="needle")["items"]
    assert (item["excerpt"]["message_id"], item["excerpt"]["text"]) == (2, "Try the needle")


def test_a_bound_call_reads_no_internal_note(mcp: McpClient, grant: Grant) -> None:
    maria = grant.customer(external_id="1", name="Maria")
    made = ticket(grant, "Help", customer_message("Hello"), note="A secret", customer=maria)
    assert answer(mcp, "data_search_tickets", query="secret")["total"] == 1
    assert answer(mcp, "data_search_tickets", bind_id(maria), query="secret")["total"] == 0
    whole = answer(mcp, "data_get_ticket", ticket_id=made.pk)
    bound = answer(mcp, "data_get_ticket", bind_id(maria), ticket_id=made.pk)
    assert [item.get("internal") for item in whole["items"]] == [None, True]
    assert [item["text"] for item in bound["items"]] == ["Hello"]
    assert "last_author" not in bound["ticket"]


def test_a_bound_call_names_no_assignee_but_of_its_tickets(mcp: McpClient, grant: Grant) -> None:
    maria = grant.customer(external_id="1", name="Maria")
    named: Any = {"assignee": grant.user.email}
    assert "none matches" in refusal(mcp, "data_search_tickets", bind_id(maria), **named)["reason"]
    made = ticket(grant, "Help", customer=maria, assignee=grant.user)
    assert ids(answer(mcp, "data_search_tickets", bind_id(maria), **named)) == [made.pk]


def test_a_ticket_has_its_messages_in_order_in_pages(mcp: McpClient, grant: Grant) -> None:
    said = [customer_message(f"Message {number}") for number in range(1, 66)]
    made = ticket(grant, "Long", *said, metadata={"channel": "email"}, category="Bug")
    pages = [answer(mcp, "data_get_ticket", ticket_id=made.pk)]
    while cursor := pages[-1].get("next_cursor"):
        pages.append(answer(mcp, "data_get_ticket", ticket_id=made.pk, cursor=cursor))
    assert [page["returned"] for page in pages] == [30, 30, 5]
    assert {page["total"] for page in pages} == {65}
    texts = [item["text"] for page in pages for item in page["items"]]
    assert texts == [text for _, text in said]
    assert pages[0]["items"][0] == {
        "id": 1,
        "at": "2026-11-20T12:01:00+00:00",
        "author": {"kind": "customer", "name": "Customer"},
        "text": "Message 1",
    }
    assert (pages[0]["ticket"]["subject"], pages[0]["ticket"]["category"]) == ("Long", "Bug")
    detailed = answer(mcp, "data_get_ticket", ticket_id=made.pk, response_format="detailed")
    assert detailed["ticket"]["metadata"] == {"channel": "email"}


def test_long_messages_are_cut_and_marked(mcp: McpClient, grant: Grant) -> None:
    made = ticket(grant, "Long", teammate_message("x" * 600), teammate_message("y" * 50_000))
    first, second = answer(mcp, "data_get_ticket", ticket_id=made.pk)["items"]
    assert (len(first["text"]), first["cut"]) == (500, True)
    (first, second) = answer(mcp, "data_get_ticket", ticket_id=made.pk, response_format="detailed")[
        "items"
    ]
    assert (len(first["text"]), "cut" in first) == (600, False)
    assert (len(second["text"]), second["cut"]) == (20_000, True)


def test_a_ticket_without_messages_is_still_a_ticket(mcp: McpClient, grant: Grant) -> None:
    found = answer(mcp, "data_get_ticket", ticket_id=ticket(grant, "Empty").pk)
    assert (found["ticket"]["subject"], found["items"]) == ("Empty", [])
    assert found["hints"] == ["No messages of this ticket were ever recorded."]


def test_an_unknown_ticket_is_not_found_with_a_way_out(mcp: McpClient) -> None:
    error = refusal(mcp, "data_get_ticket", ticket_id="tkt_1")
    assert (error["code"], error["message"]) == (
        -32601,
        "No ticket tkt_1. Find ids with data_search_tickets.",
    )


def test_last_weeks_tickets_on_a_word_are_those_of_sql(mcp: McpClient, grant: Grant) -> None:
    for number in range(30):
        said = customer_message("SSO is broken" if number % 3 else "All is well")
        ticket(grant, f"Ticket {number}", said, created_at=NOON - number * DAY / 3)
    result = answer(mcp, "data_search_tickets", query="sso", from_="2026-11-13", to="2026-11-19")
    rows = Ticket.objects.raw(
        "SELECT DISTINCT t.id, t.created_at FROM workspace_ticket t "
        "JOIN workspace_ticketmessage m ON m.ticket_id = t.id "
        "WHERE lower(m.text) LIKE '%%sso%%' "
        "AND t.created_at >= '2026-11-13' AND t.created_at < '2026-11-20' "
        "ORDER BY t.created_at DESC"
    )
    expected = [row.pk for row in rows]
    assert ids(result) == expected[:10]
    assert result["total"] == len(expected) == 14
