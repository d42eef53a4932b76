"""data_find_user, data_search_users and data_search_leads."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from customers import companies
from data_tools.query.declaring import WHOLE_WORKSPACE
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, call, ids, refusal
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.records import Records
from workspace.models import Company, Customer, Event, Lead, LeadStatus, Ticket, TicketStatus

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def acme(grant: Grant) -> Company:
    return companies.keep(
        Company(organization=grant.organization, name="Acme", domain="acme.example")
    )


@pytest.fixture
def maria(grant: Grant, acme: Company) -> Customer:
    return grant.customer(
        external_id="user-1",
        email="Maria@Acme.example",
        name="Maria  López",
        company=acme,
        role="admin",
        plan="Pro",
        mrr=Decimal("99.50"),
        arr=Decimal(1194),
        renewal_status="at_risk",
        renewal_date=date(2027, 1, 31),
        on_contract=False,
        last_seen=NOW,
        custom_fields={"team": "sales", "seats": 5, "beta": True},
        context={"crm": {"label": "CRM", "type": "integration", "value": "HubSpot"}},
        avatar="https://cdn.example/maria.png",
    )


@pytest.mark.parametrize(
    "name",
    ["user-1", "maria@acme.EXAMPLE", " maria lópez ", "MARIA LÓPEZ"],
    ids=["external", "email", "name", "case"],
)
def test_a_customer_is_found_by_what_people_call_them(
    mcp: McpClient, maria: Customer, name: str
) -> None:
    found = answer(mcp, "data_find_user", user=name)
    assert (found["match"], found["user"]["id"]) == ("exact", maria.pk)


def test_a_customer_has_company_plan_revenue_and_renewal(
    mcp: McpClient, maria: Customer, acme: Company
) -> None:
    found = answer(mcp, "data_find_user", user=maria.pk)
    assert found["user"] == {
        "id": maria.pk,
        "name": "Maria  López",
        "email": "Maria@Acme.example",
        "role": "admin",
        "plan": "Pro",
        "company": {"id": acme.pk, "name": "Acme"},
        "mrr": 99.5,
        "last_seen": "2026-11-20T12:00:00+00:00",
        "external_id": "user-1",
        "lifecycle": "active",
        "arr": 1194.0,
        "renewal_status": "at_risk",
        "renewal_date": "2027-01-31",
        "on_contract": False,
    }
    assert found["currency"] == "USD"
    detailed = answer(mcp, "data_find_user", user=maria.pk, response_format="detailed")["user"]
    assert (detailed["custom_fields"], detailed["context"]) == (maria.custom_fields, maria.context)


def test_the_activity_of_a_customer_is_counted(mcp: McpClient, grant: Grant) -> None:
    (customer,) = Records(grant).add().customers
    Ticket.objects.create(
        organization=grant.organization,
        customer=customer,
        subject="Done",
        status=TicketStatus.RESOLVED,
    )
    long_ago = timezone.now() - timedelta(days=31)
    Event.objects.create(
        organization=grant.organization, customer=customer, event_type="click", at=long_ago
    )
    activity = answer(mcp, "data_find_user", user=customer.pk)["activity"]
    times = {name: activity.pop(name) for name in list(activity) if name.endswith("_at")}
    assert activity == {
        "open_tickets": 1,
        "tickets": 2,
        "conversations": 1,
        "events_last_30_days": 1,
    }
    assert set(times) == {"last_ticket_at", "last_conversation_at", "last_event_at"}


def test_a_profile_has_the_tickets_of_the_list_and_no_spam(mcp: McpClient, grant: Grant) -> None:
    records = Records(grant).add()
    (customer,), (company,) = records.customers, records.companies
    Ticket.objects.create(
        organization=grant.organization,
        customer=customer,
        company=company,
        subject="Win a boat",
        status=TicketStatus.SPAM,
        created_at=timezone.now() + timedelta(minutes=1),
    )
    (listed,) = answer(mcp, "data_search_tickets", user=customer.pk)["items"]
    of_user = answer(mcp, "data_find_user", user=customer.pk)["activity"]
    of_company = answer(mcp, "data_find_company", company=company.pk)["activity"]
    for activity in (of_user, of_company):
        assert (activity["tickets"], activity["last_ticket_at"]) == (1, listed["created_at"])


def test_a_name_of_two_customers_returns_both(
    mcp: McpClient, grant: Grant, maria: Customer
) -> None:
    other = grant.customer(external_id="user-2", name="maria lópez", email="other@acme.example")
    found = answer(mcp, "data_find_user", user="Maria López")
    assert (found["match"], sorted(one["id"] for one in found["candidates"])) == (
        "ambiguous",
        sorted([maria.pk, other.pk]),
    )
    refused = refusal(mcp, "data_find_user", user="")
    assert (refused["field"], refused["code"]) == ("user", -32602)


def test_a_name_of_nobody_returns_the_closest(mcp: McpClient, maria: Customer) -> None:
    found = answer(mcp, "data_find_user", user="Mario Lopez")
    assert found["match"] == "none"
    assert [one["id"] for one in found["candidates"]] == [maria.pk]
    assert "data_search_users" in found["hints"][0]


def test_an_id_has_precedence_over_a_name(mcp: McpClient, grant: Grant, maria: Customer) -> None:
    grant.customer(external_id="user-3", name="user-1")
    assert answer(mcp, "data_find_user", user="user-1")["user"]["id"] == maria.pk


def test_an_id_has_precedence_over_an_external_id(
    mcp: McpClient, grant: Grant, maria: Customer
) -> None:
    grant.customer(external_id=maria.pk, name="Somebody else")
    assert answer(mcp, "data_find_user", user=maria.pk)["user"]["id"] == maria.pk


def test_a_bound_call_finds_its_customer_only(
    mcp: McpClient, grant: Grant, maria: Customer
) -> None:
    bob = grant.customer(external_id="bob", name="Maria Lopes", email="bob@acme.example")
    meta = bind_id(maria)
    assert answer(mcp, "data_find_user", meta, user=maria.pk)["match"] == "exact"
    assert answer(mcp, "data_find_user", meta, user=bob.pk)["match"] == "none"
    assert ids(answer(mcp, "data_search_users", meta)) == [maria.pk]
    assert answer(mcp, "data_search_users", meta, group_by="plan")["total"] == 1
    refused = refusal(mcp, "data_search_leads", meta)
    assert (refused["message"], refused["code"]) == (WHOLE_WORKSPACE, -32602)


FOUND: dict[str, dict[str, Any]] = {
    "words": {"query": "lópez maria"},
    "phrase": {"query": '"maria lópez"'},
    "part-of-an-address": {"query": "acme.ex"},
    "company": {"company": "acme"},
    "domain": {"company": "www.acme.example"},
    "plan": {"plan": "pro"},
    "role": {"role": "ADMIN"},
    "text-trait": {"trait": "team=Sales"},
    "number-trait": {"trait": "seats = 5"},
    "boolean-trait": {"trait": "beta=true"},
    "renewal": {"renewal_status": "at_risk"},
    "renewal-date": {"time_field": "renewal_date", "from_": "2027-01-01", "to": "2027-01-31"},
}
NOT_FOUND: dict[str, dict[str, Any]] = {
    "words": {"query": "maria smith"},
    "phrase": {"query": '"lópez maria"'},
    "wildcards": {"query": "m%a"},
    "plan": {"plan": "p%"},
    "trait": {"trait": "seats=50"},
    "no-such-trait": {"trait": "0=5"},
    "renewal": {"renewal_status": "renewed"},
    "renewal-date": {"time_field": "renewal_date", "to": "2027-01-30"},
}


@pytest.mark.parametrize("arguments", FOUND.values(), ids=FOUND)
def test_customers_are_found_by_each_filter(
    mcp: McpClient, grant: Grant, maria: Customer, arguments: dict[str, Any]
) -> None:
    grant.customer(external_id="other", name="Other", custom_fields={"team": "support"})
    assert ids(answer(mcp, "data_search_users", **arguments)) == [maria.pk]


@pytest.mark.parametrize("arguments", NOT_FOUND.values(), ids=NOT_FOUND)
def test_customers_that_do_not_fit_are_not_found(
    mcp: McpClient, maria: Customer, arguments: dict[str, Any]
) -> None:
    found = answer(mcp, "data_search_users", **arguments)
    assert ids(found) == []
    assert any(hint.endswith(": 1.") for hint in found["hints"]), (found, maria)


@pytest.mark.parametrize("trait", ["team", "=5", " =5", "seats>many", ">5", "seats>"])
def test_a_trait_without_name_or_value_is_refused(mcp: McpClient, trait: str) -> None:
    refused = refusal(mcp, "data_search_users", trait=trait)
    reason = "send name=value, such as beta=true, or seats>5 of a number or a date."
    assert (refused["field"], refused["reason"]) == ("trait", reason)


def test_customers_are_counted_by_company(
    mcp: McpClient, grant: Grant, maria: Customer, acme: Company
) -> None:
    grant.customer(external_id="2", company=acme)
    grant.customer(external_id="3")
    found = answer(mcp, "data_search_users", group_by="company")
    assert found["groups"] == [
        {"value": {"id": acme.pk, "name": "Acme"}, "count": 2},
        {"value": "(none)", "count": 1},
    ]
    assert found["total"] == 3
    assert maria.company_id == acme.pk


def test_a_company_that_two_have_is_refused_with_both(
    mcp: McpClient, grant: Grant, acme: Company
) -> None:
    other = companies.keep(Company(organization=grant.organization, name="ACME", domain="acme.io"))
    refused = refusal(mcp, "data_search_users", company="acme")
    assert refused["field"] == "company"
    assert refused["reason"].startswith("2 match: ")
    assert refused["reason"].endswith(". Send an id.")
    assert all(one in refused["reason"] for one in (f"{acme.pk} Acme", f"{other.pk} ACME"))
    refused = refusal(mcp, "data_search_users", company="Acmee")
    assert refused["reason"].startswith("none matches; closest: ")
    assert refusal(mcp, "data_search_users", company="zz")["reason"] == "none matches."


@pytest.fixture
def leads(grant: Grant, maria: Customer) -> list[Lead]:
    """One lead of another organization is not among them."""
    Lead.objects.create(organization=make_grant().organization, name="Ben Theirs", source="form")
    return [
        Lead.objects.create(organization=grant.organization, **facts)
        for facts in (
            {
                "name": "Ben Form",
                "email": "ben@x.example",
                "email_key": "ben@x.example",
                "source": "form",
                "fields": {"size": 50},
                "created_at": NOW,
            },
            {
                "name": "Eve Agent",
                "source": "sales_agent",
                "status": LeadStatus.CONVERTED,
                "customer": maria,
                "created_at": NOW - timedelta(days=1),
            },
        )
    ]


def test_leads_are_listed_latest_first(mcp: McpClient, leads: list[Lead], maria: Customer) -> None:
    found = answer(mcp, "data_search_leads")
    assert found["items"] == [
        {
            "id": leads[0].pk,
            "name": "Ben Form",
            "email": "ben@x.example",
            "source": "form",
            "fields": {"size": 50},
            "created_at": "2026-11-20T12:00:00+00:00",
        },
        {
            "id": leads[1].pk,
            "name": "Eve Agent",
            "source": "sales_agent",
            "user_id": maria.pk,
            "created_at": "2026-11-19T12:00:00+00:00",
        },
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "BEN"},
        {"query": "x.example"},
        {"status": "open"},
        {"source": "form"},
        {"trait": "size=50"},
        {"from_": "2026-11-20", "to": "2026-11-20"},
    ],
    ids="-".join,
)
def test_leads_are_found_by_each_filter(
    mcp: McpClient, leads: list[Lead], arguments: dict[str, Any]
) -> None:
    assert ids(answer(mcp, "data_search_leads", **arguments)) == [leads[0].pk]


@pytest.mark.parametrize(
    ("by", "values"),
    [
        ("source", ["form", "sales_agent"]),
        ("status", ["converted", "open"]),
        ("day", ["2026-11-20", "2026-11-19"]),
    ],
)
@pytest.mark.usefixtures("leads")
def test_leads_are_counted(mcp: McpClient, by: str, values: list[str]) -> None:
    groups = answer(mcp, "data_search_leads", group_by=by)["groups"]
    assert groups == [{"value": value, "count": 1} for value in values]


def test_the_audit_row_has_the_arguments_as_sent_and_the_number_of_rows(
    mcp: McpClient, maria: Customer
) -> None:
    from audit.models import ActionExecution  # noqa: PLC0415  the only test about it

    call(mcp, "data_search_users", plan="", page_size="5", query="maria")
    row = ActionExecution.objects.latest("id")
    assert row.arguments == {"plan": "", "page_size": "5", "query": "maria"}
    assert (row.row_count, maria.plan) == (1, "Pro")
