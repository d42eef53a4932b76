"""What people are employed as: a change takes effect on a day, and every state is kept."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from people import access, changes, days
from people.changes import RefusedChange
from people.employment_history import Terms
from people.models import EmploymentRecord, Person
from people.models.people import EMPLOYMENT_FIELDS

log: Final = structlog.get_logger(__name__)


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
    """Changes some of EMPLOYMENT_FIELDS from a day on, which may be ahead.

    The record of that day has the values of the one before it where none is given. A day that has
    a record already changes it. Raises RefusedChange.
    """
    if message := days.bounds_message(effective_from):
        raise RefusedChange(message, "effective_from")
    with transaction.atomic():
        locked = access.lock_row(Person, person.organization_id, person.pk)
        record = _find_or_create_record(locked, effective_from)
        _check(locked, record, values)
        changes.apply(record, values)
        _apply_present(locked)
    person.refresh_from_db()
    record.refresh_from_db()
    return record


def add(person: Person, effective_from: date, **values: Any) -> EmploymentRecord:
    """Changes employment as `change`, from a day that has no record. Raises RefusedChange."""
    with transaction.atomic():
        check_day(access.lock_row(Person, person.organization_id, person.pk), effective_from)
        return change(person, effective_from, **values)


def correct(record: EmploymentRecord, **values: Any) -> EmploymentRecord:
    """Changes some of EMPLOYMENT_FIELDS of a record that was wrong. Raises RefusedChange.

    Later records are unchanged.
    """
    with transaction.atomic():
        person = access.lock_row(Person, record.organization_id, record.person_id)
        row = access.lock_row(EmploymentRecord, record.organization_id, record.pk)
        _check(person, row, values)
        changes.apply(row, values)
        _apply_present(person)
    return row


def remove(record: EmploymentRecord) -> None:
    """Deletes a record that was wrong: the one before it holds longer. Raises RefusedChange."""
    with transaction.atomic():
        person = access.lock_row(Person, record.organization_id, record.person_id)
        if not person.employment_history.exclude(pk=record.pk).exists():
            raise RefusedChange(_("This is the only record of the person. Correct it instead."))
        person.employment_history.filter(pk=record.pk).delete()
        _apply_present(person)


def apply_due(now: datetime) -> int:
    """Gives people the employment that was entered ahead, once its day has begun.

    Returns the number of people.
    """
    # The first place in which a day begins is 14 hours ahead.
    latest = (now.astimezone(UTC) + timedelta(hours=14)).date()
    due = EmploymentRecord.objects.filter(is_ahead=True, effective_from__lte=latest)
    people = due.order_by("person").values_list("organization_id", "person_id").distinct()
    return sum(_apply_due(organization_id, key) for organization_id, key in list(people))


def _apply_due(organization_id: UUID, key: str) -> bool:
    with transaction.atomic():
        person = access.lock_row(Person, organization_id, key)
        before = person.version
        _apply_present(person)
    return person.version != before


def _apply_present(person: Person) -> None:
    """Gives a locked person the values of the record that holds today, or of the first one."""
    records = list(
        person.employment_history.select_related("work_place").order_by("effective_from")
    )
    for record in records:
        changes.apply(record, {"is_ahead": not _has_begun(record, person)})
    begun = [record for record in records if not record.is_ahead]
    present = (begun or records[:1])[-1]
    values = {name: getattr(present, name) for name in EMPLOYMENT_FIELDS}
    manager = present.manager
    if manager is not None and (manager.pk == person.pk or manages(person, manager)):
        # Another change that was made meanwhile put the manager below the person.
        log.warning("manager_below_person", person=person.pk, record=present.pk)
        del values["manager"]
    changes.apply(person, values)


def _has_begun(record: EmploymentRecord, person: Person) -> bool:
    """Whether the day of a record has begun at its own place of work, or at the present one."""
    places = (person.work_place, record.work_place)
    return record.effective_from <= max(days.today(person.organization, one) for one in places)


def check_day(person: Person, day: date) -> None:
    """Raises RefusedChange if the person has an employment record of a day."""
    record = person.employment_history.filter(effective_from=day).first()
    if record is not None:
        message = _(
            "%(person)s has an employment record from %(day)s on already: %(title)s. Correct that "
            "record instead."
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


def _check(person: Person, record: EmploymentRecord, values: Mapping[str, Any]) -> None:
    manager = values.get("manager")
    if manager is not None and (manager.pk == person.pk or manages(person, manager)):
        raise RefusedChange(_("A person cannot be managed by somebody below them."), "manager")
    for name, value in values.items():
        if isinstance(value, date) and (message := days.bounds_message(value)):
            raise RefusedChange(message, name)
        own = getattr(value, "organization_id", person.organization_id)
        if own != person.organization_id:
            raise RefusedChange(_("The value belongs to another organization."), name)
    start = values.get("start_date", record.start_date)
    end = values.get("end_date", record.end_date)
    if start and end and end < start:
        raise RefusedChange(_("The end date is before the start date."), "end_date")


def _find_or_create_record(person: Person, day: date) -> EmploymentRecord:
    """The record of a day; a new one repeats what was true before that day."""
    history = person.employment_history
    before = history.filter(effective_from__lte=day).order_by("-effective_from").first()
    if before is not None and before.effective_from == day:
        return before
    today = days.today(person.organization, person.work_place)
    if before is None and day > today and _has_employment(person) and not history.exists():
        # The first record also covers every earlier day, so what holds until then needs one.
        begins = min(today, person.start_date or today)
        _create_record(person, person, begins)
    return _create_record(person, before or person, day)


def _has_employment(person: Person) -> bool:
    return any(getattr(person, name) not in {None, ""} for name in EMPLOYMENT_FIELDS)


def _create_record(person: Person, values: Terms, day: date) -> EmploymentRecord:
    return EmploymentRecord.objects.create(
        person=person,
        organization_id=person.organization_id,
        effective_from=day,
        **{name: getattr(values, name) for name in EMPLOYMENT_FIELDS},
    )
