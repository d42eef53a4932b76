"""Days, weeks and months of an organization: they begin at midnight in its time zone."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import timezone

from workspace.models import Organization

ONE_DAY: Final = timedelta(days=1)


class Unit(StrEnum):
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


def zone(organization: Organization) -> ZoneInfo:
    return ZoneInfo(organization.time_zone)


def midnight(day: date, where: ZoneInfo) -> datetime:
    """Returns the first moment of a day, in UTC: later than midnight where clocks skip it."""
    return datetime.combine(day, time(), where).astimezone(UTC)


def day_of(moment: datetime, where: ZoneInfo) -> date:
    return moment.astimezone(where).date()


def today(where: ZoneInfo) -> date:
    return day_of(timezone.now(), where)


def list_between(first: date, last: date) -> Sequence[date]:
    """Returns the days from the first to the last, both included."""
    return [first + ONE_DAY * number for number in range((last - first).days + 1)]


def beginning(unit: Unit, day: date) -> date:
    """Returns the first day of the day, week or month that a day lies in; weeks begin on Monday."""
    if unit is Unit.MONTH:
        return day.replace(day=1)
    return day - ONE_DAY * day.weekday() if unit is Unit.WEEK else day


def next_beginning(unit: Unit, first: date) -> date:
    """Returns the day after the day, week or month that begins on a day."""
    if unit is Unit.MONTH:
        return (first + ONE_DAY * 31).replace(day=1)
    return first + ONE_DAY * (7 if unit is Unit.WEEK else 1)


def beginnings(unit: Unit, first: date, last: date) -> list[date]:
    """Returns where the days, weeks or months begin that touch the days from first to last."""
    found = [beginning(unit, first)]
    while (following := next_beginning(unit, found[-1])) <= last:
        found.append(following)
    return found
