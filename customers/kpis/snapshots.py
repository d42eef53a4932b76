"""Writes the values of the key figures of each day.

For sums over several days, the snapshot of a day also has the counts that the figures are made of,
under their own names. A day is written once it has settled: from then on, `KpiChange` has every
change of its rows. Revenue and health have no history in the rows: what they are now is recorded
every hour, and the last record of a day is what they were on it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Max, Min, Q
from django.utils import timezone

from customers.kpis import activity, changes, counts, days, figures
from customers.kpis.counts import Counts, Kind
from customers.kpis.days import Unit
from workspace import access
from workspace.access import Access
from workspace.models import KpiChange, KpiSnapshot, Organization

BATCH: Final = 2000
MAX_DAYS_AT_ONCE: Final = 366
HISTORY: Final = days.ONE_DAY * 548
# Changes are noted of rows that are older than 11 hours (workspace/migrations/_changes.py); a
# transaction that was open for an hour is noted too.
SETTLED_AFTER: Final = timedelta(hours=12)
# Figures of the accounts, which are recorded.
ACCOUNTS: Final = ("mrr", "health", "rated_companies")
MAX_CHANGES: Final = 10_000
# Days of an earlier version, or of another zone, that are written in one run.
MAX_REPLACED: Final = 92


def refresh(organization: Organization, first: date, last: date) -> int:
    """Writes the snapshots of days, replacing earlier ones; returns the number of rows.

    Days that have not settled are left out.
    """
    written = 0
    while first <= last:
        until = min(last, first + days.ONE_DAY * (MAX_DAYS_AT_ONCE - 1))
        with transaction.atomic():
            written += _write(_lock(organization), first, until, frozenset(Kind))
        first = until + days.ONE_DAY
    return written


def refresh_all(number_of_days: int) -> int:
    """Records the accounts of every organization, and writes its last days, today included."""
    written = 0
    for organization in Organization.objects.order_by("pk"):
        today = days.today(days.zone(organization))
        written += record_accounts(organization)
        written += refresh(organization, today - days.ONE_DAY * (number_of_days - 1), today)
    return written


def record_accounts(organization: Organization) -> int:
    """Records the present revenue and health; returns the number of rows."""
    now = timezone.now()
    recorded = counts.accounts_at(Access(organization.pk), now + timedelta.resolution)
    today = days.day_of(now, days.zone(organization))
    return _store(organization, [(today, name, recorded[name]) for name in ACCOUNTS], now)


def refresh_changed() -> int:
    """Writes the snapshots again whose rows changed; returns the number of rows that it wrote.

    Then those that an earlier version wrote, and those of an earlier time zone, the newest first.
    """
    KpiChange.objects.exclude(organization__in=Organization.with_sandboxes.all()).delete()
    written = 0
    for organization in Organization.with_sandboxes.order_by("pk"):
        with transaction.atomic():
            written += _write_changed(_lock(organization))
        with transaction.atomic():
            written += _replace_outdated(_lock(organization))
    return written


def _lock(organization: Organization) -> Organization:
    """Returns the organization as it is now. One process at a time writes its snapshots.

    Otherwise one could write what it counted before a change that the other one has counted.
    """
    rows = Organization.with_sandboxes.select_for_update(no_key=True)
    return rows.get(pk=organization.pk)


def _write_changed(organization: Organization) -> int:
    whose, where = Access(organization.pk), days.zone(organization)
    noted = access.key_figure_changes(whose).order_by("kind", "hour")
    found = list(noted.values_list("kind", "hour").distinct()[:MAX_CHANGES])
    snapshots = access.key_figures(whose).filter(time_zone=where.key, taken_at__isnull=False)
    oldest, newest = snapshots.aggregate(first=Min("day"), last=Max("day")).values()
    written = 0
    for kind in Kind:
        hours = [hour for name, hour in found if name == kind]
        # Before the rows are read: what is noted meanwhile stays noted.
        for start in range(0, len(hours), BATCH):
            noted.filter(kind=kind, hour__in=hours[start : start + BATCH]).delete()
        changed = set(changes.list_days(hours, where))
        # How many customers there were on each later day has changed too.
        last = newest if kind is Kind.CUSTOMERS else max(changed, default=None)
        if changed and oldest and last >= oldest:
            first = max(min(changed), oldest)
            written += _write(organization, first, min(last, newest), frozenset({kind}))
    return written


def _replace_outdated(organization: Organization) -> int:
    """Writes some days again whose snapshots are of another zone or of an earlier version."""
    whose, where = Access(organization.pk), days.zone(organization)
    recorded = Q(metric__in=ACCOUNTS, taken_at__isnull=False)
    outdated = access.key_figures(whose).exclude(time_zone=where.key).exclude(recorded)
    oldest, last = outdated.aggregate(first=Min("day"), last=Max("day")).values()
    if last is None:
        return 0
    first = max(oldest, last - days.ONE_DAY * (MAX_REPLACED - 1))
    for kind in changes.RETENTION:
        # They cannot be counted any more.
        kept = outdated.filter(metric__in=_names(kind), day__gte=first)
        kept = kept.filter(day__lt=changes.first_countable_day(kind, where))
        kept.update(time_zone=where.key, taken_at=timezone.now())
    written = _write(organization, first, last, frozenset(Kind))
    outdated.filter(day__gte=first, day__lte=last).delete()
    return written


def _names(kind: Kind) -> list[str]:
    if kind is Kind.EVENTS:
        return [*activity.ACTIVE_USERS.values()]
    counted = [name for name, one in counts.KINDS.items() if one is kind]
    return [*counted, *_figures(dict.fromkeys(counted, 0.0))]


def _write(organization: Organization, first: date, last: date, kinds: frozenset[Kind]) -> int:
    """Writes the snapshots of some kinds of the days that have settled."""
    whose, where, now = Access(organization.pk), days.zone(organization), timezone.now()
    settled = now - SETTLED_AFTER
    newest = days.day_of(settled, where) - days.ONE_DAY
    last = min(last, newest)
    written = 0
    for kind in sorted(kinds):
        # Before the rows are read: what is noted meanwhile stays noted.
        if kind is not Kind.CUSTOMERS or last == newest:
            _forget_changes(whose, where, kind, first, last)
        begins = max(first, changes.first_countable_day(kind, where))
        values = _count(whose, where, kind, (begins, last), settled) if begins <= last else ()
        written += _store(organization, values, now)
    return written


def _forget_changes(whose: Access, where: ZoneInfo, kind: Kind, first: date, last: date) -> None:
    access.key_figure_changes(whose).filter(
        kind=kind,
        hour__gte=days.midnight(first, where),
        hour__lte=days.midnight(last + days.ONE_DAY, where) - changes.HOUR,
    ).delete()


def _store(
    organization: Organization, values: Iterable[tuple[date, str, float | None]], now: datetime
) -> int:
    snapshots = [
        KpiSnapshot(
            organization=organization,
            day=day,
            metric=name,
            value=amount,
            time_zone=organization.time_zone,
            taken_at=now,
        )
        for day, name, amount in values
    ]
    KpiSnapshot.objects.bulk_create(
        snapshots,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["organization", "metric", "day"],
        update_fields=["value", "time_zone", "taken_at"],
    )
    return len(snapshots)


def _count(
    whose: Access, where: ZoneInfo, kind: Kind, span: tuple[date, date], settled: datetime
) -> Iterator[tuple[date, str, float | None]]:
    if kind is Kind.EVENTS:
        for unit, name in activity.ACTIVE_USERS.items():
            active = _active(whose, where, unit, span, settled)
            yield from ((day, name, many) for day, many in active)
        return
    covered = days.list_between(*span)
    for day, counted in zip(covered, _daily(whose, where, kind, covered), strict=True):
        yield from ((day, name, amount) for name, amount in (counted | _figures(counted)).items())


def _daily(whose: Access, where: ZoneInfo, kind: Kind, covered: Sequence[date]) -> Iterator[Counts]:
    edges = [days.midnight(day, where) for day in (*covered, covered[-1] + days.ONE_DAY)]
    names = frozenset(name for name, one in counts.KINDS.items() if one is kind)
    flows = counts.flows(whose, edges, names)
    if kind is not Kind.CUSTOMERS:
        yield from flows
        return
    customers: float = counts.customers_at(whose, edges[0])
    for flow in flows:
        at_start = customers
        customers += flow["new_customers"] - flow["churned_customers"]
        yield {**flow, "customers": customers, "customers_at_start": at_start}


def _figures(counted: Counts) -> dict[str, float | None]:
    """The figures that these counts are all of."""
    return {
        name: figures.value(figure, counted)
        for name, figure in figures.FIGURES.items()
        if figure.count in counted and (not figure.of or figure.of in counted)
    }


def _active(
    whose: Access, where: ZoneInfo, unit: Unit, span: tuple[date, date], settled: datetime
) -> Iterator[tuple[date, int]]:
    """The active users of the days, weeks or months that have settled, by their first day."""
    firsts = days.beginnings(unit, *span)
    edges = [days.midnight(day, where) for day in (*firsts, days.next_beginning(unit, firsts[-1]))]
    while len(edges) > 1 and edges[-1] > settled:
        edges.pop()
    # A week or month that began before rows were deleted cannot be counted.
    first = changes.first_countable_day(Kind.EVENTS, where)
    while len(edges) > 1 and days.day_of(edges[0], where) < first:
        edges.pop(0)
        firsts.pop(0)
    if len(edges) > 1:
        yield from zip(firsts, activity.active_users(whose, edges), strict=False)
