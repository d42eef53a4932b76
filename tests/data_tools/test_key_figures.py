"""Key figures by tool calls and by plain SQL over the same rows, with and without snapshots."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection

from customers import companies, customers, kpis, tasks
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from workspace.models import (
    Company,
    Conversation,
    ConversationOutcome,
    Customer,
    KpiSnapshot,
    Ticket,
    TicketStatus,
)

# 13:30 in Berlin.
NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
# The first moment of 25 October, 30 days with today, and the same time of day 30 days before today.
START, BEFORE, UNTIL = (
    datetime(2026, 10, 24, 22, tzinfo=UTC),
    datetime(2026, 9, 24, 22, tzinfo=UTC),
    datetime(2026, 10, 24, 11, 30, tzinfo=UTC),
)


@pytest.fixture(autouse=True)
def _clock() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def berlin(grant: Grant) -> Grant:
    """An organization with a year of customers, tickets and conversations."""
    grant.organization.time_zone = "Europe/Berlin"
    grant.organization.currency = "EUR"
    grant.organization.save()
    paying = [
        companies.keep(
            Company(
                organization=grant.organization,
                name=f"Company {number}",
                mrr=Decimal(100) + number,
                health_score=number * 20,
            )
        )
        for number in range(5)
    ]
    customers.keep_all([_customer(grant, number, paying) for number in range(60)], [])
    Ticket.objects.bulk_create(
        _ticket(grant, NOW - number * 2 * DAY - number * HOUR, number) for number in range(200)
    )
    Conversation.objects.bulk_create(
        _conversation(grant, NOW - number * 17 * HOUR, number) for number in range(200)
    )
    return grant


def _customer(grant: Grant, number: int, paying: list[Company]) -> Customer:
    start = NOW - number * 6 * DAY - HOUR
    return Customer(
        organization=grant.organization,
        external_id=str(number),
        company=paying[number] if number < 5 else None,
        mrr=Decimal("9.50") if number % 4 else None,
        signed_up_at=start if number % 3 else None,
        first_seen=start if number % 2 else None,
        created_at=start,
        churned_at=start + 20 * DAY if number > 3 and number % 5 == 0 else None,
    )


def _ticket(grant: Grant, at: datetime, number: int) -> Ticket:
    return Ticket(
        organization=grant.organization,
        subject=f"Ticket {number}",
        status=TicketStatus.SPAM if number % 9 == 0 else TicketStatus.RESOLVED,
        created_at=at,
        first_response_at=at + number * HOUR if number % 3 else None,
        resolved_at=at + 2 * DAY if number % 2 else None,
    )


def _conversation(grant: Grant, at: datetime, number: int) -> Conversation:
    outcomes = ("", *ConversationOutcome.values)
    return Conversation(
        organization=grant.organization, started_at=at, outcome=outcomes[number % 4]
    )


def plain(sql: str, *moments: datetime) -> float:
    """One value of a statement, with moments as this database stores them."""
    ops = connection.ops
    with connection.cursor() as cursor:
        cursor.execute(sql, [ops.adapt_datetimefield_value(moment) for moment in moments])
        (value,) = cursor.fetchone()
    return float(value)


STARTED = "coalesce(signed_up_at, first_seen, created_at)"
MINUTES = (
    "extract(epoch from {to} - created_at) / 60"
    if connection.vendor == "postgresql"
    else "(julianday({to}) - julianday(created_at)) * 1440"
)
TICKETS = "from workspace_ticket where status <> 'spam' and {column} >= %s and {column} < %s"
RATE = (
    "select avg(case when outcome = '{outcome}' then 1.0 else 0.0 end) from workspace_conversation "
    "where outcome <> '' and started_at >= %s and started_at < %s"
)
IN_PERIOD = {
    "new_customers": f"select count(*) from workspace_customer "  # noqa: S608  constants only
    f"where {STARTED} >= %s and {STARTED} < %s",
    "churned_customers": "select count(*) from workspace_customer "
    "where churned_at >= %s and churned_at < %s",
    "tickets": "select count(*) " + TICKETS.format(column="created_at"),
    "first_response_minutes": f"select avg({MINUTES.format(to='first_response_at')}) "
    + TICKETS.format(column="created_at"),
    "resolution_minutes": f"select avg({MINUTES.format(to='resolved_at')}) "
    + TICKETS.format(column="resolved_at"),
    "ai_resolution_rate": RATE.format(outcome="resolved"),
    "escalation_rate": RATE.format(outcome="escalated"),
}
ACTIVE = f"{STARTED} < %s and (churned_at is null or churned_at >= %s)"
AT_END = {
    "customers": f"select count(*) from workspace_customer where {ACTIVE}",  # noqa: S608  constants only
    "mrr": "select (select coalesce(sum(mrr), 0) from workspace_customer "  # noqa: S608  constants only
    f"where company_id is null and {ACTIVE}) + (select sum(mrr) from workspace_company where id in "
    f"(select company_id from workspace_customer where {ACTIVE}))",
    "average_health": "select avg(health_score) from workspace_company where id in "  # noqa: S608  constants only
    f"(select company_id from workspace_customer where {ACTIVE})",
}


def expected_figure(name: str, start: datetime, end: datetime) -> float:
    if name in IN_PERIOD:
        return plain(IN_PERIOD[name], start, end)
    if name == "churn_rate":
        return plain(IN_PERIOD["churned_customers"], start, end) / expected_figure(
            "customers", end, start
        )
    return plain(AT_END[name], *[end] * AT_END[name].count("%s"))


def figures(mcp: McpClient, **arguments: Any) -> dict[str, Any]:
    return {one["metric"]: one for one in answer(mcp, "data_query_metrics", **arguments)["items"]}


@pytest.mark.parametrize("days_with_snapshots", [0, 70, 20])
def test_figures_are_those_of_plain_sql_with_and_without_snapshots(
    mcp: McpClient, berlin: Grant, days_with_snapshots: int
) -> None:
    if days_with_snapshots:
        today = NOW.date()
        kpis.refresh(berlin.organization, today - days_with_snapshots * DAY, today)
    found = figures(mcp)
    assert list(found) == list(kpis.FIGURES)
    for name, one in found.items():
        assert one["value"] == pytest.approx(expected_figure(name, START, NOW), abs=0.051), name
        if name not in {"mrr", "average_health"}:
            previous = expected_figure(name, BEFORE, UNTIL)
            assert one["previous"] == pytest.approx(previous, abs=0.051), name


@pytest.mark.usefixtures("berlin")
def test_a_figure_says_its_unit_its_direction_and_what_it_means(mcp: McpClient) -> None:
    result = answer(mcp, "data_query_metrics", metric="churn_rate")
    (figure,) = result["items"]
    churned, at_start = (
        expected_figure("churned_customers", START, NOW),
        expected_figure("customers", START, START),
    )
    assert figure["value"] == round(churned / at_start, 4) > 0
    assert figure["change"] == pytest.approx(figure["value"] - figure["previous"], abs=1e-4)
    assert (figure["unit"], figure["better"]) == ("ratio", "down")
    assert "at its start" in figure["definition"]
    assert (result["currency"], result["period"]["time_zone"]) == ("EUR", "Europe/Berlin")
    assert result["period"]["from"] == "2026-10-25T00:00:00+02:00"
    assert result["previous_period"]["from"] == "2026-09-25T00:00:00+02:00"


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("period", "compare", "begins", "ends"),
    [
        ("last_week", "previous_period", "2026-11-09T00:00:00+01:00", "2026-11-16T00:00:00+01:00"),
        ("last_month", "previous_period", "2026-09-01T00:00:00+02:00", "2026-10-01T00:00:00+02:00"),
        ("this_month", "previous_period", "2026-10-01T00:00:00+02:00", "2026-10-23T13:30:00+02:00"),
        ("this_year", "previous_period", "2025-01-01T00:00:00+01:00", "2025-11-23T13:30:00+01:00"),
        ("today", "previous_period", "2026-11-22T00:00:00+01:00", "2026-11-22T13:30:00+01:00"),
        ("last_quarter", "previous_year", "2025-07-01T00:00:00+02:00", "2025-10-01T00:00:00+02:00"),
        ("last_7_days", "previous_year", "2025-11-17T00:00:00+01:00", "2025-11-23T13:30:00+01:00"),
    ],
)
def test_the_other_period_has_gone_as_far(
    mcp: McpClient, period: str, compare: str, begins: str, ends: str
) -> None:
    result = answer(mcp, "data_query_metrics", metric="tickets", period=period, compare=compare)
    assert (result["previous_period"]["from"], result["previous_period"]["to"]) == (begins, ends)
    start, end = (datetime.fromisoformat(one) for one in (begins, ends))
    assert result["items"][0]["previous"] == expected_figure("tickets", start, end)


@pytest.mark.usefixtures("berlin")
def test_a_period_without_a_start_and_no_comparison_have_no_previous_value(mcp: McpClient) -> None:
    for arguments in ({"period": "all_time"}, {"compare": "none"}):
        result = answer(mcp, "data_query_metrics", metric="tickets", **arguments)
        assert "previous" not in result["items"][0]
        assert "previous_period" not in result
    assert figures(mcp, period="all_time")["tickets"]["value"] == 177


def test_a_figure_with_nothing_to_divide_by_has_no_value_and_says_so(mcp: McpClient) -> None:
    result = answer(mcp, "data_query_metrics", metric="resolution_minutes")
    assert "value" not in result["items"][0]
    assert any(hint.startswith("resolution_minutes:") for hint in result["hints"])


@pytest.mark.usefixtures("berlin")
def test_a_period_that_has_not_begun_is_refused(mcp: McpClient) -> None:
    refused = refusal(mcp, "data_query_metrics", from_="+2d")
    assert (refused["field"], refused["reason"]) == (
        "from",
        "is in the future. Today is 2026-11-23.",
    )


def test_figures_of_a_past_day_are_kept_and_written_again_when_rows_change(berlin: Grant) -> None:
    day = date(2026, 11, 2)
    assert kpis.refresh(berlin.organization, day, day) == kpis.refresh(
        berlin.organization, day, day
    )
    stored = dict(
        KpiSnapshot.objects.filter(organization=berlin.organization, day=day).values_list(
            "metric", "value"
        )
    )
    start, end = datetime(2026, 11, 1, 23, tzinfo=UTC), datetime(2026, 11, 2, 23, tzinfo=UTC)
    assert stored.keys() >= kpis.FIGURES.keys() - {"mrr", "average_health"}
    for name in ("customers", "churn_rate", "tickets"):
        assert stored[name] == pytest.approx(expected_figure(name, start, end)), name
    _ticket(berlin, start, 1).save()
    kpis.refresh(berlin.organization, day, day)
    snapshot = KpiSnapshot.objects.get(organization=berlin.organization, day=day, metric="tickets")
    assert (snapshot.value, stored["tickets"]) == (1, 0)


def test_a_call_that_is_bound_to_a_customer_is_refused(mcp: McpClient, berlin: Grant) -> None:
    one = berlin.organization.customers.all()[0]
    refused = refusal(mcp, "data_query_metrics", bind_id(one))
    assert "cannot be limited to one customer" in refused["reason"]


def test_the_command_fills_the_days_that_it_is_given(berlin: Grant) -> None:
    out = StringIO()
    slug = berlin.organization.slug
    call_command("refresh_kpis", slug, "--from=2026-10-24", "--to=2026-10-26", stdout=out)
    stored = KpiSnapshot.objects.filter(organization=berlin.organization)
    assert out.getvalue() == f"{slug}: {stored.count()} values written.\n"
    days = stored.filter(metric="tickets").order_by("day").values_list("day", flat=True)
    assert list(days) == [date(2026, 10, 24) + number * DAY for number in range(3)]


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("arguments", [("nobody",), ("", "--from=2026-10-26", "--to=2026-10-24")])
def test_the_command_refuses_what_it_cannot_do(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        call_command("refresh_kpis", *filter(None, arguments))


@pytest.mark.usefixtures("berlin")
def test_the_hourly_task_writes_the_days_that_settled_and_records_what_is_now() -> None:
    tasks.refresh_kpis()
    days = KpiSnapshot.objects.filter(metric="customers").values_list("day", flat=True)
    assert set(days) == {NOW.date() - DAY, NOW.date() - 2 * DAY}
    assert KpiSnapshot.objects.get(metric="mrr").day == NOW.date()
    tasks.refresh_older_kpis()
    assert len(set(days.all())) == 34
