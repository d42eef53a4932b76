"""What searches by words and names read, and in which statements."""

from typing import Any

import pytest
from django.db import connection

from customers import companies, words
from data_tools.query import who
from tests.drivers import query_plans
from tests.drivers.data_tools import answer, ids
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.statements import Statement, record_statements
from tests.drivers.threads import customer_message, ticket
from workspace.models import Company, Event, TicketMessage

on_postgresql = pytest.mark.skipif(
    "connection.vendor != 'postgresql'", reason="about the plans of PostgreSQL only"
)


def list_reading(received: list[Statement], *parts: str) -> list[Statement]:
    return [each for each in received if all(part in each.sql for part in parts)]


def record(mcp: McpClient, tool: str, **arguments: Any) -> list[Statement]:
    with record_statements() as received:
        answer(mcp, tool, **arguments)
    return received


@on_postgresql
@pytest.mark.parametrize("query", ["settings", '"settings page"', "settings page"])
def test_tickets_with_common_words_are_tried_in_their_order(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    made = ticket(grant, "Help", customer_message("The settings page is empty."))
    monkeypatch.setattr(words, "MAX_MATCHES", 0)
    with record_statements() as received:
        assert ids(answer(mcp, "data_search_tickets", query=query)) == [made.pk]
    tried = list_reading(received, "EXISTS", "search_words")
    assert tried
    assert [each.sql for each in tried if not query_plans.has_subplan(each)] == []


@on_postgresql
def test_rows_without_words_are_found_by_the_index_of_before(mcp: McpClient, grant: Grant) -> None:
    ticket(grant, "Help", customer_message("The settings page is empty."))
    TicketMessage.objects.update(search_text=None)
    received = record(mcp, "data_search_tickets", query="settings")
    first = list_reading(received, "WITH found")[0]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert query_plans.index_names(first) == {
        "workspace_ticketmessage_search",
        "workspace_ticketmessage_words",
    }


def test_a_search_asks_once_whether_there_are_rows_without_words(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket(grant, "Help", customer_message("The settings page is empty."))
    for limit in (words.MAX_MATCHES, 0):
        monkeypatch.setattr(words, "MAX_MATCHES", limit)
        received = record(mcp, "data_search_tickets", query="settings")
        asked = list_reading(received, 'FROM "workspace_ticketmessage"', "search_text", "LIMIT 1")
        assert len([each for each in asked if "EXISTS" not in each.sql]) == 1


def test_names_without_an_index_of_their_parts_are_read_up_to_a_number(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Acme Tools", "Blue Acme", "Zeta Paper"):
        companies.keep(Company(organization=grant.organization, name=name))
    found = answer(mcp, "data_find_company", company="Acme")
    assert {each["name"] for each in found["candidates"]} == {"Acme Tools", "Blue Acme"}

    monkeypatch.setattr(who, "MAX_WITHOUT_INDEX", 2)
    with record_statements() as received:
        found = answer(mcp, "data_find_company", company="Acme Tool")
    assert [each["name"] for each in found["candidates"]] == ["Acme Tools"]
    assert list_reading(received, "LIKE") == []


def test_a_name_that_is_no_trait_is_not_looked_for_in_all_rows(
    mcp: McpClient, grant: Grant
) -> None:
    grant.customer(external_id="user-1", custom_fields={"beta": True})
    received = record(mcp, "data_search_users", trait="nonesuch=true")
    assert list_reading(received, "custom_fields", "IS NOT NULL") == []


@on_postgresql
def test_an_event_type_is_looked_up_by_its_index_in_every_plan(
    mcp: McpClient, grant: Grant
) -> None:
    query_plans.start_empty(Event)
    common = {"organization": grant.organization, "event_type": "page_view"}
    Event.objects.bulk_create(Event(**common) for _ in range(2_000))
    query_plans.gather_statistics()
    received = record(mcp, "data_search_events", event_type="earthquake")
    first = list_reading(received, "workspace_event")[0]
    assert query_plans.whole_tables(first) == []
