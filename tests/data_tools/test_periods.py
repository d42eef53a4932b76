"""Periods in the days of an organization that is not in UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
import time_machine

from data_tools.query import periods
from data_tools.query.arguments import PeriodName
from tests.drivers.data_tools import answer, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = date(2026, 11, 23)
NAMED = {
    "today": ("2026-11-23", "2026-11-24"),
    "yesterday": ("2026-11-22", "2026-11-23"),
    "last_7_days": ("2026-11-17", "2026-11-24"),
    "last_14_days": ("2026-11-10", "2026-11-24"),
    "last_30_days": ("2026-10-25", "2026-11-24"),
    "last_60_days": ("2026-09-25", "2026-11-24"),
    "last_90_days": ("2026-08-26", "2026-11-24"),
    "last_180_days": ("2026-05-28", "2026-11-24"),
    "last_365_days": ("2025-11-24", "2026-11-24"),
    "this_week": ("2026-11-23", "2026-11-30"),
    "last_week": ("2026-11-16", "2026-11-23"),
    "this_month": ("2026-11-01", "2026-12-01"),
    "last_month": ("2026-10-01", "2026-11-01"),
    "this_quarter": ("2026-10-01", "2027-01-01"),
    "last_quarter": ("2026-07-01", "2026-10-01"),
    "this_year": ("2026-01-01", "2027-01-01"),
    "last_year": ("2025-01-01", "2026-01-01"),
}
# Half past midnight in Berlin: still the day before in UTC.
NOW = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)


@pytest.fixture
def berlin(grant: Grant) -> Grant:
    grant.organization.time_zone = "Europe/Berlin"
    grant.organization.save()
    return grant


@pytest.mark.parametrize(("name", "days"), NAMED.items(), ids=NAMED)
def test_a_named_period_has_the_days_of_its_name(name: str, days: tuple[str, str]) -> None:
    period = periods.from_name(name, MONDAY, BERLIN)
    assert period.start is not None
    assert period.end is not None
    bounds = [bound.astimezone(BERLIN) for bound in (period.start, period.end)]
    assert tuple(bound.date().isoformat() for bound in bounds) == days
    assert {bound.time().isoformat() for bound in bounds} == {"00:00:00"}


def test_every_period_that_arguments_offer_has_days() -> None:
    assert {*NAMED, periods.ALL_TIME} == set(get_args(PeriodName))


@pytest.mark.parametrize("month", range(1, 13))
def test_the_last_month_ends_where_this_one_begins(month: int) -> None:
    today = date(2026, month, 28)
    last = periods.from_name("last_month", today, BERLIN)
    assert last.end == periods.from_name("this_month", today, BERLIN).start


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)], ids=["spring", "autumn"]
)
def test_a_day_on_which_clocks_change_has_23_or_25_hours(day: date, hours: int) -> None:
    period = periods.from_name("today", day, BERLIN)
    assert period.start is not None
    assert period.end is not None
    assert period.end - period.start == timedelta(hours=hours)


def test_a_day_without_midnight_begins_at_its_first_moment() -> None:
    """Clocks in Beirut went from 00:00 to 01:00 on 2025-03-30."""
    beirut = ZoneInfo("Asia/Beirut")
    start = periods.midnight(date(2025, 3, 30), beirut).astimezone(beirut)
    assert start.isoformat() == "2025-03-30T01:00:00+03:00"


BOUNDS: dict[str, tuple[dict[str, str], tuple[str | None, str | None]]] = {
    "dates": (
        {"from": "2026-11-09", "to": "2026-11-15"},
        ("2026-11-09T00:00:00+01:00", "2026-11-16T00:00:00+01:00"),
    ),
    "one-day": (
        {"from": "2026-11-09", "to": "2026-11-09"},
        ("2026-11-09T00:00:00+01:00", "2026-11-10T00:00:00+01:00"),
    ),
    "days-ago": ({"from": "-30d"}, ("2026-10-24T00:00:00+02:00", None)),
    "days-ahead": ({"to": "+90d"}, (None, "2027-02-22T00:00:00+01:00")),
    "times": (
        {"from": "2026-11-09T10:00:00Z", "to": "2026-11-09T12:30:00+01:00"},
        ("2026-11-09T11:00:00+01:00", "2026-11-09T12:30:00+01:00"),
    ),
    "time-without-offset": ({"from": "2026-07-01T08:00"}, ("2026-07-01T08:00:00+02:00", None)),
}


@pytest.mark.parametrize(("given", "bounds"), BOUNDS.values(), ids=BOUNDS)
def test_from_and_to_are_days_of_the_workspace(
    berlin: Grant, given: dict[str, str], bounds: tuple[str | None, str | None]
) -> None:
    with time_machine.travel(NOW, tick=False):
        token = McpClient(berlin.token())
        period = answer(token, "data_search_users", **given)["period"]
    assert (period.get("from"), period.get("to")) == bounds
    assert (period["name"], period["field"], period["time_zone"]) == (
        "custom",
        "last_seen",
        "Europe/Berlin",
    )


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        ({"from": "soon"}, "from", "a date, an RFC 3339 time or -30d. Today is 2026-11-23."),
        ({"to": "2026-02-30"}, "to", "2026-02-30 does not exist."),
        ({"from": "2025-06-31T08:00:00Z"}, "from", "2025-06-31 does not exist."),
        ({"from": "0001-01-01"}, "from", "a date, an RFC 3339 time or -30d. Today is 2026-11-23."),
        ({"from": "-1d", "to": "-2d"}, "to", "is before from. Send a later one."),
        (
            {"from": "-1d", "period": "today"},
            "period",
            "send period, or from and to, not both.",
        ),
    ],
)
def test_a_period_that_cannot_be_is_refused_with_a_way_out(
    berlin: Grant, given: dict[str, str], field: str, reason: str
) -> None:
    with time_machine.travel(NOW, tick=False):
        refused = refusal(McpClient(berlin.token()), "data_search_users", **given)
    assert (refused["field"], refused["reason"], refused["message"]) == (
        field,
        reason,
        f"{field}: {reason}",
    )


def test_rows_at_local_midnight_belong_to_the_day_that_begins(berlin: Grant) -> None:
    seen = {
        "last": datetime(2026, 11, 15, 22, 59, 59, tzinfo=UTC),
        "first": datetime(2026, 11, 15, 23, 0, tzinfo=UTC),
        "end": datetime(2026, 11, 22, 22, 59, 59, 999_999, tzinfo=UTC),
        "after": datetime(2026, 11, 22, 23, 0, tzinfo=UTC),
    }
    for name, at in seen.items():
        berlin.customer(external_id=name, name=name, last_seen=at)
    with time_machine.travel(NOW, tick=False):
        found = answer(McpClient(berlin.token()), "data_search_users", period="last_week")
    assert [item["name"] for item in found["items"]] == ["end", "first"]
    assert found["period"] == {
        "name": "last_week",
        "field": "last_seen",
        "from": "2026-11-16T00:00:00+01:00",
        "to": "2026-11-23T00:00:00+01:00",
        "time_zone": "Europe/Berlin",
        "complete": True,
    }
    assert found["items"][1]["last_seen"] == "2026-11-16T00:00:00+01:00"


def test_a_column_of_days_is_compared_with_days(berlin: Grant) -> None:
    for day in ("2026-11-22", "2026-11-23", "2026-11-24"):
        berlin.customer(external_id=day, name=day, renewal_date=date.fromisoformat(day))
    arguments: Any = {"time_field": "renewal_date", "period": "today"}
    with time_machine.travel(NOW, tick=False):
        found = answer(McpClient(berlin.token()), "data_search_users", **arguments)
    assert [item["name"] for item in found["items"]] == ["2026-11-23"]


def test_a_period_that_has_not_ended_is_incomplete(berlin: Grant) -> None:
    with time_machine.travel(NOW, tick=False):
        mcp = McpClient(berlin.token())
        complete = {
            name: answer(mcp, "data_search_users", period=name)["period"]["complete"]
            for name in ("today", "yesterday", "this_week", "last_month", "all_time")
        }
    assert complete == {
        "today": False,
        "yesterday": True,
        "this_week": False,
        "last_month": True,
        "all_time": False,
    }
