"""Which public holidays a person has: each day by the calendar that they have on that day.

A calendar is that of the person's employment, else that of their work place, else the default of
the organization. The employment history says from which day on each holds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final, TypeAlias
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from people import access, changes, national_holidays, working_time
from people.employment_history import EmploymentHistory, Terms, find_history
from people.models import HolidayCalendar, Person, PublicHoliday

MAX_NAME: Final = 100
# The part of each public holiday that is not worked.
Holidays: TypeAlias = Mapping[date, Decimal]


def find_default(organization_id: UUID) -> HolidayCalendar | None:
    """Returns the calendar of people who have none otherwise."""
    return access.rows(HolidayCalendar, organization_id).filter(is_default=True).first()


def has_several(organization_id: UUID) -> bool:
    """Returns whether an organization has calendars besides the default."""
    return access.rows(HolidayCalendar, organization_id).filter(is_default=False).exists()


def make_default(calendar: HolidayCalendar) -> None:
    """Makes a calendar the default of its organization in place of another.

    Holidays without a calendar stay with the one that was the default.
    """
    with transaction.atomic():
        rows = access.rows(HolidayCalendar, calendar.organization_id).order_by("pk")
        locked = {one.pk: one for one in rows.select_for_update()}
        chosen = locked.pop(calendar.pk)
        for one in locked.values():
            if one.is_default:
                _take_in_holidays(one)
                changes.apply(one, {"is_default": False})
        changes.apply(chosen, {"is_default": True})
    calendar.refresh_from_db()


def _take_in_holidays(default: HolidayCalendar) -> None:
    """Gives the holidays without a calendar to the default, one for each day."""
    rows = list(list_holidays(default))
    kept = {row.pk for row in merge_holidays(rows, default.pk)}
    access.rows(PublicHoliday, default.organization_id).filter(
        pk__in=[row.pk for row in rows if row.pk not in kept]
    ).delete()
    for row in rows:
        if row.pk in kept and row.calendar_id is None:
            changes.apply(row, {"calendar": default})


def merge_holidays(
    rows: Iterable[PublicHoliday], default_id: str | None
) -> Sequence[PublicHoliday]:
    """Returns one holiday for each day of a calendar, by day: a whole one before a half one.

    A day can have two in the default, which has those without a calendar too.
    """
    found: dict[tuple[str | None, date], PublicHoliday] = {}
    for row in sorted(rows, key=lambda row: (row.is_half_day, row.calendar_id is None)):
        found.setdefault((row.calendar_id or default_id, row.date), row)
    return sorted(found.values(), key=lambda row: (row.date, row.pk))


def find_holidays(person: Person, start: date, end: date) -> Holidays:
    """Returns a person's public holidays of a period, each with the part that is not worked."""
    return find_holidays_of([find_history(person)], start, end)[person.pk]


def find_holidays_of(
    histories: Collection[EmploymentHistory], start: date, end: date
) -> Mapping[str, Holidays]:
    """Returns the same for each of the people whose employment is given, by their ids."""
    if not histories:
        return {}
    organization_id = next(iter(histories)).person.organization_id
    default = find_default(organization_id)
    default_id = default.pk if default else None
    named = {
        get_calendar_id(terms, default_id)
        for history in histories
        for terms, _first, _last in history.divide(start, end)
    }
    rows = access.rows(PublicHoliday, organization_id).filter(
        Q(calendar__in=named - {None}) | Q(calendar=None), date__range=(start, end)
    )
    holidays = merge_holidays(rows, default_id)
    return {
        history.person.pk: working_time.free_parts(
            row
            for row in holidays
            if (row.calendar_id or default_id)
            == get_calendar_id(history.find_terms(row.date), default_id)
        )
        for history in histories
    }


def get_calendar_id(terms: Terms, default_id: str | None) -> str | None:
    """Returns the calendar of an employment; None if the organization has no default."""
    of_place = terms.work_place.holiday_calendar_id if terms.work_place else None
    return terms.holiday_calendar_id or of_place or default_id


def list_holidays(calendar: HolidayCalendar) -> QuerySet[PublicHoliday]:
    """Returns the holidays of a calendar; those without one belong to the default."""
    own = Q(calendar=calendar)
    if calendar.is_default:
        own |= Q(calendar=None)
    return access.rows(PublicHoliday, calendar.organization_id).filter(own)


def list_missing(calendar: HolidayCalendar, years: Iterable[int]) -> list[PublicHoliday]:
    """Returns the holidays of a calendar's country and region that it lacks, as unsaved rows.

    Days that it has stay as they are. Raises UnknownRegion.
    """
    known = set(list_holidays(calendar).values_list("date", flat=True))
    return [
        PublicHoliday(
            organization_id=calendar.organization_id,
            calendar=calendar,
            date=one.date,
            name=one.name[:MAX_NAME],
            is_half_day=one.is_half_day,
        )
        for one in national_holidays.list_holidays(calendar.country_code, calendar.region, years)
        if one.date not in known
    ]


def add_holidays(calendar: HolidayCalendar, rows: Iterable[PublicHoliday]) -> int:
    """Saves holidays of `list_missing`, but those that it has meanwhile; returns how many."""
    with transaction.atomic():
        locked = access.lock_row(HolidayCalendar, calendar.organization_id, calendar.pk)
        known = set(list_holidays(locked).values_list("date", flat=True))
        holidays = access.rows(PublicHoliday, calendar.organization_id)
        return len(holidays.bulk_create(one for one in rows if one.date not in known))
