"""Who decides about a person's requests for time off on a day.

In the first step these are the person's approvers, if the records name one who can decide; else the
next manager who can. In the second step it is the next manager above. Each of them may have
deputies. Whoever has left, has not started, or whose membership is suspended cannot decide: the
next manager above does. Where nobody is left, admins and programs decide, as they always may.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice

from django.db.models import Q, QuerySet

from people import access, days
from people.employment import EmploymentState, get_state
from people.models import DeciderRole, Person, PersonRelationship, RelationshipType


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody who may decide, and by what; a deputy with the one whose deputy it is."""

    person: Person
    role: DeciderRole
    deputy_of: Person | None = None


def has_approver(person: Person) -> bool:
    """Returns whether requests of a person wait for a decision: by a manager or an approver."""
    if person.manager_id is not None:
        return True
    day = days.today(person.organization)
    return _list_related(person, RelationshipType.APPROVER, day).exists()


def list_approvers(person: Person, day: date, step: int) -> Sequence[Approver]:
    """Returns who may decide in a step, 1 or 2; nobody if only admins and programs may."""
    found = [
        Approver(one.related_person, DeciderRole.APPROVER)
        for one in _list_related(person, RelationshipType.APPROVER, day)
        if _can_decide(one.related_person, day)
    ]
    managers = _list_managers(person, day)
    if not found:
        found = list(islice(managers, 1))
    if step > 1:
        first = {one.person.pk for one in found}
        found = list(islice((one for one in managers if one.person.pk not in first), 1))
    for one in list(found):
        known = {other.person.pk for other in found}
        found += [
            other for other in _list_deputies(one.person, day) if other.person.pk not in known
        ]
    return [one for one in found if one.person.pk != person.pk]


def find_approver(person: Person, decider: Person, day: date, step: int) -> Approver | None:
    """Returns by what somebody may decide about a person's requests; None if they may not."""
    found = list_approvers(person, day, step)
    return next((one for one in found if one.person.pk == decider.pk), None)


def _list_managers(person: Person, day: date) -> Iterator[Approver]:
    """Yields the managers above a person who can decide, the next one first."""
    seen, above = {person.pk}, person.manager
    while above is not None and above.pk not in seen:
        seen.add(above.pk)
        if _can_decide(above, day):
            yield Approver(above, DeciderRole.MANAGER)
        above = above.manager


def _list_deputies(approver: Person, day: date) -> list[Approver]:
    return [
        Approver(one.related_person, DeciderRole.DEPUTY, approver)
        for one in _list_related(approver, RelationshipType.DEPUTY, day)
        if _can_decide(one.related_person, day)
    ]


def _list_related(
    person: Person, kind: RelationshipType, day: date
) -> QuerySet[PersonRelationship]:
    """The relationships of a type that hold on a day."""
    is_current = Q(effective_to=None) | Q(effective_to__gt=day)
    rows = access.rows(PersonRelationship, person.organization_id).filter(
        is_current, person=person, type=kind, effective_from__lte=day
    )
    return rows.select_related("related_person").order_by("-is_primary", "effective_from", "pk")


def _can_decide(person: Person, day: date) -> bool:
    """Whether a person is employed on a day, and no membership of theirs is suspended."""
    if get_state(person, day) != EmploymentState.EMPLOYED:
        return False
    suspended = person.organization.memberships.exclude(suspended_at=None)
    return not (
        person.work_email and suspended.filter(user__email__iexact=person.work_email).exists()
    )
