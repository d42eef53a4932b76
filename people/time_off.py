"""Requests for time off: made, changed, cancelled and decided. Only pending ones change."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from people import access, calendars, changes, days, working_time
from people.calendars import Holidays
from people.changes import ConflictingChange, RefusedChange
from people.employment_history import EmploymentHistory, find_history
from people.models import (
    AbsenceStatus,
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
    history: EmploymentHistory | None = None,
    holidays: Holidays | None = None,
) -> Amount:
    """Returns the working time that a request takes between two days, both included.

    Each day counts by the working pattern and the holiday calendar that the person has on it. The
    employment and the holidays are read unless they are given.
    """
    history = history or find_history(row.person)
    counted = row.category.public_holidays == HolidayTreatment.INCLUDE
    first, last = max(start, row.start_date), min(end, row.end_date)
    if holidays is None and not counted:
        holidays = calendars.find_holidays_of([history], first, last)[row.person_id]
    free = {} if counted or holidays is None else holidays
    parts = [
        working_time.amount(
            working_time.week_of(terms.working_pattern),
            free,
            begins,
            ends,
            is_from_half_day=row.is_from_half_day and begins == row.start_date,
            is_to_half_day=row.is_to_half_day and ends == row.end_date,
        )
        for terms, begins, ends in history.divide(first, last)
    ]
    return Amount(sum((one.days for one in parts), NOTHING), sum(one.minutes for one in parts))


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


def _check_employment(row: TimeOff, history: EmploymentHistory) -> None:
    """Raises RefusedChange unless the days are days of one employment."""
    period = history.find_period(row.start_date)
    if period is None:
        # The next employment, else the last one: that of which the day is nearly one.
        later = [one for one in history.periods if one.first_day > row.start_date]
        if later:
            message = _("The person is not employed on the first day, but from %s on.")
            raise RefusedChange(message % later[0].joined, "start_date")
        message = _("The person is not employed on the first day, but until %s.")
        raise RefusedChange(message % history.periods[-1].left, "start_date")
    if not period.includes(row.end_date):
        message = _("The person is not employed on the last day, but until %s.")
        raise RefusedChange(message % period.left, "end_date")


def _measure(row: TimeOff) -> None:
    """Gives a request its amount.

    Raises RefusedChange and ConflictingChange if it cannot be made.
    """
    _check_days(row)
    person, category = row.person, row.category
    if category.organization_id != person.organization_id or not category.is_active:
        raise RefusedChange(_("The category does not exist."), "category_id")
    history = find_history(person)
    _check_employment(row, history)
    taken = amount(row, row.start_date, row.end_date, history=history)
    if not taken.days:
        raise RefusedChange(_("The person does not work on these days."), "start_date")
    row.amount_days, row.amount_minutes = taken.days, taken.minutes
    others = person.time_off.filter(
        status__in=BLOCKING, start_date__lte=row.end_date, end_date__gte=row.start_date
    )
    other = others.exclude(pk=row.pk).select_related("category").order_by("start_date").first()
    if other is not None:
        raise OverlappingRequest(other)
