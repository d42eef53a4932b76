"""Values that people spell otherwise, and those that nothing has: the known ones are named."""

from typing import Any

import pytest

from customers import companies
from data_tools.query import known_values, traits
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.statements import record_statements
from tests.drivers.threads import conversation, customer_message, ticket
from workspace import access
from workspace.models import Company, Event, RenewalStatus


@pytest.fixture
def event(grant: Grant) -> Event:
    Event.objects.create(organization=grant.organization, event_type="export_done")
    return Event.objects.create(
        organization=grant.organization, event_type="page_view", element_selector="#upgrade"
    )


@pytest.mark.parametrize("typed", ["page_view", "Page_View", "page view", "pageview"])
def test_an_event_type_is_read_in_any_spelling(mcp: McpClient, event: Event, typed: str) -> None:
    assert ids(answer(mcp, "data_search_events", event_type=typed))[0] == event.pk


@pytest.mark.parametrize("typed", ["#upgrade", "#Upgrade", "upgrade"])
def test_an_element_is_found_by_its_selector_or_id(
    mcp: McpClient, event: Event, typed: str
) -> None:
    assert ids(answer(mcp, "data_search_events", element_selector=typed))[0] == event.pk


def test_an_unknown_event_type_is_answered_with_the_known_ones(
    mcp: McpClient, event: Event
) -> None:
    assert event.pk
    hints = answer(mcp, "data_search_events", event_type="export")["hints"]
    assert "Known values of event_type: export_done, page_view." in hints


@pytest.fixture
def many_types(grant: Grant) -> Event:
    """An event whose type comes after 120 others."""
    types = [f"a_{number:03}" for number in range(120)]
    organization = grant.organization
    Event.objects.bulk_create(Event(organization=organization, event_type=one) for one in types)
    return Event.objects.create(organization=organization, event_type="page_view")


@pytest.mark.parametrize("typed", ["page view", "Page_View"])
def test_an_event_type_is_found_among_many(mcp: McpClient, many_types: Event, typed: str) -> None:
    assert ids(answer(mcp, "data_search_events", event_type=typed)) == [many_types.pk]
    hint = answer(mcp, "data_search_events", event_type=f"{typed}s")["hints"][-1]
    assert hint.startswith("Known values of event_type: page_view, ")
    assert hint.endswith("; the nearest 20 of 121.")


