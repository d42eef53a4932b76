"""The period that figures of a period are compared with: as long, and as far advanced."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from data_tools.query.call import DataToolCall
from data_tools.query.periods import QueryPeriod, month_after

Comparison: TypeAlias = Literal["previous_period", "previous_year"]
MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}


def find_compared_period(
    call: DataToolCall, period: QueryPeriod, compare: Comparison
) -> QueryPeriod | None:
    """Returns the period before, or the same one a year ago; None for a period without a start.

    If the period has not ended, the other one ends as long after its start, by the clock.
    """
    if period.start is None:
        return None
    start = _local(call, period.start)
    end = _local(call, period.end or call.now)
    until = min(end, _local(call, call.now))
    if compare == "previous_year":
        return _period(call, compare, _months_earlier(start, 12), _months_earlier(until, 12))
    unit = period.name.rpartition("_")[2]
    earlier = _months_earlier(start, MONTHS[unit]) if unit in MONTHS else start - (end - start)
    # What is longer than the period before it, such as March, is compared with all of that.
    reached = start if until == end else min(start, earlier + (until - start))
    return _period(call, compare, earlier, reached)


def _local(call: DataToolCall, moment: datetime) -> datetime:
    """The time on the clocks of the organization, so that a day has 24 hours."""
    return moment.astimezone(call.zone).replace(tzinfo=None)


def _period(call: DataToolCall, name: str, start: datetime, end: datetime) -> QueryPeriod:
    start, end = (one.replace(tzinfo=call.zone).astimezone(UTC) for one in (start, end))
    return QueryPeriod(name, start, end)


def _months_earlier(moment: datetime, many: int) -> datetime:
    """The same day of an earlier month, or the last day of that month."""
    first = month_after(moment.date().replace(day=1), -many)
    last = month_after(first, 1) - timedelta(days=1)
    return datetime.combine(first.replace(day=min(moment.day, last.day)), moment.time())
