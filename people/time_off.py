"""Requests for time off: made, changed, cancelled and decided. Only pending ones change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from people import access, calendars, changes, days, working_time
from people.calendars import Holidays
from people.changes import ConflictingChange, RefusedChange
from people.models import (
    AbsenceStatus,
    EmploymentRecord,
    HolidayTreatment,
    Person,
    TimeOff,
    TimeOffCategory,
)
from people.models.time_off import BLOCKING
from people.working_time import NOTHING, Amount

MAX_DAYS: Final = 366
MAX_NOTE: Final = 512
CHANGEABLE: Final = ("category", "start_date", "end_date", "is_from_half_day", "is_to_half_day")

# The working weeks of a person: since which day, and the minutes of each day of the week.
Week: TypeAlias = tuple[int, ...]
Weeks: TypeAlias = Sequence[tuple[date, Week]]
# Sees the locked row before it changes, and raises to stop the change.
Precondition: TypeAlias = Callable[[TimeOff], None]


class OverlappingRequest(ConflictingChange):
    """The days of a request are those of another one of the person."""

    def __init__(self, other: TimeOff) -> None:
        self.other = other
        self.short_message = _("Another request has some of these days. Choose other days.")
        days = _("%(first)s to %(last)s") % {"first": other.start_date, "last": other.end_date}
        message = _(
            "Another request has some of these days: %(days)s, %(status)s, %(id)s. Choose other "
            "days, or change that request first."
        )
        super().__init__(
            message % {"days": days, "status": other.get_status_display().lower(), "id": other.pk},
            field="start_date",
        )


def always(_row: TimeOff) -> None:
    """The precondition that every row meets."""


def request(
    person: Person,
    category: TimeOffCategory,
    start_date: date,
    end_date: date,
    *,
    is_from_half_day: bool = False,
    is_to_half_day: bool = False,
    note: str = "",
) -> TimeOff:
    """Requests time off: pending if the person has a manager, else approved at once.

    Raises RefusedChange, and ConflictingChange if a pending or approved request has one of the
    days.
    """
    with transaction.atomic():
        # The lock makes two requests for the same days wait for each other.
        locked = access.lock_row(Person, person.organization_id, person.pk)
        row = TimeOff(
            organization_id=locked.organization_id,
            person=locked,
            category=category,
            start_date=start_date,
            end_date=end_date,
            is_from_half_day=is_from_half_day,
            is_to_half_day=is_to_half_day,
            note=note[:MAX_NOTE],
        )
        _measure(row)
        if locked.manager_id is None:
            row.status, row.decided_at = AbsenceStatus.APPROVED, row.created_at
        row.save(force_insert=True)
    return row


def change(
    organization_id: UUID, key: object, *, precondition: Precondition = always, **values: Any
) -> TimeOff:
    """Changes some of CHANGEABLE of a pending request.

    Raises RecordNotFound, RefusedChange and ConflictingChange.
    """
    if not values or not values.keys() <= set(CHANGEABLE):
        raise RefusedChange(_("Give at least one of: %s.") % ", ".join(CHANGEABLE))
    with transaction.atomic():
        row = _pending(organization_id, key, precondition)
        new = TimeOff(**_own_values(row) | values)
        _measure(new)
        changes.apply(row, _own_values(new))
    return row


def cancel(organization_id: UUID, key: object, *, precondition: Precondition = always) -> TimeOff:
    """Cancels a pending request. Raises RecordNotFound and ConflictingChange."""
    return _end(organization_id, key, precondition, {"status": AbsenceStatus.CANCELLED})


def approve(organization_id: UUID, key: object, *, precondition: Precondition = always) -> TimeOff:
    """Approves a pending request. Raises RecordNotFound and ConflictingChange."""
    values = {"status": AbsenceStatus.APPROVED, "decided_at": timezone.now()}
    return _end(organization_id, key, precondition, values)


def decline(
    organization_id: UUID, key: object, note: str = "", *, precondition: Precondition = always
) -> TimeOff:
    """Rejects a pending request, with a private note.

    Raises RecordNotFound and ConflictingChange.
    """
    values = {"status": AbsenceStatus.REJECTED, "decided_at": timezone.now()}
    values |= {"response_note": note[:MAX_NOTE]}
    return _end(organization_id, key, precondition, values)


def check(row: TimeOff) -> None:
    """Raises RefusedChange if this unsaved request could not be made now; gives it its amount."""
    _measure(row)


def amount(
    row: TimeOff,
    start: date,
    end: date,
    *,
    holidays: Holidays | None = None,
    weeks: Weeks | None = None,
) -> Amount:
    """Returns the working time that a request takes between two days, both included.

    Each day counts by the working pattern and the holiday calendar that the person has on it. Both
    are read unless they are given.
    """
    counted = row.category.public_holidays == HolidayTreatment.INCLUDE
    first, last = max(start, row.start_date), min(end, row.end_date)
    if holidays is None and not counted:
        holidays = calendars.find_holidays(row.person, first, last)
    free = {} if counted or holidays is None else holidays
    if weeks is None:
        weeks = find_weeks_of([row.person])[row.person_id]
    parts = [
        working_time.amount(
            week,
            free,
            begins,
            ends,
            is_from_half_day=row.is_from_half_day and begins == row.start_date,
            is_to_half_day=row.is_to_half_day and ends == row.end_date,
        )
        for week, begins, ends in _divide(weeks, first, last)
    ]
    return Amount(sum((one.days for one in parts), NOTHING), sum(one.minutes for one in parts))


def find_weeks_of(people: Sequence[Person]) -> Mapping[str, Weeks]:
    """Returns the working weeks of each of the people, by their ids.

    The first record of employment also covers every earlier day.
    """
    if not people:
        return {}
    records = access.rows(EmploymentRecord, people[0].organization_id).filter(
        person__in=[person.pk for person in people]
    )
    found: dict[str, list[tuple[date, Week]]] = {}
    for record in records.select_related("working_pattern").order_by("effective_from"):
        week = working_time.week_of(record.working_pattern)
        found.setdefault(record.person_id, []).append((record.effective_from, week))
    return {
        person.pk: found.get(person.pk)
        or [(date.min, working_time.week_of(person.working_pattern))]
        for person in people
    }


def _divide(weeks: Weeks, first: date, last: date) -> Iterator[tuple[Week, date, date]]:
    """Yields the working weeks of a period, each with its first and last day in it."""
    begins = first
    for number, (_day, week) in enumerate(weeks, 1):
        is_newest = number == len(weeks)
        ends = last if is_newest else min(last, weeks[number][0] - working_time.ONE_DAY)
        if begins <= ends:
            yield week, begins, ends
            begins = ends + working_time.ONE_DAY


def _end(
    organization_id: UUID, key: object, precondition: Precondition, values: Mapping[str, Any]
) -> TimeOff:
    with transaction.atomic():
        row = _pending(organization_id, key, precondition)
        changes.apply(row, values)
    return row


def _pending(organization_id: UUID, key: object, precondition: Precondition) -> TimeOff:
    """The request, locked together with its person, as everything that may change it locks them."""
    found = access.row(TimeOff, organization_id, key)
    access.lock_row(Person, organization_id, found.person_id)
    row = access.lock_row(TimeOff, organization_id, key)
    precondition(row)
    if row.status != AbsenceStatus.PENDING:
        raise ConflictingChange(
            _("Only a pending request can be changed. This one is %s.") % row.status
        )
    return row


def _own_values(row: TimeOff) -> dict[str, Any]:
    names = ("person", *CHANGEABLE, "amount_days", "amount_minutes", "organization", "pk")
    return {name: getattr(row, name) for name in names}


def _check_days(row: TimeOff) -> None:
    """Raises RefusedChange if nobody could request these days."""
    for name in ("start_date", "end_date"):
        if message := days.bounds_message(getattr(row, name)):
            raise RefusedChange(message, name)
    if row.end_date < row.start_date:
        raise RefusedChange(_("The last day is before the first day."), "end_date")
    if (row.end_date - row.start_date).days >= MAX_DAYS:
        raise RefusedChange(_("A request has at most %d days.") % MAX_DAYS, "end_date")
    if row.start_date == row.end_date and row.is_from_half_day and row.is_to_half_day:
        raise RefusedChange(_("A request of one day has one half day at most."), "is_to_half_day")


def _measure(row: TimeOff) -> None:
    """Gives a request its amount.

    Raises RefusedChange and ConflictingChange if it cannot be made.
    """
    _check_days(row)
    person, category = row.person, row.category
    if category.organization_id != person.organization_id or not category.is_active:
        raise RefusedChange(_("The category does not exist."), "category_id")
    if person.start_date and row.start_date < person.start_date:
        message = _("The person is not employed on the first day, but from %s on.")
        raise RefusedChange(message % person.start_date, "start_date")
    if person.end_date and row.end_date > person.end_date:
        message = _("The person is not employed on the last day, but until %s.")
        raise RefusedChange(message % person.end_date, "end_date")
    taken = amount(row, row.start_date, row.end_date)
    if not taken.days:
        raise RefusedChange(_("The person does not work on these days."), "start_date")
    row.amount_days, row.amount_minutes = taken.days, taken.minutes
    others = person.time_off.filter(
        status__in=BLOCKING, start_date__lte=row.end_date, end_date__gte=row.start_date
    )
    other = others.exclude(pk=row.pk).select_related("category").order_by("start_date").first()
    if other is not None:
        raise OverlappingRequest(other)
