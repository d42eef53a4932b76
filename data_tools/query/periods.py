"""Periods of time: by name, or from and to, in days of the organization's time zone."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.db.models import DateTimeField, Model, Q

from data_tools.query.arguments import TimeRange
from data_tools.query.call import DataToolCall, invalid_argument
from foundation.calendar_days import missing_day_message
from tools_registry.api import Json, ValidationFailure

DAY: Final = timedelta(days=1)
RELATIVE: Final = re.compile(r"([+-])([0-9]{1,4})d")
ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
YEARS: Final = range(1970, 2200)
CUSTOM: Final = "custom"
ALL_TIME: Final = "all_time"


@dataclass(frozen=True, slots=True)
class QueryPeriod:
    """A period from `start` to before `end`, both in UTC; None where it has no bound."""

    name: str
    start: datetime | None
    end: datetime | None

    def q(self, model: type[Model], column: str, zone: ZoneInfo) -> Q:
        """The condition that a column of times, or of days in this zone, is within the period."""
        if isinstance(model._meta.get_field(column), DateTimeField):
            return _range_condition(column, self.start, self.end)
        first = self.start and self.start.astimezone(zone).date()
        last = self.end and (self.end - timedelta(microseconds=1)).astimezone(zone).date()
        return _range_condition(column, first, last and last + DAY)

    def describe(self, call: DataToolCall, column: str) -> dict[str, Json]:
        """The period as results show it; `complete` is false while it has not ended."""
        return {
            "name": self.name,
            "field": column,
            "from": call.when(self.start),
            "to": call.when(self.end),
            "time_zone": call.zone.key,
            "complete": self.end is not None and self.end <= call.now,
        }


def from_call(call: DataToolCall, time: TimeRange) -> QueryPeriod:
    """The period that the arguments of a call name. Raises ValidationFailure."""
    if time.from_ is None and time.to is None:
        return from_name(time.period, call.today, call.zone)
    if "period" in call.given:
        raise invalid_argument("period", "send period, or from and to, not both.")
    start = _start(call, time.from_) if time.from_ is not None else None
    end = _end(call, time.to) if time.to is not None else None
    if start is not None and end is not None and end <= start:
        raise invalid_argument("to", "is before from. Send a later one.")
    return QueryPeriod(CUSTOM, start, end)


def from_name(name: str, today: date, zone: ZoneInfo) -> QueryPeriod:
    """The period of this name: it ends after its last day, which may be today or later."""
    if name == ALL_TIME:
        return QueryPeriod(name, None, None)
    first, after = BY_NAME[name](today)
    return QueryPeriod(name, midnight(first, zone), midnight(after, zone))


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The moment at which a day begins, in UTC; the first one if clocks skip midnight."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def read_bounds(call: DataToolCall, argument: str, text: str) -> tuple[datetime, datetime]:
    """The day or the moment that a text names, from its start to before its end, both in UTC.

    Raises ValidationFailure.
    """
    moment = _moment(call, argument, text)
    if isinstance(moment, datetime):
        return moment, moment + timedelta(microseconds=1)
    return midnight(moment, call.zone), midnight(moment + DAY, call.zone)


def _range_condition(column: str, first: date | None, after: date | None) -> Q:
    lower = Q(**{f"{column}__gte": first}) if first is not None else Q()
    upper = Q(**{f"{column}__lt": after}) if after is not None else Q()
    return lower & upper


def _start(call: DataToolCall, text: str) -> datetime:
    return read_bounds(call, "from", text)[0]


def _end(call: DataToolCall, text: str) -> datetime:
    moment = _moment(call, "to", text)
    return midnight(moment + DAY, call.zone) if not isinstance(moment, datetime) else moment


def _moment(call: DataToolCall, argument: str, text: str) -> date | datetime:
    """The day or the time that an argument names."""
    stripped = text.strip()
    if relative := RELATIVE.fullmatch(stripped):
        sign, days = relative.groups()
        return call.today + int(f"{sign}{days}") * DAY
    try:
        found = (date if ISO_DATE.fullmatch(stripped) else datetime).fromisoformat(stripped)
    except ValueError:
        raise _unreadable(call, argument, text) from None
    if found.year not in YEARS:
        raise _unreadable(call, argument, text)
    if not isinstance(found, datetime):
        return found
    return (found if found.tzinfo else found.replace(tzinfo=call.zone)).astimezone(UTC)


def _unreadable(call: DataToolCall, argument: str, text: str) -> ValidationFailure:
    if missing := missing_day_message(text):
        return invalid_argument(argument, missing)
    reason = f"a date, an RFC 3339 time or -30d. Today is {call.today.isoformat()}."
    return invalid_argument(argument, reason)


def _days(many: int) -> Callable[[date], tuple[date, date]]:
    return lambda today: (today - (many - 1) * DAY, today + DAY)


def _monday(today: date) -> date:
    return today - today.weekday() * DAY


def month_after(first: date, many: int) -> date:
    """The first day of the month that follows so many months later."""
    months = first.year * 12 + first.month - 1 + many
    return date(months // 12, months % 12 + 1, 1)


def _months(many: int, offset: int) -> Callable[[date], tuple[date, date]]:
    """So many calendar months: those with today in them, or an offset of as many from it."""

    def bounds(today: date) -> tuple[date, date]:
        first = date(today.year, (today.month - 1) // many * many + 1, 1)
        return month_after(first, offset * many), month_after(first, (offset + 1) * many)

    return bounds


# The first day and the day after the last one, by name.
BY_NAME: Final[Mapping[str, Callable[[date], tuple[date, date]]]] = {
    "today": _days(1),
    "yesterday": lambda today: (today - DAY, today),
    "last_7_days": _days(7),
    "last_14_days": _days(14),
    "last_30_days": _days(30),
    "last_60_days": _days(60),
    "last_90_days": _days(90),
    "last_180_days": _days(180),
    "last_365_days": _days(365),
    "this_week": lambda today: (_monday(today), _monday(today) + 7 * DAY),
    "last_week": lambda today: (_monday(today) - 7 * DAY, _monday(today)),
    "this_month": _months(1, 0),
    "last_month": _months(1, -1),
    "this_quarter": _months(3, 0),
    "last_quarter": _months(3, -1),
    "this_year": _months(12, 0),
    "last_year": _months(12, -1),
}
