"""What people are employed as: a change takes effect on a day, and every state is kept."""

from datetime import date
from typing import Any

from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from people import access, changes, days
from people.changes import RefusedChange
from people.models import EmploymentRecord, Person
from people.models.people import EMPLOYMENT_FIELDS


class EmploymentState(models.TextChoices):
    """Whether a person is employed on a day."""

    EMPLOYED = "employed"
    LEFT = "left"
    NOT_STARTED = "not_started"


def get_state(person: Person, day: date) -> EmploymentState:
    """Returns whether a person is employed on a day. One without dates is employed on all."""
    if person.end_date is not None and person.end_date < day:
        return EmploymentState.LEFT
    if person.start_date is not None and person.start_date > day:
        return EmploymentState.NOT_STARTED
    return EmploymentState.EMPLOYED


def has_state(state: EmploymentState, day: date) -> Q:
    """Returns the condition that `get_state` of a person is this one."""
    if state == EmploymentState.LEFT:
        return Q(end_date__lt=day)
    if state == EmploymentState.NOT_STARTED:
        return Q(start_date__gt=day)
    has_started = Q(start_date=None) | Q(start_date__lte=day)
    return has_started & (Q(end_date=None) | Q(end_date__gte=day))


def change(person: Person, effective_from: date, **values: Any) -> EmploymentRecord:
    """Changes some of EMPLOYMENT_FIELDS from a day on, which has begun at the old or new place.

    The record of that day has the values of the one before it where none is given. A day that has
    a record already changes it. Raises RefusedChange.
    """
    if message := days.bounds_message(effective_from):
        raise RefusedChange(message, "effective_from")
    places = (person.work_place, values.get("work_place", person.work_place))
    if effective_from > max(days.today(person.organization, place) for place in places):
        raise RefusedChange(_("The change cannot take effect in the future."), "effective_from")
    with transaction.atomic():
        locked = access.lock_row(Person, person.organization_id, person.pk)
        _check(locked, values)
        record = _record(locked, effective_from)
        changes.apply(record, values)
        newest = locked.employment_history.order_by("-effective_from").first() or record
        changes.apply(locked, {name: getattr(newest, name) for name in EMPLOYMENT_FIELDS})
    person.refresh_from_db()
    return record


def add(person: Person, effective_from: date, **values: Any) -> EmploymentRecord:
    """Changes employment as `change`, from a day that has no record. Raises RefusedChange."""
    with transaction.atomic():
        check_day(access.lock_row(Person, person.organization_id, person.pk), effective_from)
        return change(person, effective_from, **values)


def check_day(person: Person, day: date) -> None:
    """Raises RefusedChange if the person has an employment record of a day."""
    record = person.employment_history.filter(effective_from=day).first()
    if record is not None:
        message = _(
            "%(person)s has an employment record from %(day)s on already: %(title)s. Records are "
            "not overwritten. Enter the correction for another day."
        )
        named = {"person": person, "day": day, "title": record.job_title or _("no job title")}
        raise RefusedChange(message % named, "effective_from")


def manages(manager: Person, person: Person) -> bool:
    """Returns whether the first is above the second, by any number of steps."""
    seen, above = {person.pk}, person.manager
    while above is not None and above.pk not in seen:
        if above.pk == manager.pk:
            return True
        seen.add(above.pk)
        above = above.manager
    return False


def _check(person: Person, values: dict[str, Any]) -> None:
    manager = values.get("manager")
    if manager is not None and (manager.pk == person.pk or manages(person, manager)):
        raise RefusedChange(_("A person cannot be managed by somebody below them."), "manager")
    for name, value in values.items():
        if isinstance(value, date) and (message := days.bounds_message(value)):
            raise RefusedChange(message, name)
        own = getattr(value, "organization_id", person.organization_id)
        if own != person.organization_id:
            raise RefusedChange(_("The value belongs to another organization."), name)
    start = values.get("start_date", person.start_date)
    end = values.get("end_date", person.end_date)
    if start and end and end < start:
        raise RefusedChange(_("The end date is before the start date."), "end_date")


def _record(person: Person, effective_from: date) -> EmploymentRecord:
    """The record of a day; a new one repeats what was true before that day."""
    history = person.employment_history
    before = history.filter(effective_from__lte=effective_from).order_by("-effective_from").first()
    if before is not None and before.effective_from == effective_from:
        return before
    first = before or person
    return EmploymentRecord.objects.create(
        person=person,
        organization_id=person.organization_id,
        effective_from=effective_from,
        **{name: getattr(first, name) for name in EMPLOYMENT_FIELDS},
    )
