"""Percentiles, shares, ratings, paying customers and lost revenue, by tool calls and by hand."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Any

import pytest
import time_machine

from customers import companies, customers, kpis, tasks
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from workspace.models import (
    Company,
    Conversation,
    Customer,
    Feedback,
    KpiSnapshot,
    Ticket,
    TicketStatus,
)

NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
TOOL = "data_query_metrics"


@pytest.fixture(autouse=True)
def _clock() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def figure(mcp: McpClient, metric: str, **arguments: Any) -> dict[str, Any]:
    (item,) = answer(mcp, TOOL, metric=metric, **arguments)["items"]
    return dict(item)


def value(mcp: McpClient, metric: str, **arguments: Any) -> Any:
    return figure(mcp, metric, **arguments).get("value")


def ticket(
    grant: Grant, minutes: float | None, *, age: timedelta = 5 * DAY, **facts: Any
) -> Ticket:
    """A ticket with a first response, and a resolution, after so many minutes."""
    created = NOW - age
    answered = None if minutes is None else created + minutes * MINUTE
    return Ticket.objects.create(
        organization=grant.organization,
        subject="Help",
        created_at=created,
        first_response_at=answered,
        resolved_at=answered,
        **facts,
    )


def test_percentiles_are_exact_between_two_tickets(mcp: McpClient, grant: Grant) -> None:
    assert value(mcp, "first_response_minutes_p50") is None
    minutes = [7, 1, 100.5, 30, 12, 1]
    for each in minutes:
        ticket(grant, each)
    ticket(grant, None)
    ticket(grant, 5000, status=TicketStatus.SPAM)
    ticket(grant, 5000, age=90 * DAY)
    for kind in ("first_response", "resolution"):
        assert value(mcp, f"{kind}_minutes_p50") == median(minutes) == 9.5
        # Place 4.5 of 0 to 5: half way from 30 to 100.5.
        assert value(mcp, f"{kind}_minutes_p90") == 65.2
    ticket(grant, 8)
    assert value(mcp, "resolution_minutes_p50") == 8
    assert "Median" in figure(mcp, "resolution_minutes_p50")["definition"]


def test_the_share_in_time_counts_those_that_are_late_without_an_answer(
    mcp: McpClient, grant: Grant
) -> None:
    for minutes in (60, 61, 59.5, None):
        ticket(grant, minutes)
    ticket(grant, None, age=59 * MINUTE)
    ticket(grant, 5, status=TicketStatus.SPAM)
    for kind in ("first_response", "resolution"):
        assert value(mcp, f"{kind}_within_rate", within_minutes=60) == 0.5
        assert value(mcp, f"{kind}_within_rate") == 0.75
    searched = answer(mcp, TOOL, metric="resolution_within_rate", within_minutes=60)["searched"]
    assert searched["within_minutes"] == 60
    for sent in ({"metric": "tickets"}, {}):
        refused = refusal(mcp, TOOL, within_minutes=60, **sent)
        assert refused["field"] == "within_minutes"
        assert "resolution_within_rate" in refused["reason"]


def test_the_rate_of_good_ratings_is_that_of_customers(mcp: McpClient, grant: Grant) -> None:
    chat = Conversation.objects.create(organization=grant.organization, started_at=NOW - DAY)
    given = [("good", "customer"), ("bad", "customer"), ("good", "customer"), ("bad", "trainer")]
    for position, (rating, given_by) in enumerate(given, start=1):
        Feedback.objects.create(
            organization=grant.organization,
            conversation=chat,
            position=position,
            rating=rating,
            given_by=given_by,
            at=NOW - DAY,
        )
    assert value(mcp, "good_rating_rate") == pytest.approx(2 / 3, abs=1e-4)
    assert value(mcp, "good_rating_rate", period="today") is None
    ratings = answer(mcp, "data_list_negative_feedback", rating="any", group_by="rating")
    assert {one["value"]: one["count"] for one in ratings["groups"]} == {"good": 2, "bad": 2}
    assert answer(mcp, "data_list_negative_feedback")["total"] == 2
    assert answer(mcp, "data_list_negative_feedback", rating="good")["total"] == 2


def account(grant: Grant, name: str, company: Company | None = None, **facts: Any) -> Customer:
    start = {"signed_up_at": NOW - 100 * DAY, "organization": grant.organization, "name": name}
    return customers.keep(Customer(company=company, **start | facts))


@pytest.fixture
def paying(grant: Grant) -> Company:
    """A company that pays 100 for two people, and people of each other kind."""
    acme = companies.keep(
        Company(
            organization=grant.organization,
            name="Acme",
            plan="Pro",
            industry="Retail",
            mrr=Decimal("100.10"),
        )
    )
    unpaid = companies.keep(Company(organization=grant.organization, name="Zero", mrr=Decimal(0)))
    account(grant, "Ada", acme, plan="pro", mrr=Decimal(7))
    account(grant, "Alan", acme, plan="pro")
    account(grant, "Bea", plan="starter", mrr=Decimal("20.20"))
    account(grant, "On trial", plan="starter", mrr=Decimal(5), lifecycle="trial")
    account(grant, "Free", plan="Free", mrr=Decimal(1))
    account(grant, "Nothing", plan="free")
    account(grant, "Of a company that pays nothing", unpaid, mrr=Decimal(9))
    account(grant, "Gone", plan="starter", mrr=Decimal(30), churned_at=NOW - 3 * DAY)
    account(grant, "Long gone", plan="pro", mrr=Decimal(40), churned_at=NOW - 50 * DAY)
    return acme


@pytest.mark.usefixtures("paying")
def test_free_and_trial_customers_do_not_pay(mcp: McpClient) -> None:
    found = figure(mcp, "paying_customers")
    assert (found["value"], found["previous"]) == (3, 4)
    assert "trial" in found["definition"]
    assert value(mcp, "customers") == 7
    assert "paying_customers" in figure(mcp, "customers")["definition"]


def test_lost_revenue_is_that_of_people_and_of_companies_without_any(
    mcp: McpClient, grant: Grant, paying: Company
) -> None:
    assert value(mcp, "churned_mrr") == 30
    assert value(mcp, "churned_mrr", period="last_90_days") == 70
    Customer.objects.filter(name="Ada").update(churned_at=NOW - DAY)
    assert value(mcp, "churned_mrr") == 30
    Customer.objects.filter(name="Alan").update(churned_at=NOW - 2 * DAY)
    assert value(mcp, "churned_mrr") == 130.1
    account(grant, "New at Acme", paying)
    assert value(mcp, "churned_mrr") == 30


def test_money_people_and_tickets_by_plan_and_industry(
    mcp: McpClient, grant: Grant, paying: Company
) -> None:
    def list_amounts(metric: str, group_by: str) -> dict[str, Any]:
        result = answer(mcp, TOOL, metric=metric, group_by=group_by)
        assert result["items"][0]["value"] == pytest.approx(
            sum(group[metric] for group in result["groups"])
        )
        return {group["value"]: group[metric] for group in result["groups"]}

    assert list_amounts("mrr", "plan") == {"Pro": 100.1, "starter": 25.2, "Free": 1}
    assert list_amounts("mrr", "industry") == {"Retail": 100.1, "(none)": 26.2}
    assert list_amounts("churned_mrr", "plan") == {"starter": 30}
    ticket(grant, None, company=paying)
    ticket(grant, None, customer=Customer.objects.get(name="Bea"))
    ticket(grant, None)
    ticket(grant, None, company=paying)
    assert list_amounts("tickets", "plan") == {"Pro": 2, "(none)": 1, "starter": 1}
    assert list_amounts("paying_customers", "plan") == {"pro": 2, "starter": 1}
    people = answer(mcp, "data_search_users", group_by="plan")
    assert sum(list_amounts("customers", "plan").values()) <= people["total"]
    refused = refusal(mcp, TOOL, metric="churn_rate", group_by="plan")
    assert refused["field"] == "group_by"


def test_groups_beyond_the_fiftieth_are_added_up(mcp: McpClient, grant: Grant) -> None:
    for number in range(60):
        account(grant, f"{number}", plan=f"plan {number:02}", mrr=Decimal(100 - number))
    result = answer(mcp, TOOL, metric="mrr", group_by="plan")
    assert len(result["groups"]) == 50
    assert result["other"] == sum(range(41, 51))


def test_revenue_is_counted_when_it_is_asked_for(mcp: McpClient, grant: Grant) -> None:
    tasks.refresh_kpis()
    account(grant, "New", mrr=Decimal("12.30"), signed_up_at=NOW)
    assert value(mcp, "mrr") == 12.3


def test_a_change_of_revenue_says_whether_upgrades_are_in_it(mcp: McpClient, grant: Grant) -> None:
    who = account(grant, "Ada", mrr=Decimal(10))
    item = figure(mcp, "mrr")
    assert (item["value"], item["previous"], item["change"]) == (10, 10, 0)
    assert item["previous_amounts"].startswith("present")
    assert "not known" in item["change_includes"]
    with time_machine.travel(NOW - 30 * DAY - HOUR, tick=False):
        tasks.refresh_kpis()
    who.mrr = Decimal(15)
    customers.keep(who)
    item = figure(mcp, "mrr")
    assert (item["value"], item["previous"], item["change"]) == (15, 10, 5)
    assert item["previous_amounts"] == "recorded"
    assert item["previous_as_of"].startswith("2026-10-24T11:30")
    assert "not known" not in item["change_includes"]


def test_amounts_of_different_kinds_are_not_compared(mcp: McpClient, grant: Grant) -> None:
    who = account(grant, "Ada", mrr=Decimal(10))
    with time_machine.travel(datetime(2026, 10, 31, 23, 30, tzinfo=UTC), tick=False):
        tasks.refresh_kpis()
    who.mrr = Decimal(15)
    customers.keep(who)
    result = answer(mcp, TOOL, metric="mrr", period="last_month")
    (item,) = result["items"]
    assert (item["value"], item["amounts"]) == (10, "recorded")
    assert item["as_of"].startswith("2026-10-31T23:30")
    assert "change" not in item
    assert any("no previous value" in hint for hint in result["hints"])


def test_snapshots_of_an_earlier_version_are_not_amounts_of_their_day(
    mcp: McpClient, grant: Grant
) -> None:
    account(grant, "Ada", mrr=Decimal(10))
    for days in range(28, 34):
        for metric in ("mrr", "health", "rated_companies"):
            KpiSnapshot.objects.create(
                organization=grant.organization,
                day=NOW.date() - days * DAY,
                metric=metric,
                value=77,
            )
    assert figure(mcp, "mrr")["previous"] == 10
    kpis.refresh_changed()
    assert not KpiSnapshot.objects.filter(organization=grant.organization, value=77).exists()


@pytest.mark.parametrize("metric", kpis.ALL_FIGURES)
def test_no_figure_is_one_of_a_bound_customer(mcp: McpClient, grant: Grant, metric: str) -> None:
    one = account(grant, "Ada")
    refused = refusal(mcp, TOOL, bind_id(one), metric=metric)
    assert "cannot be limited to one customer" in refused["reason"]
