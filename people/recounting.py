"""Requests are counted again when the public holidays of their days change.

The leave years that have ended stay as they were counted. Each request that has another length then
is named with the one before, so that the caller can put both on record.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import transaction
from django.db.models import Q

from people import access, balances, calendars, changes, days, time_off
from people.models import Person, TimeOff
from people.models.time_off import BLOCKING
from workspace.models import Organization


@dataclass(frozen=True, slots=True)
class RecountedRequest:
    """A request whose length has changed, and what it was in days before."""

    row: TimeOff
    before: Decimal


def recount_days(
    organization: Organization, calendar_ids: Collection[str | None], dates: Collection[date]
) -> list[RecountedRequest]:
    """Counts those requests again that have one of the dates, and one of the calendars on it."""
    first_day = _find_first_open_day(organization)
    changed = [day for day in dates if day >= first_day]
    if not changed:
        return []
    with transaction.atomic():
        within = Q(start_date__lte=max(changed), end_date__gte=min(changed))
        rows = _lock_requests(organization, within)
        return _recount(row for row in rows if _has_holiday(row, calendar_ids, changed))


def recount_requests(organization: Organization, concerned: Q) -> list[RecountedRequest]:
    """Counts the requests again that meet a condition and end in an open leave year."""
    with transaction.atomic():
        still_open = Q(end_date__gte=_find_first_open_day(organization))
        return _recount(_lock_requests(organization, concerned & still_open))


def _find_first_open_day(organization: Organization) -> date:
    settings = balances.settings_of(organization.pk)
    return balances.leave_year(settings, days.today(organization)).starts_on


def _lock_requests(organization: Organization, condition: Q) -> Iterable[TimeOff]:
    """The pending and approved requests that meet a condition, locked with their people."""
    rows = access.rows(TimeOff, organization.pk).filter(condition, status__in=BLOCKING)
    people = access.rows(Person, organization.pk).filter(pk__in=rows.values("person"))
    # Whatever changes a request locks the person first.
    list(people.order_by("pk").select_for_update().values_list("pk"))
    related = ("category", "person__working_pattern", "person__work_place")
    return rows.order_by("pk").select_for_update(of=("self",)).select_related(*related)


def _has_holiday(
    row: TimeOff, calendar_ids: Collection[str | None], dates: Collection[date]
) -> bool:
    own = [day for day in dates if row.start_date <= day <= row.end_date]
    return any(calendars.find_calendar_id(row.person, day) in calendar_ids for day in own)


def _recount(rows: Iterable[TimeOff]) -> list[RecountedRequest]:
    found = []
    for row in rows:
        before, taken = row.amount_days, time_off.amount(row, row.start_date, row.end_date)
        changes.apply(row, {"amount_days": taken.days, "amount_minutes": taken.minutes})
        if taken.days != before:
            found.append(RecountedRequest(row, before))
    return found
