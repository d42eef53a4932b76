"""Requests are counted again when the public holidays of their days change.

The leave years that have ended stay as they were counted. Each request that has another length then
is named with the one before, so that the caller can put both on record.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from django.db import transaction
from django.db.models import Q

from people import access, balances, calendars, changes, days, time_off
from people.calendars import HolidayPeriod
from people.models import Person, TimeOff
from people.models.time_off import BLOCKING
from workspace.models import Organization

# Requests that are counted with the same statements.
BATCH: Final = 500


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
        found: list[RecountedRequest] = []
        for rows in _divide(_lock_requests(organization, within)):
            periods = calendars.find_periods_of(_list_people(rows))
            found += _recount(
                [
                    row
                    for row in rows
                    if _has_holiday(row, periods[row.person_id], calendar_ids, changed)
                ]
            )
        return found


def recount_requests(organization: Organization, concerned: Q) -> list[RecountedRequest]:
    """Counts the requests again that meet a condition and end in an open leave year."""
    with transaction.atomic():
        still_open = Q(end_date__gte=_find_first_open_day(organization))
        rows = _divide(_lock_requests(organization, concerned & still_open))
        return [one for batch in rows for one in _recount(batch)]


def _find_first_open_day(organization: Organization) -> date:
    settings = balances.settings_of(organization.pk)
    return balances.leave_year(settings, days.today(organization)).starts_on


def _lock_requests(organization: Organization, condition: Q) -> Sequence[TimeOff]:
    """The pending and approved requests that meet a condition, locked with their people."""
    rows = access.rows(TimeOff, organization.pk).filter(condition, status__in=BLOCKING)
    people = access.rows(Person, organization.pk).filter(pk__in=rows.values("person"))
    # Whatever changes a request locks the person first.
    list(people.order_by("pk").select_for_update().values_list("pk"))
    related = ("category", "person__working_pattern", "person__work_place")
    found = rows.order_by("person_id", "pk").select_for_update(of=("self",))
    return list(found.select_related(*related))


def _divide(rows: Sequence[TimeOff]) -> Iterator[Sequence[TimeOff]]:
    for first in range(0, len(rows), BATCH):
        yield rows[first : first + BATCH]


def _list_people(rows: Sequence[TimeOff]) -> Sequence[Person]:
    return list({row.person_id: row.person for row in rows}.values())


def _has_holiday(
    row: TimeOff,
    periods: Sequence[HolidayPeriod],
    calendar_ids: Collection[str | None],
    dates: Collection[date],
) -> bool:
    own = [day for day in dates if row.start_date <= day <= row.end_date]
    return any(calendars.find_calendar_id(periods, day) in calendar_ids for day in own)


def _recount(rows: Sequence[TimeOff]) -> list[RecountedRequest]:
    """Counts requests with the same statements for many as for one, but for those that change."""
    if not rows:
        return []
    people = _list_people(rows)
    first, last = min(row.start_date for row in rows), max(row.end_date for row in rows)
    holidays = calendars.find_holidays_of(people, first, last)
    weeks = time_off.find_weeks_of(people)
    found = []
    for row in rows:
        before, key = row.amount_days, row.person_id
        taken = time_off.amount(
            row, row.start_date, row.end_date, holidays=holidays[key], weeks=weeks[key]
        )
        changes.apply(row, {"amount_days": taken.days, "amount_minutes": taken.minutes})
        if taken.days != before:
            found.append(RecountedRequest(row, before))
    return found
