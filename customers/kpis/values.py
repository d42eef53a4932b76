"""The values of key figures in a period.

Days that are over are added up from their snapshots. What is newer, or has no snapshot, is counted
in the tables: the values are right without any snapshot, but take longer.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Sum

from customers.kpis import counts, days, figures
from customers.kpis.counts import Counts
from workspace import access
from workspace.access import Access

ACCOUNTS: Final = ("mrr", "health", "rated_companies")
# How old a snapshot of the accounts may be to stand for the last day of a period.
FRESH: Final = days.ONE_DAY


def values(
    whose: Access, where: ZoneInfo, start: datetime, end: datetime, names: Sequence[str]
) -> dict[str, float | None]:
    """Returns the values of figures from a moment up to another one, which is not in the future.

    None where there is nothing to divide by. Raises CannotNarrow for a bound call.
    """
    chosen = {name: figures.FIGURES[name] for name in names}
    wanted = frozenset(name for one in chosen.values() for name in (one.count, one.of) if name)
    found = _flows(whose, where, (start, end), wanted & counts.FLOW_NAMES)
    if "customers" in wanted:
        found["customers"] = _customers(whose, where, end)
    if "customers_at_start" in wanted:
        found["customers_at_start"] = _customers(whose, where, start)
    if wanted.intersection(ACCOUNTS):
        found |= _accounts(whose, where, end)
    return {name: figures.value(figure, found) for name, figure in chosen.items()}


def _flows(
    whose: Access, where: ZoneInfo, period: tuple[datetime, datetime], wanted: frozenset[str]
) -> Counts:
    """Sums of snapshots from the first to the last one, and counts of what is before and after."""
    start, end = period
    totals: Counts = dict.fromkeys(wanted, 0)
    snapshots = _sums(whose, where, period, wanted) if wanted else None
    if snapshots is None:
        spans = [(start, end)]
    else:
        first, last, totals = snapshots
        spans = [(start, days.midnight(first, where)), (_end_of(last, where), end)]
    for span in spans:
        if span[0] < span[1] and wanted:
            counted = counts.flows(whose, span, wanted)[0]
            totals = {name: totals[name] + counted[name] for name in wanted}
    return totals


def _sums(
    whose: Access, where: ZoneInfo, period: tuple[datetime, datetime], wanted: frozenset[str]
) -> tuple[date, date, Counts] | None:
    """The first and the last snapshot in a period, and the sums; None if a day between has none."""
    first, after = days.day_of(period[0], where), days.day_of(period[1], where)
    if days.midnight(first, where) < period[0]:
        first += days.ONE_DAY
    last = min(after - days.ONE_DAY, days.last_final(where))
    rows = access.key_figures(whose).filter(metric__in=wanted, day__gte=first, day__lte=last)
    sums = rows.values_list("metric").annotate(Sum("value"), Min("day"), Max("day"), Count("pk"))
    found = list(sums.order_by())
    spans = {
        (begins, ends, ends - begins + days.ONE_DAY * (1 - many))
        for *_, begins, ends, many in found
    }
    if len(found) < len(wanted) or len(spans) > 1:
        return None
    begins, ends, missing = spans.pop()
    return None if missing else (begins, ends, {name: total for name, total, *_ in found})


def _customers(whose: Access, where: ZoneInfo, moment: datetime) -> float:
    """Customers at a moment: those of the last snapshot, and how many came and went since."""
    last = min(days.day_of(moment, where) - days.ONE_DAY, days.last_final(where))
    snapshots = access.key_figures(whose).filter(metric="customers", day__lte=last)
    newest = snapshots.order_by("-day").values_list("day", "value").first()
    if newest is None:
        return counts.customers_at(whose, moment)
    day, customers = newest
    span = _end_of(day, where), moment
    if span[0] == moment:
        return customers or 0
    (since,) = counts.flows(whose, span, frozenset({"new_customers", "churned_customers"}))
    return (customers or 0) + since["new_customers"] - since["churned_customers"]


def _accounts(whose: Access, where: ZoneInfo, end: datetime) -> Counts:
    """The accounts on the last day of a period, or the day before."""
    last = days.day_of(end - timedelta.resolution, where)
    rows = access.key_figures(whose).filter(
        metric__in=ACCOUNTS, day__lte=last, day__gte=last - FRESH
    )
    newest = dict(rows.order_by("day").values_list("metric", "value"))
    if len(newest) == len(ACCOUNTS):
        return {name: amount or 0 for name, amount in newest.items()}
    return counts.accounts(whose, (end - days.ONE_DAY, end))[0]


def _end_of(day: date, where: ZoneInfo) -> datetime:
    return days.midnight(day + days.ONE_DAY, where)
