"""How much happened in each hour, day, week or month of a period.

Days that are over are read from the snapshots of `snapshots` where there are any, because to
count the different people in a year of events takes seconds. Everything else is counted.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db.models import Aggregate, Count, F, Min, QuerySet
from django.db.models.expressions import Combinable
from django.utils import timezone

from customers.kpis import changes, counts, days
from customers.kpis.buckets import Bytewise, Edges, sum_by_interval
from customers.kpis.counts import Kind
from customers.kpis.days import Unit
from workspace import access
from workspace.access import Access
from workspace.models import STARTED, Event

HOUR: Final = timedelta(hours=1)
LENGTHS: Final = {
    Unit.HOUR: HOUR,
    Unit.DAY: days.ONE_DAY,
    Unit.WEEK: days.ONE_DAY * 7,
    Unit.MONTH: days.ONE_DAY * 28,
}
# Of the rows of a metric, at most one of so many, and at most so many, are taken for outliers.
ONE_OF: Final = 100
MAX_OUTLIERS: Final = 1_000
# They lie before a gap of this length.
MAX_GAP: Final = days.ONE_DAY * 730
# At most so many stretches without snapshots are counted one by one.
MAX_STRETCHES: Final = 4


def _events_of_customers(whose: Access) -> QuerySet[Event]:
    return access.events(whose).filter(customer__isnull=False)


@dataclass(frozen=True, slots=True)
class Metric:
    """Rows that count at a moment of theirs, and the snapshots with the same count."""

    kind: Kind
    rows: Callable[[Access], QuerySet[Any]]
    moment: Combinable
    company: str
    count: Aggregate
    snapshots: Mapping[Unit, str]


def _daily(name: str) -> Mapping[Unit, str]:
    """Snapshots of days, which add up to weeks and months."""
    return dict.fromkeys((Unit.DAY, Unit.WEEK, Unit.MONTH), name)


# In the day, week or month that begins on the snapshot's day: people do not add up.
ACTIVE_USERS: Final = {
    Unit.DAY: "active_users",
    Unit.WEEK: "active_users_week",
    Unit.MONTH: "active_users_month",
}
METRICS: Final = {
    "active_users": Metric(
        Kind.EVENTS,
        _events_of_customers,
        F("at"),
        "customer__company",
        Count(Bytewise("customer"), distinct=True),
        ACTIVE_USERS,
    ),
    "new_users": Metric(
        Kind.CUSTOMERS,
        counts.customers,
        STARTED,
        "company",
        Count("pk"),
        _daily("new_customers"),
    ),
    "conversations": Metric(
        Kind.CONVERSATIONS,
        access.conversations,
        F("started_at"),
        "company",
        Count("pk"),
        _daily("conversations"),
    ),
    "tickets": Metric(
        Kind.TICKETS,
        counts.tickets,
        F("created_at"),
        "company",
        Count("pk"),
        _daily("tickets"),
    ),
}


@dataclass(frozen=True, slots=True)
class Interval:
    """An hour, day, week or month, or the part of it that lies in a period; its days."""

    start: datetime
    end: datetime
    first: date
    last: date
    is_complete: bool


def intervals(unit: Unit, where: ZoneInfo, start: datetime, end: datetime) -> list[Interval]:
    """Returns all intervals from a moment up to another one, which is not in the future."""
    return [
        Interval(
            max(begins, start),
            min(ends, end),
            days.day_of(begins, where),
            days.day_of(ends - timedelta.resolution, where),
            is_complete=start <= begins and ends <= end,
        )
        for begins, ends in pairwise(_edges(unit, where, start, end))
    ]


def number_of(unit: Unit, start: datetime, end: datetime) -> int:
    """Returns about how many intervals there are: exactly, but for one at each end."""
    return -(-(end - start) // LENGTHS[unit])


def first_of(whose: Access, metric: str, company: str = "") -> datetime | None:
    """Returns when the first row of a metric was; None without any."""
    rows = _rows(whose, metric, company)
    found: datetime | None = rows.aggregate(first=Min(METRICS[metric].moment))["first"]
    return found


def first_moment(whose: Access) -> datetime | None:
    """Returns when the first row of any metric was."""
    found = [first_of(whose, metric) for metric in METRICS]
    return min(filter(None, found), default=None)


@dataclass(frozen=True, slots=True)
class Beginning:
    """When the ordinary rows of a metric begin, and how many lie far before them."""

    start: datetime
    first: datetime
    left_out: int = 0


def find_beginning(whose: Access, metric: str, company: str = "") -> Beginning | None:
    """Returns where the curve of a metric begins; None without any row.

    A few rows of a wrong clock, such as those of 1970, are left out: at most a hundredth of all,
    before a gap of years.
    """
    first = first_of(whose, metric, company)
    if first is None:
        return None
    if timezone.now() - first <= MAX_GAP:
        return Beginning(first, first)
    moment = METRICS[metric].moment
    rows = _rows(whose, metric, company).annotate(counted_at=moment).order_by("counted_at")
    many = rows[: MAX_OUTLIERS * ONE_OF].count()
    limit = max(1, many // ONE_OF)
    earliest = list(rows.values_list("counted_at", flat=True)[: limit + 1])
    gaps = [
        number
        for number, (before, after) in enumerate(pairwise(earliest), start=1)
        if after - before > MAX_GAP
    ]
    left_out = gaps[-1] if gaps else 0
    return Beginning(earliest[left_out], first, left_out)


def _rows(whose: Access, metric: str, company: str) -> QuerySet[Any]:
    counted = METRICS[metric]
    rows = counted.rows(whose)
    return rows.filter(**{counted.company: company}) if company else rows


def series(
    whose: Access,
    where: ZoneInfo,
    metric: str,
    *,
    unit: Unit,
    parts: Sequence[Interval],
    company: str = "",
) -> list[int]:
    """Returns the count of each interval; of one company only if its id is given."""
    counted = METRICS[metric]
    rows = _rows(whose, metric, company)
    is_everything = not (company or whose.customer_id) and unit in counted.snapshots
    known = _snapshots(whose, where, counted, unit, parts) if is_everything else {}
    for stretch in _stretches(len(parts), known):
        edges = [*(parts[number].start for number in stretch), parts[stretch[-1]].end]
        found = _counts(counted, rows, edges)
        known.update(zip(stretch, found, strict=True))
    return [known[number] for number in range(len(parts))]


def active_users(whose: Access, edges: Edges) -> list[int]:
    """Returns how many different customers had an event in each interval between two edges."""
    active = METRICS["active_users"]
    return _counts(active, active.rows(whose), edges)


def _counts(metric: Metric, rows: QuerySet[Any], edges: Edges) -> list[int]:
    found = sum_by_interval(rows, metric.moment, edges, many=metric.count)
    return [found[number]["many"] if number in found else 0 for number in range(len(edges) - 1)]


def _edges(unit: Unit, where: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    if unit is not Unit.HOUR:
        last = days.day_of(end - timedelta.resolution, where)
        firsts = days.beginnings(unit, days.day_of(start, where), last)
        firsts.append(days.next_beginning(unit, firsts[-1]))
        return [days.midnight(first, where) for first in firsts]
    # The full hour on the clocks of the zone.
    edges = [start - timedelta(minutes=start.astimezone(where).minute)]
    edges[0] = edges[0].replace(second=0, microsecond=0)
    while edges[-1] < end:
        edges.append(edges[-1] + HOUR)
    return edges


def _snapshots(
    whose: Access, where: ZoneInfo, metric: Metric, unit: Unit, parts: Sequence[Interval]
) -> dict[int, int]:
    """The counts of complete intervals, by number, that have every snapshot that they need.

    Those with changes since are left out.
    """
    rows = access.key_figures(whose).filter(
        metric=metric.snapshots[unit],
        day__gte=parts[0].first,
        day__lte=parts[-1].last,
        time_zone=where.key,
        taken_at__isnull=False,
    )
    firsts = [part.first for part in parts]
    totals, many = [0.0] * len(parts), [0] * len(parts)
    for day, value in rows.values_list("day", "value"):
        number = bisect_right(firsts, day) - 1
        totals[number] += value or 0
        many[number] += 1
    changed = set(_list_changed(whose, where, metric, parts))
    return {
        number: int(totals[number])
        for number, part in enumerate(parts)
        if part.is_complete
        and number not in changed
        and many[number] == _required_snapshots(metric, part)
    }


def _list_changed(
    whose: Access, where: ZoneInfo, metric: Metric, parts: Sequence[Interval]
) -> Iterator[int]:
    starts = [part.start for part in parts]
    span = parts[0].start, parts[-1].end
    for hour in changes.list_hours(whose, where, metric.kind, *span):
        for moment in (hour, hour + HOUR - timedelta.resolution):
            yield bisect_right(starts, moment) - 1


def _required_snapshots(metric: Metric, part: Interval) -> int:
    return 1 if metric.snapshots is ACTIVE_USERS else (part.last - part.first).days + 1


def _stretches(many: int, known: dict[int, int]) -> list[list[int]]:
    """The numbers that are not known, each stretch without a gap; all of them if there are many."""
    stretches = [
        list(numbers)
        for is_known, numbers in groupby(range(many), known.__contains__)
        if not is_known
    ]
    if len(stretches) <= MAX_STRETCHES:
        return stretches
    known.clear()
    return [list(range(many))]
