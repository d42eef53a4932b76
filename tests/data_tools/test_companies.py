"""data_find_company and data_search_companies."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from customers import companies
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.records import Records
from workspace.models import Company


def company(grant: Grant, name: str, **facts: Any) -> Company:
    return companies.keep(Company(organization=grant.organization, name=name, **facts))


@pytest.fixture
def three(grant: Grant) -> list[Company]:
    return [
        company(
            grant,
            "Acme",
            domain="acme.example",
            industry="Retail",
            plan="Pro",
            mrr=Decimal(900),
            health_score=80,
            renewal_status="at_risk",
            renewal_date=date(2027, 1, 31),
        ),
        company(grant, "Globex", domain="globex.example", mrr=Decimal("1200.50"), health_score=19),
        company(grant, "Initech", industry="Software"),
    ]


@pytest.mark.parametrize("name", ["acme", "ACME ", "acme.example", "https://www.acme.example/a"])
def test_a_company_is_found_by_name_and_domain(
    mcp: McpClient, three: list[Company], name: str
) -> None:
    found = answer(mcp, "data_find_company", company=name)
    assert (found["match"], found["company"]["id"]) == ("exact", three[0].pk)


def test_a_company_has_its_people_and_what_they_did(mcp: McpClient, grant: Grant) -> None:
    records = Records(grant).add()
    (acme,), (person,) = records.companies, records.customers
    grant.customer(external_id="2", name="Never seen", company=acme)
    found = answer(mcp, "data_find_company", company=acme.pk)
    assert [one["name"] for one in found["users"]] == [person.name, "Never seen"]
    assert found["users"][0]["id"] == person.pk
    counts = {name: value for name, value in found["activity"].items() if isinstance(value, int)}
    assert counts == {
        "users": 2,
        "churned_users": 0,
        "users_seen_last_30_days": 1,
        "open_tickets": 1,
        "tickets": 1,
        "conversations": 1,
    }


def test_a_bound_call_finds_the_company_of_its_customer_only(
    mcp: McpClient, grant: Grant, three: list[Company]
) -> None:
    ada = grant.customer(external_id="ada", name="Ada", company=three[0])
    grant.customer(external_id="bob", name="Bob", company=three[0])
    alone = grant.customer(external_id="alone", name="Alone")
    found = answer(mcp, "data_find_company", bind_id(ada), company="Acme")
    assert [one["name"] for one in found["users"]] == ["Ada"]
    assert answer(mcp, "data_find_company", bind_id(ada), company="Globex")["match"] == "none"
    assert ids(answer(mcp, "data_search_companies", bind_id(ada))) == [three[0].pk]
    assert answer(mcp, "data_search_companies", bind_id(alone))["total"] == 0


@pytest.mark.parametrize(
    ("sort", "order"),
    [("mrr_desc", [1, 0, 2]), ("health_asc", [1, 0, 2]), ("renewal_date_asc", [0])],
)
def test_companies_are_ranked(
    mcp: McpClient, three: list[Company], sort: str, order: list[int]
) -> None:
    rows = ids(answer(mcp, "data_search_companies", sort=sort))
    assert rows[: len(order)] == [three[place].pk for place in order]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "acme"},
        {"query": "acme.ex"},
        {"industry": "retail"},
        {"plan": "pro"},
        {"renewal_status": "at_risk"},
        {"min_health": 20},
        {"min_health": "80", "max_health": "80"},
        {"min_mrr": 900, "max_mrr": 1200.49},
        {"time_field": "renewal_date", "from_": "2027-01-31", "to": "2027-01-31"},
    ],
    ids="-".join,
)
def test_companies_are_found_by_each_filter(
    mcp: McpClient, three: list[Company], arguments: dict[str, Any]
) -> None:
    assert ids(answer(mcp, "data_search_companies", **arguments)) == [three[0].pk]


def test_health_is_counted_in_bands_of_twenty(mcp: McpClient, grant: Grant) -> None:
    for score in (0, 19, 20, 79, 80, 100, None):
        company(grant, f"Company {score}", health_score=score)
    groups = answer(mcp, "data_search_companies", group_by="health_band")["groups"]
    assert {one["value"]: one["count"] for one in groups} == {
        "0-19": 2,
        "20-39": 1,
        "60-79": 1,
        "80-100": 2,
        "(none)": 1,
    }


def test_an_empty_result_lists_the_plans_that_there_are(
    mcp: McpClient, three: list[Company]
) -> None:
    found = answer(mcp, "data_search_companies", plan="Enterprise")
    assert found["hints"] == ["Without plan: 3.", "Known values of plan: (none), Pro."]
    assert len(three) == 3


def test_companies_are_created_in_a_period(mcp: McpClient, three: list[Company]) -> None:
    old = timezone.now().replace(year=2020)
    Company.objects.filter(pk=three[0].pk).update(created_at=old)
    assert set(ids(answer(mcp, "data_search_companies", period="last_7_days"))) == {
        three[1].pk,
        three[2].pk,
    }
