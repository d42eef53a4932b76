"""Which days of the past have other rows than when their snapshots were written."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.conf import settings

from customers.kpis import days
from customers.kpis.counts import Kind
from workspace import access
from workspace.access import Access

HOUR: Final = timedelta(hours=1)
# For how long rows are kept. The counts of days before that stay as they were.
RETENTION: Final[Mapping[Kind, str]] = {
    Kind.TICKETS: "HALO_RETENTION_TICKETS_DAYS",
    Kind.CONVERSATIONS: "HALO_RETENTION_CONVERSATIONS_DAYS",
    Kind.EVENTS: "HALO_RETENTION_EVENTS_DAYS",
}


def first_countable_day(kind: Kind, where: ZoneInfo) -> date:
    """Returns the first day of which no rows of a kind were deleted because of their age."""
    kept = getattr(settings, RETENTION[kind]) if kind in RETENTION else 0
    return days.today(where) - days.ONE_DAY * (kept - 1) if kept else date.min


def list_hours(
    whose: Access, where: ZoneInfo, kind: Kind, start: datetime | None, end: datetime
) -> list[datetime]:
    """Returns the hours up to a moment, and from another one on, that have other rows now."""
    rows = access.key_figure_changes(whose).filter(kind=kind, hour__lt=end)
    if start is not None:
        rows = rows.filter(hour__gt=start - HOUR)
    first = first_countable_day(kind, where)
    found = rows.order_by().values_list("hour", flat=True).distinct()
    return [hour for hour in found if days.day_of(hour + HOUR, where) >= first]


def list_days(hours: Iterable[datetime], where: ZoneInfo) -> Iterator[date]:
    """Yields the days of hours; where a day begins within an hour, both of them."""
    for hour in hours:
        yield days.day_of(hour, where)
        yield days.day_of(hour + HOUR - timedelta.resolution, where)
