"""How long tickets took: exact percentiles, and the share of tickets in time.

The database sorts, so that memory is bounded and both databases return the same value.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.db.models import Count, DurationField, ExpressionWrapper, F, Q, QuerySet

from customers.kpis import counts
from customers.kpis.counts import MINUTE
from workspace.access import Access

PERCENT: Final = 100


class Moment(StrEnum):
    """The column of the time until which tickets are measured."""

    FIRST_RESPONSE = "first_response_at"
    RESOLUTION = "resolved_at"


# The time at which a ticket is in a period.
IN_PERIOD: Final = {Moment.FIRST_RESPONSE: "created_at", Moment.RESOLUTION: "resolved_at"}


@dataclass(frozen=True, slots=True)
class Span:
    """A period, the time of the call, and the time that tickets may take."""

    start: datetime
    end: datetime
    now: datetime
    within: timedelta = timedelta(days=1)

    def contains(self, column: str) -> Q:
        """The condition that a time is in the period."""
        return Q(**{f"{column}__gte": self.start, f"{column}__lt": self.end})


def percentile(whose: Access, span: Span, *, moment: Moment, percent: int) -> float | None:
    """Returns a percentile in minutes, between two tickets in proportion; None without tickets.

    As `percentile_cont` of SQL, and PERCENTILE.INC of spreadsheets.
    """
    rows = _with_duration(counts.tickets(whose), moment)
    rows = rows.filter(span.contains(IN_PERIOD[moment]), duration__isnull=False)
    place, rest = divmod((rows.count() - 1) * percent, PERCENT)
    if place < 0:
        return None
    near = list(rows.order_by("duration").values_list("duration", flat=True)[place : place + 2])
    between = (near[-1] - near[0]) * rest / PERCENT
    minutes: float = (near[0] + between) / MINUTE
    return minutes


def share_in_time(whose: Access, span: Span, *, moment: Moment) -> float | None:
    """Returns which part of the tickets of a period took no longer than the time of `span`.

    A ticket that may still be in time is not counted. None without others.
    """
    rows = _with_duration(counts.tickets(whose), moment).filter(span.contains("created_at"))
    found = rows.aggregate(
        in_time=Count("pk", Q(duration__lte=span.within)),
        decided=Count("pk", Q(duration__isnull=False) | Q(created_at__lt=span.now - span.within)),
    )
    return found["in_time"] / found["decided"] if found["decided"] else None


def _with_duration(rows: QuerySet[Any], moment: Moment) -> QuerySet[Any]:
    duration = ExpressionWrapper(F(moment) - F("created_at"), output_field=DurationField())
    found: QuerySet[Any] = rows.annotate(duration=duration)
    return found
