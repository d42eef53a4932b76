"""Who decides about a person's requests for time off on a day.

In the first step these are the person's approvers, if the records name one who can decide; else the
next manager who can. In the second step it is the next manager above. Each of them may have
deputies. Whoever has left, has not started, or whose membership is suspended cannot decide: the
next manager above does. Where nobody is left, admins and programs decide, as they always may.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from uuid import UUID

from django.db.models import Q, QuerySet

from people import access, days
from people.employment import EmploymentState, get_state
from people.models import (
    AbsenceStatus,
    DeciderRole,
    Person,
    PersonRelationship,
    RelationshipType,
    TimeOff,
    TimeOffDecision,
)
from workspace.models import Organization


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody who may decide, and by what; a deputy with the one whose deputy it is."""

    person: Person
    role: DeciderRole
    deputy_of: Person | None = None


@dataclass(frozen=True, slots=True)
class ApproverChart:
    """What says who decides about the requests of some people on a day.

    `people` are they and everybody above them, by their ids; `related` are the people of their
    relationships, by id and type. `suspended` are addresses of accounts, in lower case.
    """

    day: date
    people: Mapping[str, Person]
    related: Mapping[tuple[str, str], Sequence[Person]]
    suspended: Collection[str]

    def list_managers(self, person: Person) -> Iterator[Approver]:
        """Yields the managers above a person who can decide, the next one first."""
        seen, above = {person.pk}, self.people.get(person.manager_id or "")
        while above is not None and above.pk not in seen:
            seen.add(above.pk)
            if self._can_decide(above):
                yield Approver(above, DeciderRole.MANAGER)
            above = self.people.get(above.manager_id or "")

    def list_related(self, person: Person, kind: RelationshipType) -> Sequence[Person]:
        """Returns those of a person's relationships who can decide."""
        return [one for one in self.related.get((person.pk, kind), ()) if self._can_decide(one)]

    def _can_decide(self, person: Person) -> bool:
        """Whether a person is employed on the day, and no membership of theirs is suspended."""
        is_employed = get_state(person, self.day) == EmploymentState.EMPLOYED
        return is_employed and person.work_email.lower() not in self.suspended


def has_approver(person: Person) -> bool:
    """Returns whether requests of a person wait for a decision: by a manager or an approver."""
    if person.manager_id is not None:
        return True
    day = days.today(person.organization)
    related = (RelationshipType.APPROVER, [person.pk], day)
    return _list_related(person.organization_id, *related).exists()


def list_approvers(person: Person, day: date, step: int) -> Sequence[Approver]:
    """Returns who may decide in a step, 1 or 2; nobody if only admins and programs may."""
    return _find_approvers(read_chart(person.organization, [person], day), person, step)


def find_approver(person: Person, decider: Person, day: date, step: int) -> Approver | None:
    """Returns by what somebody may decide about a person's requests; None if they may not."""
    found = list_approvers(person, day, step)
    return next((one for one in found if one.person.pk == decider.pk), None)


def find_deciders(
    organization: Organization, rows: Iterable[TimeOff]
) -> Mapping[str, Sequence[Approver]]:
    """Returns who decides next about pending requests of an organization, by their ids.

    The rows have their person. Who approved the first step does not decide about the second.
    """
    requests = list(rows)
    people = {row.person_id: row.person for row in requests}
    chart = read_chart(organization, people.values(), days.today(organization))
    approved = _list_approvals(organization.pk, requests)
    return {
        row.pk: [
            one
            for one in _find_approvers(chart, people[row.person_id], row.approved_steps + 1)
            if not any(_is_by(decision, one.person) for decision in approved.get(row.pk, ()))
        ]
        for row in requests
    }


def _list_approvals(
    organization_id: UUID, rows: Iterable[TimeOff]
) -> Mapping[str, Sequence[TimeOffDecision]]:
    """The approvals of requests that count: those before a request was changed do not."""
    steps = {row.pk: row.approved_steps for row in rows if row.approved_steps}
    if not steps:
        return {}
    approvals = access.rows(TimeOffDecision, organization_id).filter(
        time_off__in=steps, decision=AbsenceStatus.APPROVED
    )
    found: dict[str, list[TimeOffDecision]] = {}
    for one in approvals.select_related("user").order_by("-created_at", "-step"):
        of_row = found.setdefault(one.time_off_id, [])
        if len(of_row) < steps[one.time_off_id]:
            of_row.append(one)
    return found


def _is_by(decision: TimeOffDecision, person: Person) -> bool:
    """Whether somebody decided, as a person of the records or with the account of their address."""
    if decision.person_id is not None:
        return decision.person_id == person.pk
    email = decision.user.email if decision.user else ""
    return bool(email) and email.lower() == person.work_email.lower()


def list_waiting_for(decider: Person) -> Sequence[str]:
    """Returns the ids of the pending requests that somebody may decide about next."""
    pending = access.rows(TimeOff, decider.organization_id).filter(status=AbsenceStatus.PENDING)
    found = find_deciders(decider.organization, pending.select_related("person"))
    return [key for key, of_row in found.items() if any(one.person == decider for one in of_row)]


def read_chart(organization: Organization, people: Iterable[Person], day: date) -> ApproverChart:
    """Reads who is above people, and related to them, in a few statements for all of them."""
    every = access.rows(Person, organization.pk)
    known = {one.pk: one for one in people}
    below = list(known)
    above = {one.manager_id for one in known.values()}
    while missing := above - known.keys() - {None}:
        found = list(every.filter(pk__in=missing))
        known |= {one.pk: one for one in found}
        above = {one.manager_id for one in found}
    related: dict[tuple[str, str], list[Person]] = {}

    def add_related(kind: RelationshipType, keys: Iterable[str]) -> None:
        for one in _list_related(organization.pk, kind, keys, day):
            related.setdefault((one.person_id, kind), []).append(one.related_person)

    add_related(RelationshipType.APPROVER, below)
    named = [one.pk for people in related.values() for one in people]
    add_related(RelationshipType.DEPUTY, {*known, *named})
    suspended = organization.memberships.exclude(suspended_at=None)
    emails = {one.lower() for one in suspended.values_list("user__email", flat=True)}
    return ApproverChart(day, known, related, emails - {""})


def _find_approvers(chart: ApproverChart, person: Person, step: int) -> Sequence[Approver]:
    found = [
        Approver(one, DeciderRole.APPROVER)
        for one in chart.list_related(person, RelationshipType.APPROVER)
    ]
    managers = chart.list_managers(person)
    if not found:
        found = list(islice(managers, 1))
    if step > 1:
        first = {one.person.pk for one in found}
        found = list(islice((one for one in managers if one.person.pk not in first), 1))
    for one in list(found):
        known = {other.person.pk for other in found}
        deputies = chart.list_related(one.person, RelationshipType.DEPUTY)
        found += [
            Approver(other, DeciderRole.DEPUTY, one.person)
            for other in deputies
            if other.pk not in known
        ]
    return [one for one in found if one.person.pk != person.pk]


def _list_related(
    organization_id: UUID, kind: RelationshipType, people: Iterable[str], day: date
) -> QuerySet[PersonRelationship]:
    """The relationships of a type that people have on a day."""
    is_current = Q(effective_to=None) | Q(effective_to__gt=day)
    rows = access.rows(PersonRelationship, organization_id).filter(
        is_current, person__in=list(people), type=kind, effective_from__lte=day
    )
    return rows.select_related("related_person").order_by("-is_primary", "effective_from", "pk")
