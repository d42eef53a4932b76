"""Tickets are found by their subject and by their number, with messages and without."""

import pytest

from customers import text_backfill, words
from customers.privacy.redaction import ERASED
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.threads import customer_message, ticket
from workspace.models import Ticket

ON_BOTH_PATHS = pytest.mark.parametrize("limit", [words.MAX_MATCHES, 0])


@ON_BOTH_PATHS
@pytest.mark.parametrize("query", ["export", "Exports broken", '"is broken"', "größe", "GROESSE"])
def test_a_ticket_without_messages_is_found_by_its_subject(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch, query: str, limit: int
) -> None:
    monkeypatch.setattr(words, "MAX_MATCHES", limit)
    found = ticket(grant, "Export is broken: Größe").pk
    ticket(grant, "Something else")
    result = answer(mcp, "data_search_tickets", query=query)
    assert (ids(result), result["total"]) == ([found], 1)
    assert result["items"][0]["subject"] == "Export is broken: Größe"


@ON_BOTH_PATHS
def test_words_of_subject_and_first_message_are_found_together(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(words, "MAX_MATCHES", limit)
    both = ticket(grant, "Export", customer_message("It is empty.")).pk
    ticket(grant, "Export")
    assert ids(answer(mcp, "data_search_tickets", query="export empty")) == [both]


def test_subjects_of_an_earlier_version_are_found_and_filled(mcp: McpClient, grant: Grant) -> None:
    found = ticket(grant, "Größe falsch").pk
    Ticket.objects.update(search_text=None)
    assert ids(answer(mcp, "data_search_tickets", query="Größe")) == [found]
    assert text_backfill.fill_search_texts() == 1
    assert Ticket.objects.get().search_text is not None
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == [found]
    assert text_backfill.fill_search_texts() == 0


def test_an_update_of_a_subject_alone_removes_its_words(mcp: McpClient, grant: Grant) -> None:
    ticket(grant, "Invoice of Ada")
    Ticket.objects.update(subject=ERASED)
    assert Ticket.objects.get().search_text is None
    assert answer(mcp, "data_search_tickets", query="invoice")["total"] == 0


def test_a_bound_call_finds_a_subject_whose_only_message_is_an_internal_note(
    mcp: McpClient, grant: Grant
) -> None:
    maria, other = grant.customer(external_id="1"), grant.customer(external_id="2")
    own = ticket(grant, "Export broken", note="Known bug", customer=maria).pk
    ticket(grant, "Export broken", customer=other)
    bound = {"meta": bind_id(maria)}
    assert ids(answer(mcp, "data_search_tickets", query="export", **bound)) == [own]
    assert ids(answer(mcp, "data_search_tickets", query="bug", **bound)) == []


@ON_BOTH_PATHS
@pytest.mark.parametrize("query", ["T-4711", "#T-4711", "t-4711", " T-4711 "])
def test_a_ticket_is_found_by_its_number(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch, query: str, limit: int
) -> None:
    monkeypatch.setattr(words, "MAX_MATCHES", limit)
    found = ticket(grant, "About", customer_message("Hello"), external_id="T-4711").pk
    ticket(grant, "About", customer_message("Hello"), external_id="T-47112")
    result = answer(mcp, "data_search_tickets", query=query)
    assert ids(result) == [found]
    assert result["items"][0]["external_id"] == "T-4711"
    assert answer(mcp, "data_get_ticket", ticket_id=query)["ticket"]["id"] == found


def test_a_number_as_it_is_stored_comes_before_its_other_forms(
    mcp: McpClient, grant: Grant
) -> None:
    for number in ("#7", "7"):
        made = ticket(grant, "About", external_id=number).pk
        assert answer(mcp, "data_get_ticket", ticket_id=number)["ticket"]["id"] == made


def test_a_number_finds_no_ticket_of_another_customer_or_organization(
    mcp: McpClient, grant: Grant
) -> None:
    maria = grant.customer(external_id="1")
    ticket(grant, "About", external_id="4711")
    ticket(make_grant(), "About", external_id="4712")
    assert "No ticket" in str(refusal(mcp, "data_get_ticket", ticket_id="4712"))
    assert answer(mcp, "data_search_tickets", query="4712")["total"] == 0
    bound = bind_id(maria)
    assert "No ticket" in str(refusal(mcp, "data_get_ticket", ticket_id="4711", meta=bound))
    assert answer(mcp, "data_search_tickets", query="4711", meta=bound)["total"] == 0
