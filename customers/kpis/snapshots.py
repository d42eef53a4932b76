"""Writes the values of the key figures of each day.

For sums over several days, the snapshot of a day also has the counts that the figures are made of,
under their own names.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, Final
from zoneinfo import ZoneInfo

from customers.kpis import activity, counts, days, figures
from customers.kpis.counts import Counts
from customers.kpis.days import Unit
from workspace.access import Access
from workspace.models import KpiSnapshot, Organization

BATCH: Final = 2000
MAX_DAYS_AT_ONCE: Final = 366
HISTORY: Final = days.ONE_DAY * 548


def refresh(organization: Organization, first: date, last: date) -> int:
    """Writes the snapshots of days, replacing earlier ones; returns the number of rows.

    Days after today are left out.
    """
    where = days.zone(organization)
    last = min(last, days.today(where))
    written = 0
    while first <= last:
        until = min(last, first + days.ONE_DAY * (MAX_DAYS_AT_ONCE - 1))
        written += _write(organization, days.list_between(first, until))
        first = until + days.ONE_DAY
    return written


def refresh_all(number_of_days: int) -> int:
    """Writes the snapshots of the last days, today included, of every organization."""
    written = 0
    for organization in Organization.objects.order_by("pk"):
        today = days.today(days.zone(organization))
        written += refresh(organization, today - days.ONE_DAY * (number_of_days - 1), today)
    return written


def _write(organization: Organization, covered: Sequence[date]) -> int:
    whose, where = Access(organization.pk), days.zone(organization)
    snapshots = [
        KpiSnapshot(organization=organization, day=day, metric=name, value=amount)
        for day, counted in zip(covered, _daily(whose, where, covered), strict=True)
        for name, amount in (counted | _figures(counted)).items()
    ]
    snapshots += [
        KpiSnapshot(organization=organization, day=day, metric=name, value=active)
        for unit, name in activity.ACTIVE_USERS.items()
        for day, active in _active(whose, where, unit, covered)
    ]
    KpiSnapshot.objects.bulk_create(
        snapshots,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["organization", "metric", "day"],
        update_fields=["value"],
    )
    return len(snapshots)


def _daily(whose: Access, where: ZoneInfo, covered: Sequence[date]) -> Iterator[dict[str, Any]]:
    edges = [days.midnight(day, where) for day in (*covered, covered[-1] + days.ONE_DAY)]
    customers: float = counts.customers_at(whose, edges[0])
    for flows, accounts in zip(
        counts.flows(whose, edges), counts.accounts(whose, edges), strict=True
    ):
        at_start = customers
        customers += flows["new_customers"] - flows["churned_customers"]
        yield {**flows, **accounts, "customers": customers, "customers_at_start": at_start}


def _figures(counted: Counts) -> dict[str, float | None]:
    return {name: figures.value(figure, counted) for name, figure in figures.FIGURES.items()}


def _active(
    whose: Access, where: ZoneInfo, unit: Unit, covered: Sequence[date]
) -> Iterator[tuple[date, int]]:
    firsts = days.beginnings(unit, covered[0], covered[-1])
    edges = [days.midnight(day, where) for day in (*firsts, days.next_beginning(unit, firsts[-1]))]
    return zip(firsts, activity.active_users(whose, edges), strict=True)