def test_the_first_of_too_many_event_types_are_not_called_the_known_ones(
    mcp: McpClient, many_types: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert many_types.pk
    monkeypatch.setattr(known_values, "MAX_VALUES", 2)
    hint = answer(mcp, "data_search_events", event_type="page view")["hints"][-1]
    assert hint == "Some values of event_type: a_000, a_001."


@pytest.mark.parametrize(("typed", "statements"), [("page_view", 3), ("page view", 4)])
def test_the_types_are_read_with_one_statement_and_only_if_none_is_the_same(
    mcp: McpClient, many_types: Event, typed: str, statements: int
) -> None:
    with record_statements() as received:
        assert ids(answer(mcp, "data_search_events", event_type=typed)) == [many_types.pk]
    assert sum("workspace_event" in one.sql for one in received) == statements


def test_a_bound_call_reads_the_event_types_of_its_customer(
    mcp: McpClient, grant: Grant, many_types: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = grant.customer(external_id="1")
    many_types.customer = customer
    many_types.save()
    event = Event.objects.create(
        organization=grant.organization, customer=customer, event_type="log in"
    )
    for typed in ("log in", "login"):
        result = answer(mcp, "data_search_events", bind_id(customer), event_type=typed)
        assert ids(result) == [event.pk]
    hints = answer(mcp, "data_search_events", bind_id(customer), event_type="a_000")["hints"]
    assert hints[-1] == "Known values of event_type: log in, page_view."
    monkeypatch.setattr(known_values, "MAX_ROWS", 1)
    result = answer(mcp, "data_search_events", bind_id(customer), event_type="page_view")
    assert ids(result) == [many_types.pk]
    hints = answer(mcp, "data_search_events", bind_id(customer), event_type="a_000")["hints"]
    assert hints[-1] == "Some values of event_type: log in."


def test_events_of_a_customer_of_another_organization_are_not_read(grant: Grant) -> None:
    other = make_grant()
    customer = other.customer(external_id="1")
    Event.objects.create(organization=other.organization, customer=customer, event_type="login")
    for organization, is_read in ((grant.organization, False), (other.organization, True)):
        rows = access.bound_customer_events(access.Access(organization.pk, customer.pk))
        assert rows.exists() is is_read


@pytest.mark.parametrize(
    ("typed", "total", "read"),
    [
        ("login", 1, "login"),
        ("log in", 2, "log in"),
        ("Log-In", 7, ["log in", "log-in", "log_in", "login"]),
        ("step_1_1", 1, "step_1_1"),
        ("Step 1-1", 1, ["step_1_1"]),
        ("step-11", 1, ["step_11"]),
    ],
)
def test_event_types_that_differ_are_added_up_only_by_name(
    mcp: McpClient, grant: Grant, typed: str, total: int, read: object
) -> None:
    counts = {"login": 1, "log in": 2, "log-in": 3, "log_in": 1, "step_1_1": 1, "step_11": 1}
    types = [one for one, many in counts.items() for _ in range(many)]
    Event.objects.bulk_create(
        Event(organization=grant.organization, event_type=one) for one in types
    )
    result = answer(mcp, "data_search_events", event_type=typed)
    assert (result["total"], result["searched"]["event_type"]) == (total, read)


def test_too_many_spellings_of_an_event_type_are_refused(mcp: McpClient, grant: Grant) -> None:
    types = [f"log{'_' * number}in" for number in range(21)]
    Event.objects.bulk_create(
        Event(organization=grant.organization, event_type=one) for one in types
    )
    assert answer(mcp, "data_search_events", event_type="log_in")["total"] == 1
    reason = refusal(mcp, "data_search_events", event_type="log-in")["reason"]
    assert "more than 20" in reason


@pytest.mark.parametrize("typed", ["language=fr", "Language=FR", "LANGUAGE = fr", "ort=KÖLN"])
def test_a_trait_is_read_in_any_case(mcp: McpClient, grant: Grant, typed: str) -> None:
    customer = grant.customer(external_id="1", custom_fields={"language": "fr", "Ort": "Köln"})
    assert ids(answer(mcp, "data_search_users", trait=typed)) == [customer.pk]


def test_an_unknown_trait_is_answered_with_the_known_names(mcp: McpClient, grant: Grant) -> None:
    grant.customer(external_id="1", custom_fields={"language": "fr", "beta": True})
    hints = answer(mcp, "data_search_users", trait="country=DE")["hints"]
    assert "Known names of trait: beta, language." in hints


def test_a_trait_with_this_name_is_taken_alone(mcp: McpClient, grant: Grant) -> None:
    one = grant.customer(external_id="1", custom_fields={"Beta": "yes"})
    other = grant.customer(external_id="2", custom_fields={"beta": "yes"})
    assert ids(answer(mcp, "data_search_users", trait="Beta=yes")) == [one.pk]
    result = answer(mcp, "data_search_users", trait="BETA = yes")
    assert set(ids(result)) == {one.pk, other.pk}
    assert sorted(result["searched"]["trait"]) == ["Beta=yes", "beta=yes"]


def test_a_trait_is_found_in_all_rows_though_names_are_read_from_some(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = grant.customer(external_id="1", custom_fields={"rare": "yes"})
    for number in range(3):
        grant.customer(external_id=f"other-{number}", custom_fields={"language": "fr"})
    monkeypatch.setattr(traits, "MAX_SAMPLED", 2)
    assert ids(answer(mcp, "data_search_users", trait="rare=yes")) == [rare.pk]
    hint = answer(mcp, "data_search_users", trait="country=DE")["hints"][-1]
    assert hint.startswith("Some names of trait: ")


@pytest.mark.parametrize(
    ("trait", "found"),
    [
        ("boards>10", ["12", "10.5"]),
        ("Boards >= 10.5", ["12", "10.5"]),
        ("boards<12", ["2", "10.5"]),
        ("boards<=-1", []),
        ("boards>999999999999999", []),
        ("seats>5", []),
    ],
)
def test_a_trait_is_compared_as_a_number(
    mcp: McpClient, grant: Grant, trait: str, found: list[str]
) -> None:
    values: list[Any] = [2, 12, 10.5, "99", True, None]
    for value in values:
        grant.customer(external_id=f"{value}", custom_fields={"boards": value, "other": 50})
    items = answer(mcp, "data_search_users", trait=trait, response_format="detailed")["items"]
    assert sorted(item["external_id"] for item in items) == sorted(found)


@pytest.mark.parametrize("filters", [{"renewal_status": "lost"}, {"plan": "PRO"}])
def test_where_else_a_value_is_found_is_said(mcp: McpClient, grant: Grant, filters: Any) -> None:
    grant.customer(external_id="1", plan="free")
    company = Company(organization=grant.organization, name="Acme", plan="pro")
    company.renewal_status = RenewalStatus.LOST
    companies.keep(company)
    result = answer(mcp, "data_search_users", **filters)
    (argument,) = filters
    assert f"data_search_companies with this {argument}: 1." in result["hints"]
    assert "with this" not in str(answer(mcp, "data_search_companies", plan="none")["hints"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("data_search_users", {"period": "Last 30 days"}),
        ("data_search_users", {"renewal_status": "at risk"}),
        ("data_search_tickets", {"status": "In-Progress"}),
        ("data_query_metrics", {"metric": "MRR"}),
    ],
)
def test_a_choice_is_read_in_any_spelling(mcp: McpClient, tool: str, arguments: Any) -> None:
    assert answer(mcp, tool, **arguments)["as_of"]


def test_an_unknown_choice_is_answered_with_all_of_them(mcp: McpClient) -> None:
    error = refusal(mcp, "data_search_tickets", status="closed")
    statuses = "any, unresolved, open, priority, in_progress, snoozed, resolved, spam"
    assert error["reason"] == f'"closed" is not one of {statuses}. Use resolved'
    reason = refusal(mcp, "data_search_users", period="last_15_days")["reason"]
    assert reason.startswith('"last_15_days" is not one of today, yesterday, last_7_days, ')
    assert reason.endswith(", last_year, all_time")


@pytest.mark.parametrize("status", ["closed", "Solved", "done"])
def test_a_choice_that_others_call_otherwise_is_refused_with_the_word_here(
    mcp: McpClient, status: str
) -> None:
    refused = refusal(mcp, "data_search_tickets", status=status)
    assert refused["field"] == "status"
    assert refused["reason"].endswith("snoozed, resolved, spam. Use resolved")


@pytest.mark.parametrize(
    "status", [["open", "snoozed"], '["open","snoozed"]', "open,snoozed", "open, snoozed"]
)
def test_several_choices_are_read_in_any_form(mcp: McpClient, grant: Grant, status: Any) -> None:
    for one in ("open", "snoozed", "resolved", "spam"):
        ticket(grant, one, status=one)
    found = answer(mcp, "data_search_tickets", status=status)
    assert sorted(item["subject"] for item in found["items"]) == ["open", "snoozed"]
    assert found["searched"]["status"] == ["open", "snoozed"]


@pytest.mark.parametrize(
    ("tool", "arguments", "total"),
    [
        ("data_search_tickets", {"status": ["Spam", "unresolved"]}, 2),
        ("data_search_tickets", {"status": ["any", "spam"]}, 3),
        ("data_search_users", {"renewal_status": "lost, at risk"}, 2),
        ("data_search_users", {"renewal_status": ["renewed", "in_progress"]}, 0),
        ("data_search_transcripts", {"mood": ["angry", "neutral"]}, 2),
    ],
)
def test_several_choices_are_one_of_them(
    mcp: McpClient, grant: Grant, tool: str, arguments: Any, total: int
) -> None:
    for status in ("open", "resolved", "spam"):
        ticket(grant, status, status=status)
    for number, renewal in enumerate(("lost", "at_risk", "")):
        grant.customer(external_id=f"{number}", renewal_status=renewal)
    for mood in ("angry", "neutral", "happy"):
        conversation(grant, customer_message("Hi"), mood=mood)
    assert answer(mcp, tool, **arguments)["total"] == total


@pytest.mark.parametrize("status", [["open", "closed"], "open,closed", ["open", "gone"]])
def test_one_unknown_choice_of_several_is_named(mcp: McpClient, status: Any) -> None:
    refused = refusal(mcp, "data_search_tickets", status=status)
    assert refused["field"] == "status"
    assert refused["reason"].startswith(('"closed" is not one of any', '"gone" is not one of any'))
    assert refused["reason"].endswith("spam. Use resolved") or "gone" in str(status)


def test_several_choices_are_refused_where_one_is_taken(mcp: McpClient) -> None:
    refused = refusal(mcp, "data_search_leads", status="open,converted")
    assert refused["reason"].endswith("any, open, converted. Send one value")


def test_a_list_with_one_choice_is_that_choice(mcp: McpClient) -> None:
    found = answer(mcp, "data_search_tickets", status=["Open"])
    assert found["searched"]["status"] == "open"


@pytest.mark.parametrize("period", ["last 14 days", "Last_14-Days", "LAST 60 DAYS"])
def test_a_period_is_read_in_any_spelling(mcp: McpClient, period: str) -> None:
    found = answer(mcp, "data_search_tickets", period=period)
    assert found["period"]["name"] in {"last_14_days", "last_60_days"}


def test_an_unknown_period_is_answered_with_all_of_them(mcp: McpClient) -> None:
    reason = refusal(mcp, "data_search_tickets", period="Q3")["reason"]
    assert all(one in reason for one in ("today", "last_14_days", "last_quarter", "all_time"))


@pytest.mark.parametrize(
    ("tool", "texts"),
    [
        ("data_search_leads", ["name", "email", "fields"]),
        ("data_search_tickets", ["subject", "messages"]),
        ("data_search_transcripts", ["messages"]),
        ("data_search_companies", ["name", "domain"]),
    ],
)
def test_results_say_which_texts_were_searched(mcp: McpClient, tool: str, texts: list[str]) -> None:
    assert answer(mcp, tool, query="discount")["searched"]["query_in"] == texts
    assert "query_in" not in answer(mcp, tool)["searched"]
