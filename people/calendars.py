"""Which public holidays a person has: each day by the calendar that they have on that day.

A calendar is that of the person's employment, else that of their work place, else the default of
the organization. The employment history says from which day on each holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from people import access, changes, working_time
from people.models import HolidayCalendar, Person, PublicHoliday


@dataclass(frozen=True, slots=True)
class HolidayPeriod:
    """A calendar from a day on, up to the next period; None if the organization has no default."""

    starts_on: date
    calendar_id: str | None


def find_default(organization_id: UUID) -> HolidayCalendar | None:
    """Returns the calendar of people who have none otherwise."""
    return access.rows(HolidayCalendar, organization_id).filter(is_default=True).first()


def has_several(organization_id: UUID) -> bool:
    """Returns whether an organization has calendars besides the default."""
    return access.rows(HolidayCalendar, organization_id).filter(is_default=False).exists()


def make_default(calendar: HolidayCalendar) -> None:
    """Makes a calendar the default of its organization in place of another."""
    with transaction.atomic():
        before = access.rows(HolidayCalendar, calendar.organization_id).select_for_update()
        for one in before.filter(is_default=True).exclude(pk=calendar.pk):
            changes.apply(one, {"is_default": False})
        changes.apply(calendar, {"is_default": True})


def find_holidays(person: Person, start: date, end: date) -> Mapping[date, Decimal]:
    """Returns a person's public holidays of a period, each with the part that is not worked."""
    default = find_default(person.organization_id)
    default_id = default.pk if default else None
    periods = _list_periods(person, default_id)
    named = {one.calendar_id for one in periods} - {None}
    rows = access.rows(PublicHoliday, person.organization_id).filter(
        Q(calendar__in=named) | Q(calendar=None), date__range=(start, end)
    )
    return working_time.free_parts(
        row
        for row in rows
        if (row.calendar_id or default_id) == _find_period(periods, row.date).calendar_id
    )


def list_holidays(calendar: HolidayCalendar) -> QuerySet[PublicHoliday]:
    """Returns the holidays of a calendar; those without one belong to the default."""
    own = Q(calendar=calendar)
    if calendar.is_default:
        own |= Q(calendar=None)
    return access.rows(PublicHoliday, calendar.organization_id).filter(own)


def _list_periods(person: Person, default_id: str | None) -> list[HolidayPeriod]:
    """The calendars of a person's employment, the first one since ever."""
    history = person.employment_history.order_by("effective_from").values_list(
        "effective_from", "holiday_calendar_id", "work_place__holiday_calendar_id"
    )
    periods = [HolidayPeriod(day, own or place or default_id) for day, own, place in history]
    if periods:
        return [HolidayPeriod(date.min, periods[0].calendar_id), *periods[1:]]
    of_place = person.work_place.holiday_calendar_id if person.work_place else None
    return [HolidayPeriod(date.min, person.holiday_calendar_id or of_place or default_id)]


def _find_period(periods: list[HolidayPeriod], day: date) -> HolidayPeriod:
    return next(one for one in reversed(periods) if one.starts_on <= day)
