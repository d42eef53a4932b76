"""Tickets that wait for an answer: whose turn it is, since when, and in a short list."""

from datetime import timedelta
from typing import Any

import pytest

from customers import companies
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, call, ids
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.threads import (
    MINUTE,
    NOON,
    agent_message,
    customer_message,
    teammate_message,
    ticket,
)
from workspace.models import Company, Ticket, TicketPriority, TicketStatus

HOUR = timedelta(hours=1)
ASKED = customer_message("Is there an invoice?")
ANSWERED = teammate_message("Here it is.")
AGAIN = customer_message("It is for another year.")


@pytest.fixture
def tickets(grant: Grant) -> dict[str, Ticket]:
    replied = NOON + 2 * MINUTE
    return {
        "new": ticket(grant, "new", ASKED, created_at=NOON - HOUR),
        "again": ticket(
            grant, "again", ASKED, ANSWERED, AGAIN, AGAIN, first_response_at=replied, note="Check"
        ),
        "empty": ticket(grant, "empty", created_at=NOON - 2 * HOUR),
        "answered": ticket(grant, "answered", ASKED, ANSWERED, first_response_at=replied),
        "agent": ticket(grant, "agent", ASKED, agent_message("No."), first_response_at=replied),
        "thanks": ticket(
            grant,
            "thanks",
            ASKED,
            ANSWERED,
            customer_message("Thanks!"),
            status=TicketStatus.RESOLVED,
            first_response_at=replied,
        ),
    }


def subjects(result: Any) -> list[str]:
    return [item["subject"] for item in result["items"]]


def test_tickets_that_wait_are_listed_with_the_longest_waiting_first(
    mcp: McpClient, tickets: dict[str, Ticket]
) -> None:
    found = answer(mcp, "data_search_tickets", sort="waiting_since_asc")
    assert (subjects(found), found["total"]) == (["empty", "new", "again"], len(tickets) - 3)
    since = [item["waiting_since"] for item in found["items"]]
    # Since the first message after the last reply, whatever note is behind it.
    first = (NOON - 2 * HOUR, NOON - HOUR + MINUTE, NOON + 3 * MINUTE)
    assert since == [one.isoformat(timespec="seconds") for one in first]


@pytest.mark.usefixtures("tickets")
def test_tickets_that_wait_continue_on_the_next_page_and_are_counted(mcp: McpClient) -> None:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = answer(mcp, "data_search_tickets", sort="waiting_since_asc", page_size=1, **cursor)
        found += subjects(page)
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == ["empty", "new", "again"]
    groups = answer(mcp, "data_search_tickets", sort="waiting_since_asc", group_by="status")
    assert groups["groups"] == [{"value": "open", "count": 3}]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"last_author": "customer"}, {"new", "again", "empty", "thanks"}),
        ({"last_author": "customer", "status": "unresolved"}, {"new", "again", "empty"}),
        ({"last_author": "us"}, {"answered", "agent"}),
        ({"first_response": "missing"}, {"new", "empty"}),
        ({"first_response": "given", "last_author": "us"}, {"answered", "agent"}),
    ],
)
@pytest.mark.usefixtures("tickets")
def test_tickets_are_chosen_by_who_wrote_last_and_by_the_first_response(
    mcp: McpClient, arguments: dict[str, str], found: set[str]
) -> None:
    result = answer(mcp, "data_search_tickets", **arguments)
    assert (set(subjects(result)), result["total"]) == (found, len(found))


def test_a_bound_call_sees_what_waits_of_its_customer_without_internal_notes(
    mcp: McpClient, grant: Grant
) -> None:
    customer = grant.customer(external_id="1")
    ticket(grant, "mine", ASKED, note="Check", customer=customer)
    ticket(grant, "theirs", ASKED)
    found = answer(mcp, "data_search_tickets", bind_id(customer), sort="waiting_since_asc")
    assert subjects(found) == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        ({"sort": "priority_desc"}, ["urgent", "old", "late"]),
        ({"sort": "updated_at_asc"}, ["late", "old", "urgent"]),
        ({"time_field": "updated_at"}, ["urgent", "old", "late"]),
        ({"sort": "resolved_at_desc"}, ["old", "urgent", "late"]),
    ],
)
@pytest.mark.parametrize("page_size", [1, 10])
def test_tickets_are_sorted(
    mcp: McpClient, grant: Grant, arguments: dict[str, str], order: list[str], page_size: int
) -> None:
    ticket(grant, "old", created_at=NOON - HOUR, updated_at=NOON, resolved_at=NOON)
    ticket(grant, "late", updated_at=NOON - HOUR)
    ticket(
        grant,
        "urgent",
        created_at=NOON - HOUR / 2,
        updated_at=NOON + HOUR,
        resolved_at=NOON - HOUR,
        priority=TicketPriority.PRIORITY,
    )
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while not found or cursor:
        page = answer(mcp, "data_search_tickets", page_size=page_size, **arguments, **cursor)
        found += subjects(page)
        cursor = {"cursor": page["next_cursor"]} if "next_cursor" in page else {}
    assert found == order


def test_a_long_list_of_tickets_is_short(mcp: McpClient, grant: Grant) -> None:
    company = companies.keep(Company(organization=grant.organization, name="Hollerbrook Foods"))
    for number in range(31):
        customer = grant.customer(external_id=f"{number}", name="Marta Fjeldsted", company=company)
        ticket(
            grant,
            "Two people are locked out after the change of SSO",
            customer_message("We cannot sign in. " * 20),
            customer=customer,
            company=company,
            assignee=grant.user if number % 2 else None,
        )
    reply = call(mcp, "data_search_tickets", sort="waiting_since_asc", page_size=50)
    (block,) = reply.result["content"]
    assert len(block["text"]) < 8_000
    found = reply.result["structuredContent"]
    assert (len(found["items"]), found["total"]) == (31, 31)
    assert found["items"][0]["user"] == {"name": "Marta Fjeldsted"}
    (first,) = answer(mcp, "data_search_tickets", sort="waiting_since_asc", page_size=1)["items"]
    assert first["id"] == ids(found)[0]
    assert first["excerpt"]["text"].startswith("We cannot sign in.")
