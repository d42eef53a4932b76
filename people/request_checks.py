"""What a request for time off has to meet, when it is made, changed or approved, and later."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from people import calendars, days, lengths
from people.calendars import Holidays
from people.changes import ConflictingChange, RefusedChange
from people.employment_history import EmploymentHistory, find_histories, find_history
from people.models import AbsenceStatus, TimeOff
from people.models.time_off import BLOCKING
from people.working_time import HALF

# Three years, such as of parental leave.
MAX_DAYS: Final = 1_096
# What the rows have whose problems are listed.
RELATED: Final = ("category", "person__working_pattern", "person__work_place")


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


@dataclass(frozen=True, slots=True)
class RequestProblem:
    """A pending or approved request that could not be made now, and why."""

    row: TimeOff
    text: str


def measure(row: TimeOff) -> None:
    """Gives a request its length.

    Raises RefusedChange and ConflictingChange if it cannot be made.
    """
    _check_days(row)
    person, category = row.person, row.category
    if category.organization_id != person.organization_id or not category.is_active:
        raise RefusedChange(_("The category does not exist."), "category_id")
    history = find_history(person)
    _check_employment(row, history)
    taken = lengths.amount(row, row.start_date, row.end_date, history=history)
    if not taken.days:
        raise RefusedChange(_("The person does not work on these days."), "start_date")
    row.amount_days, row.amount_minutes = taken.days, taken.minutes
    other = _find_overlap(row, history)
    if other is not None:
        raise OverlappingRequest(other)


def find_problem(row: TimeOff, history: EmploymentHistory, holidays: Holidays | None = None) -> str:
    """Returns why a request could not be made now, but for the days of others; "" if it could.

    An approved one keeps a category that is switched off.
    """
    if row.status == AbsenceStatus.PENDING and not row.category.is_active:
        return _("Its category is switched off.")
    try:
        _check_employment(row, history)
    except RefusedChange as refused:
        return refused.message
    taken = lengths.amount(row, row.start_date, row.end_date, history=history, holidays=holidays)
    return "" if taken.days else _("The person does not work on these days.")


def list_problems(rows: Iterable[TimeOff]) -> Sequence[RequestProblem]:
    """Returns the problems of requests, in the order of the rows.

    Reads a few statements for each organization that the rows are of. The rows have their person
    and category.
    """
    by_organization: dict[UUID, list[TimeOff]] = {}
    for row in rows:
        by_organization.setdefault(row.organization_id, []).append(row)
    found: dict[str, RequestProblem] = {}
    for of_one in by_organization.values():
        histories = find_histories({row.person_id: row.person for row in of_one}.values())
        first, last = min(row.start_date for row in of_one), max(row.end_date for row in of_one)
        holidays = calendars.find_holidays_of(histories.values(), first, last)
        for row in of_one:
            text = find_problem(row, histories[row.person_id], holidays[row.person_id])
            if text:
                found[row.pk] = RequestProblem(row, text)
    return sorted(found.values(), key=lambda one: (one.row.start_date, one.row.pk))


def list_open_problems(rows: QuerySet[TimeOff], day: date) -> Sequence[RequestProblem]:
    """Returns the problems of pending and approved requests that are not over on a day."""
    # Only those can have one: the others are not read.
    is_suspect = (
        Q(status=AbsenceStatus.PENDING, category__is_active=False)
        | Q(amount_days=0)
        | Q(person__end_date__lt=F("end_date"))
        | Q(person__start_date__gt=F("start_date"))
        | Q(person__employment_history__end_date__lt=F("end_date"))
        | Q(person__employment_history__start_date__gt=F("start_date"))
    )
    found = rows.filter(is_suspect, status__in=BLOCKING, end_date__gte=day)
    return list_problems(found.select_related(*RELATED).distinct())


def list_broken(
    rows: QuerySet[TimeOff], day: date, change: Callable[[], object]
) -> Sequence[RequestProblem]:
    """Returns the problems that a change gives to requests that are not over on a day.

    The change is made and rolled back. Raises what it raises.
    """
    found = rows.filter(status__in=BLOCKING, end_date__gte=day).select_related(*RELATED)
    before = {one.row.pk for one in list_problems(found)}
    with transaction.atomic():
        change()
        after = list_problems(found.all())
        transaction.set_rollback(True)
    return [one for one in after if one.row.pk not in before]


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


def _find_overlap(row: TimeOff, history: EmploymentHistory) -> TimeOff | None:
    """The first pending or approved request that has a half of a day of this one."""
    others = row.person.time_off.filter(
        status__in=BLOCKING, start_date__lte=row.end_date, end_date__gte=row.start_date
    )
    found = others.exclude(pk=row.pk).select_related("category").order_by("start_date", "pk")
    return next((other for other in found if _overlaps(row, other, history)), None)


def _overlaps(row: TimeOff, other: TimeOff, history: EmploymentHistory) -> bool:
    """Whether two requests that share a day share a half of it.

    Half of a first day is the afternoon, and half of a last day the morning. Of half a public
    holiday one half is worked, which only one request can have.
    """
    (first, last), (begins, ends) = _halves(row), _halves(other)
    if first <= ends and begins <= last:
        return True
    day = max(row.start_date, other.start_date)
    return calendars.find_holidays_of([history], day, day)[row.person_id].get(day) == HALF


def _halves(row: TimeOff) -> tuple[int, int]:
    """The numbers of the first and the last half of a day; a morning is even."""
    first, last = row.start_date.toordinal() * 2, row.end_date.toordinal() * 2 + 1
    return first + row.is_from_half_day, last - row.is_to_half_day
