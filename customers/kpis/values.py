"""The values of key figures in a period.

Days that are over are added up from their snapshots. What is newer, has no snapshot, or has changed
since, is counted in the tables: the values are right without any snapshot, but take longer.
Revenue and health are those of now, or recorded on a day in the past.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Q, Sum

from customers.kpis import changes, counts, days, figures
from customers.kpis.counts import Counts, Kind
from customers.kpis.durations import Span
from customers.kpis.snapshots import ACCOUNTS
from workspace import access
from workspace.access import Access

# The greatest age of a recorded amount that is used for a moment.
FRESH: Final = days.ONE_DAY
# Of changed days between snapshots, so many are counted one by one.
MAX_CHANGED: Final = 4


class Amounts(StrEnum):
    """Which amounts a revenue or a health score is made of."""

    NOW = "now"
    RECORDED = "recorded"
    PRESENT = "present amounts of who was active then"


@dataclass(frozen=True, slots=True)
class FigureValue:
    """A value; `amounts` and `as_of`, when they were recorded, of revenue and health only."""

    value: float | None
    amounts: Amounts | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Accounts:
    found: Counts
    amounts: Amounts
    as_of: datetime | None = None


def values(
    whose: Access, where: ZoneInfo, span: Span, names: Sequence[str]
) -> dict[str, FigureValue]:
    """Returns the values of figures in a period, which does not end in the future.

    No value where there is nothing to divide by. Raises CannotNarrow for a bound call.
    """
    access.key_figures(whose)
    chosen = {name: figures.ALL_FIGURES[name] for name in names}
    wanted = frozenset(name for one in chosen.values() for name in (one.count, one.of) if name)
    found = _flows(whose, where, (span.start, span.end), wanted & counts.FLOW_NAMES)
    if "customers" in wanted:
        found["customers"] = _customers(whose, where, span.end)
    if "customers_at_start" in wanted:
        found["customers_at_start"] = _customers(whose, where, span.start)
    accounts = _accounts(whose, span) if wanted.intersection(ACCOUNTS) else None
    result = {}
    for name, figure in chosen.items():
        if figure.compute is not None:
            result[name] = FigureValue(figure.compute(whose, span))
        elif accounts is not None and figure.count in ACCOUNTS:
            amount = figures.value(figure, accounts.found)
            result[name] = FigureValue(amount, accounts.amounts, accounts.as_of)
        else:
            result[name] = FigureValue(figures.value(figure, found))
    return result


def _flows(
    whose: Access, where: ZoneInfo, period: tuple[datetime, datetime], wanted: frozenset[str]
) -> Counts:
    """Sums of snapshots from the first to the last one, and counts of what has none."""
    totals: Counts = dict.fromkeys(wanted, 0)
    changed = _list_changed_days(whose, where, period, wanted)
    snapshots = _sums(whose, where, period, wanted, changed) if wanted else None
    spans = [period]
    if snapshots is not None:
        first, last, totals = snapshots
        spans = list(_list_counted_spans(where, period, (first, last), changed))
    for span in spans if wanted else ():
        counted = counts.flows(whose, span, wanted)[0]
        totals = {name: totals[name] + counted[name] for name in wanted}
    return totals


def _list_changed_days(
    whose: Access, where: ZoneInfo, period: tuple[datetime, datetime], wanted: frozenset[str]
) -> list[date]:
    kinds = {counts.KINDS[name] for name in wanted}
    hours = [hour for kind in kinds for hour in changes.list_hours(whose, where, kind, *period)]
    return sorted(set(changes.list_days(hours, where)))


def _list_counted_spans(
    where: ZoneInfo,
    period: tuple[datetime, datetime],
    snapshots: tuple[date, date],
    changed: Sequence[date],
) -> Iterator[tuple[datetime, datetime]]:
    """Yields what is before, between and after snapshots."""
    first, last = snapshots
    edges = [period[0], days.midnight(first, where)]
    for day in changed:
        if first <= day <= last:
            edges += [days.midnight(day, where), _end_of(day, where)]
    edges += [_end_of(last, where), period[1]]
    for number, (start, end) in enumerate(pairwise(edges)):
        if number % 2 == 0 and start < end:
            yield start, end


def _sums(
    whose: Access,
    where: ZoneInfo,
    period: tuple[datetime, datetime],
    wanted: frozenset[str],
    changed: Sequence[date],
) -> tuple[date, date, Counts] | None:
    """The first and the last snapshot in a period, and the sums without the days that changed.

    None if another day between has no snapshot, or too many changed to be counted one by one.
    """
    first, after = days.day_of(period[0], where), days.day_of(period[1], where)
    if days.midnight(first, where) < period[0]:
        first += days.ONE_DAY
    last = after - days.ONE_DAY
    if len(changed) > MAX_CHANGED:
        return None
    rows = access.key_figures(whose).filter(
        *(~Q(day=day) for day in changed),
        metric__in=wanted,
        day__gte=first,
        day__lte=last,
        time_zone=where.key,
        taken_at__isnull=False,
    )
    sums = rows.values_list("metric").annotate(Sum("value"), Min("day"), Max("day"), Count("pk"))
    found = list(sums.order_by())
    spans = {(begins, ends, many) for *_, begins, ends, many in found}
    if len(found) < len(wanted) or len(spans) > 1:
        return None
    begins, ends, many = spans.pop()
    between = sum(begins <= day <= ends for day in changed)
    if (ends - begins).days + 1 != many + between:
        return None
    return begins, ends, {name: total for name, total, *_ in found}


def _customers(whose: Access, where: ZoneInfo, moment: datetime) -> float:
    """Customers at a moment: those of the last snapshot, and how many came and went since."""
    last = days.day_of(moment, where) - days.ONE_DAY
    hours = changes.list_hours(whose, where, Kind.CUSTOMERS, None, moment)
    if hours:
        last = min(last, days.day_of(min(hours), where) - days.ONE_DAY)
    snapshots = access.key_figures(whose).filter(
        metric="customers", day__lte=last, time_zone=where.key, taken_at__isnull=False
    )
    newest = snapshots.order_by("-day").values_list("day", "value").first()
    if newest is None:
        return counts.customers_at(whose, moment)
    day, customers = newest
    span = _end_of(day, where), moment
    if span[0] == moment:
        return customers or 0
    (since,) = counts.flows(whose, span, frozenset({"new_customers", "churned_customers"}))
    return (customers or 0) + since["new_customers"] - since["churned_customers"]


def _accounts(whose: Access, span: Span) -> _Accounts:
    """The accounts now, or as they were last recorded before the end of a period."""
    end = span.end
    if end >= span.now:
        return _Accounts(counts.accounts_at(whose, end), Amounts.NOW)
    records = access.key_figures(whose).filter(
        metric__in=ACCOUNTS, taken_at__gt=end - FRESH, taken_at__lte=end
    )
    rows = list(records.order_by("taken_at").values_list("metric", "value", "taken_at"))
    recorded = {name: amount or 0 for name, amount, at in rows if at == rows[-1][2]}
    if len(recorded) == len(ACCOUNTS):
        return _Accounts(recorded, Amounts.RECORDED, rows[-1][2])
    return _Accounts(counts.accounts_at(whose, end), Amounts.PRESENT)


def _end_of(day: date, where: ZoneInfo) -> datetime:
    return days.midnight(day + days.ONE_DAY, where)
