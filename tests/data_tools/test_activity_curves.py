"""Curves of activity: every hour, day, week and month in the organization's zone."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine

from customers import companies, kpis
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from workspace.models import Company, Conversation, Customer, Event, Ticket, TicketStatus

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
TOOL = "data_query_activity_time_series"


@pytest.fixture(autouse=True)
def _clock() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def berlin(grant: Grant) -> Grant:
    grant.organization.time_zone = "Europe/Berlin"
    grant.organization.save()
    return grant


def tickets(grant: Grant, *moments: datetime, **facts: Any) -> None:
    Ticket.objects.bulk_create(
        Ticket(organization=grant.organization, subject="Help", created_at=at, **facts)
        for at in moments
    )


def events(grant: Grant, customer: Customer | None, *moments: datetime) -> None:
    Event.objects.bulk_create(
        Event(organization=grant.organization, customer=customer, event_type="click", at=at)
        for at in moments
    )


def curve(mcp: McpClient, **arguments: Any) -> dict[str, int]:
    return {point["start"]: point["value"] for point in answer(mcp, TOOL, **arguments)["items"]}


def hours(day: date) -> list[datetime]:
    """The middle of every hour that passes on a day in Berlin."""
    at = datetime(day.year, day.month, day.day, tzinfo=BERLIN).astimezone(UTC)
    after = day + timedelta(days=1)
    end = datetime(after.year, after.month, after.day, tzinfo=BERLIN).astimezone(UTC)
    many = (end - at) // timedelta(hours=1)
    return [at + timedelta(hours=number, minutes=30) for number in range(many)]


@pytest.mark.parametrize("with_snapshots", [False, True], ids=["counted", "snapshots"])
@pytest.mark.parametrize(
    ("day", "many", "first", "last"),
    [
        (date(2026, 3, 29), 23, "2026-03-29T00:00+01:00", "2026-03-29T23:00+02:00"),
        (date(2026, 10, 25), 25, "2026-10-25T00:00+02:00", "2026-10-25T23:00+01:00"),
    ],
)
def test_a_day_of_23_and_one_of_25_hours_count_each_hour_once(  # noqa: PLR0917  parameters
    mcp: McpClient,
    berlin: Grant,
    day: date,
    many: int,
    first: str,
    last: str,
    with_snapshots: bool,  # noqa: FBT001  a parameter
) -> None:
    tickets(berlin, *hours(day))
    if with_snapshots:
        kpis.refresh(berlin.organization, day - timedelta(days=9), day + timedelta(days=9))
    text = day.isoformat()
    by_hour = curve(mcp, metric="tickets", bucket="hour", from_=text, to=text)
    assert list(by_hour.values()) == [1] * many
    assert (min(by_hour), list(by_hour)[-1]) == (first, last)
    around = {"from_": (day - timedelta(days=1)).isoformat(), "to": "2026-10-26"}
    by_day = curve(mcp, metric="tickets", **around, bucket="day" if many == 25 else "week")
    assert sum(by_day.values()) == many
    if many == 25:
        assert list(by_day.values()) == [0, 25, 0]


def test_a_row_at_local_midnight_belongs_to_the_day_that_begins(
    mcp: McpClient, berlin: Grant
) -> None:
    midnight = datetime(2026, 11, 10, tzinfo=BERLIN)
    tickets(berlin, midnight, midnight - timedelta(microseconds=1))
    found = curve(mcp, metric="tickets", from_="2026-11-08", to="2026-11-11")
    assert found == {"2026-11-08": 0, "2026-11-09": 1, "2026-11-10": 1, "2026-11-11": 0}


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe"])
def test_zones_that_are_no_whole_hours_from_utc(mcp: McpClient, grant: Grant, zone: str) -> None:
    grant.organization.time_zone = zone
    grant.organization.save()
    midnight = datetime(2026, 11, 10, tzinfo=ZoneInfo(zone))
    tickets(grant, midnight, midnight - timedelta(microseconds=1))
    found = curve(mcp, metric="tickets", from_="2026-11-09", to="2026-11-10")
    assert list(found.values()) == [1, 1]
    by_hour = curve(mcp, metric="tickets", bucket="hour", from_="2026-11-10", to="2026-11-10")
    assert (list(by_hour.values()), len(by_hour)) == ([1] + [0] * 23, 24)


def test_unfinished_points_are_marked_and_left_out_of_the_summary(
    mcp: McpClient, berlin: Grant
) -> None:
    day = timedelta(days=1)
    tickets(berlin, *[NOW] * 9, *[NOW - day] * 2, *[NOW - 2 * day] * 4)
    result = answer(mcp, TOOL, metric="tickets", period="last_7_days")
    assert [point.get("complete") for point in result["items"]] == [None] * 6 + [False]
    assert result["items"][-1]["value"] == 9
    summary = result["summary"]
    assert (summary["points"], summary["total"], summary["mean"]) == (6, 6, 1)
    assert summary["highest"] == {"start": "2026-11-21", "value": 4}
    months = answer(mcp, TOOL, metric="tickets", bucket="month", from_="2026-10-10")["items"]
    assert [(one["start"], one["complete"]) for one in months] == [
        ("2026-10-01", False),
        ("2026-11-01", False),
    ]


@pytest.mark.parametrize("with_snapshots", [False, True], ids=["counted", "snapshots"])
def test_a_person_who_is_active_twice_counts_once_in_each_bucket(
    mcp: McpClient,
    berlin: Grant,
    with_snapshots: bool,  # noqa: FBT001  a parameter
) -> None:
    one, two = berlin.customer(external_id="1"), berlin.customer(external_id="2")
    monday = datetime(2026, 11, 2, 9, tzinfo=BERLIN)
    events(berlin, one, monday, monday + timedelta(hours=1), monday + timedelta(days=3))
    events(berlin, two, monday + timedelta(days=3), monday - timedelta(days=4))
    events(berlin, None, monday)
    if with_snapshots:
        kpis.refresh(berlin.organization, date(2026, 10, 1), NOW.date())
    period = {"from_": "2026-10-26", "to": "2026-11-08", "metric": "active_users"}
    by_day = curve(mcp, **period)
    assert {day: many for day, many in by_day.items() if many} == {
        "2026-10-29": 1,
        "2026-11-02": 1,
        "2026-11-05": 2,
    }
    assert curve(mcp, **period, bucket="week") == {"2026-10-26": 1, "2026-11-02": 2}
    month = curve(mcp, metric="active_users", bucket="month", period="this_month")
    assert month == {"2026-11-01": 2}
    assert "total" not in answer(mcp, TOOL, **period)["summary"]


def test_spam_and_rows_of_others_are_not_counted(mcp: McpClient, berlin: Grant) -> None:
    acme = companies.keep(Company(organization=berlin.organization, name="Acme"))
    tickets(berlin, NOW, status=TicketStatus.SPAM)
    tickets(berlin, NOW)
    tickets(berlin, NOW, NOW, company=acme)
    today = {"metric": "tickets", "period": "today"}
    assert curve(mcp, **today) == {"2026-11-23": 3}
    assert curve(mcp, **today, company="acme") == {"2026-11-23": 2}
    someone = berlin.customer(external_id="1")
    Conversation.objects.create(organization=berlin.organization, customer=someone, started_at=NOW)
    Conversation.objects.create(organization=berlin.organization, started_at=NOW)
    bound = answer(mcp, TOOL, bind_id(someone), metric="conversations", period="today")
    assert [point["value"] for point in bound["items"]] == [1]


def test_new_users_of_all_time_begin_with_the_first(mcp: McpClient, berlin: Grant) -> None:
    for start in (NOW - timedelta(days=70), NOW - timedelta(days=3)):
        berlin.customer(external_id=str(start), signed_up_at=start)
    result = answer(mcp, TOOL, metric="new_users", bucket="month", period="all_time")
    found = [(one["start"], one["value"], one.get("complete")) for one in result["items"]]
    assert found == [
        ("2026-09-01", 1, None),
        ("2026-10-01", 0, None),
        ("2026-11-01", 1, False),
    ]


def test_too_many_points_are_refused_with_a_bucket_that_fits(mcp: McpClient) -> None:
    refused = refusal(mcp, TOOL, metric="tickets", bucket="hour", period="last_30_days")
    assert refused["field"] == "bucket"
    assert refused["reason"] == "709 points, at most 400. Use day."


def test_rows_of_a_wrong_clock_do_not_begin_the_curve_of_all_time(
    mcp: McpClient, berlin: Grant
) -> None:
    day = timedelta(days=1)
    tickets(berlin, datetime(1900, 1, 1, tzinfo=UTC))
    tickets(berlin, *[NOW - number * day for number in range(60)])
    for bucket in ("day", "week", "month"):
        result = answer(mcp, TOOL, metric="tickets", bucket=bucket, period="all_time")
        assert sum(point["value"] for point in result["items"]) == 60
        assert result["returned"] <= 60
        (hint,) = result["hints"]
        assert hint.startswith("1 left out, the first at 1900-01-01T")
    assert result["period"]["from"] == "2026-09-01T00:00:00+02:00"
    since = answer(mcp, TOOL, metric="tickets", from_="1980-01-01")
    assert sum(point["value"] for point in since["items"]) == 60
    assert "cut" in since["hints"][0]
    everything = answer(mcp, "data_query_metrics", metric="tickets", period="all_time")
    assert everything["items"][0]["value"] == 61


def test_a_slow_beginning_is_no_outlier(mcp: McpClient, berlin: Grant) -> None:
    day = timedelta(days=1)
    tickets(berlin, *[NOW - number * 300 * day for number in range(1, 10)])
    tickets(berlin, *[NOW - number * day for number in range(100)])
    result = answer(mcp, TOOL, metric="tickets", bucket="month", period="all_time")
    assert sum(point["value"] for point in result["items"]) == 109


def test_a_bucket_that_was_not_chosen_becomes_coarser(mcp: McpClient, berlin: Grant) -> None:
    day = timedelta(days=1)
    tickets(berlin, *[NOW - number * 10 * day for number in range(70)])
    result = answer(mcp, TOOL, metric="tickets", period="all_time")
    assert (result["searched"]["bucket"], result["summary"]["points"]) == ("week", 99)
    assert result["hints"] == ["Bucket day has 691 points, at most 400: week is used."]
    refused = refusal(mcp, TOOL, metric="tickets", bucket="day", period="all_time")
    assert refused["reason"] == "691 points, at most 400. Use week."


def test_a_bucket_fits_into_any_period_or_the_period_is_named(
    mcp: McpClient, berlin: Grant
) -> None:
    many = [datetime(year, 5, 1, tzinfo=UTC) for year in range(1971, 2026)]
    tickets(berlin, *many)
    refused = refusal(mcp, TOOL, metric="tickets", bucket="month", from_="1970-01-01")
    assert refused["reason"].endswith("at most 400. Use month, and from 1996-04-22 or later.")
    assert answer(mcp, TOOL, metric="tickets", bucket="month", from_="1996-04-22")["returned"] < 401


def test_four_hundred_points_fit_into_a_result(mcp: McpClient, berlin: Grant) -> None:
    tickets(berlin, NOW - timedelta(days=1))
    result = answer(mcp, TOOL, metric="tickets", bucket="hour", from_="-16d", to="-1d")
    assert result["returned"] == len(result["items"]) == 384


def test_a_curve_of_nothing_says_when_the_first_was(mcp: McpClient, berlin: Grant) -> None:
    asked = {"metric": "tickets", "period": "yesterday"}
    assert answer(mcp, TOOL, **asked)["hints"] == ["No tickets were ever recorded."]
    tickets(berlin, NOW - timedelta(days=40))
    (hint,) = answer(mcp, TOOL, **asked)["hints"]
    assert hint == "No tickets in this period; the first was at 2026-10-14T14:30:00+02:00."
