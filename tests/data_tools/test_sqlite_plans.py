"""The indexes that SQLite uses for the data tools: it uses fewer than PostgreSQL by itself."""

from typing import Any

import pytest
from django.db import connection

from customers import companies, words
from tests.drivers import query_plans
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.statements import Statement, record_statements
from tests.drivers.threads import customer_message, ticket
from workspace.models import Company, Event

pytestmark = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="about the plans of SQLite only"
)


def steps(received: list[Statement], table: str) -> list[str]:
    """What SQLite does to read a table, in all statements."""
    plans = [step for statement in received for step in query_plans.sqlite_steps(statement)]
    return [step for step in plans if f" {table} " in step]


@pytest.mark.parametrize(
    ("tool", "arguments", "index"),
    [
        ("data_find_user", {"user": "user-1"}, "customer.one_external_id"),
        ("data_find_user", {"user": "Nobody Atall"}, "customer.one_external_id"),
        ("data_find_company", {"company": "org-1"}, "company.one_company_external_id"),
        ("data_search_users", {"role": "Admin"}, "customer.cust_role"),
        ("data_search_users", {"plan": "pro"}, "customer.cust_plan"),
        ("data_search_tickets", {"category": "Billing"}, "ticket.tkt_category"),
    ],
)
def test_ids_and_values_in_any_case_are_found_by_their_index(
    mcp: McpClient, grant: Grant, tool: str, arguments: Any, index: str
) -> None:
    table, name = index.split(".")
    grant.customer(external_id="user-1", role="admin", plan="Pro")
    companies.keep(Company(organization=grant.organization, external_id="org-1"))
    with record_statements() as received:
        answer(mcp, tool, **arguments)

    read = steps(received, f"workspace_{table}")
    assert [step for step in read if f"workspace_{name} " in step], read
    assert [step for step in read if step.startswith("SCAN")] == []


def test_a_bound_call_reads_event_types_by_the_index_of_its_customer(
    mcp: McpClient, grant: Grant
) -> None:
    customer = grant.customer(external_id="user-1")
    Event.objects.create(organization=grant.organization, customer=customer, event_type="page_view")
    with record_statements() as received:
        assert answer(mcp, "data_search_events", bind_id(customer), event_type="pageview")["total"]
    first = steps(received, "workspace_event")[0]
    assert first == "SEARCH workspace_event USING INDEX workspace_event_customer (customer_id=?)"


def test_messages_with_a_common_word_are_looked_up_one_by_one(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ticket(grant, "Export", customer_message("The export fails."))
    monkeypatch.setattr(words, "MAX_MATCHES", 0)
    with record_statements() as received:
        assert ids(answer(mcp, "data_search_tickets", query="export")) == [made.pk]

    # The first statement reads as many messages as are looked up by id, in any order.
    first, *others = steps(received, "workspace_ticketmessage_search")
    assert "=" not in first
    assert len(others) == 3
    assert [step for step in others if "VIRTUAL TABLE INDEX 0:=" not in step] == []
