"""Requests for time off: made, changed, cancelled and decided.

Only pending ones change, and approved ones are cancelled as their leave policy allows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from oauth import server_keys
from people import (
    access,
    allowances,
    approvers,
    changes,
    days,
    decider_mails,
    lengths,
    overdrafts,
    request_checks,
)
from people.approvers import Approver
from people.changes import ConflictingChange, RefusedChange
from people.employment_history import find_history
from people.models import (
    AbsenceStatus,
    CancellationRule,
    DeciderRole,
    LeavePolicy,
    Person,
    TimeOff,
    TimeOffCategory,
    TimeOffDecision,
)
from people.models.decisions import MAX_COMMENT, MAX_PROGRAM
from people.models.time_off import BLOCKING
from workspace.models import User

MAX_NOTE: Final = 512
CHANGEABLE: Final = ("category", "start_date", "end_date", "is_from_half_day", "is_to_half_day")

# Sees the locked row before it changes, and raises to stop the change.
Precondition: TypeAlias = Callable[[TimeOff], None]


@dataclass(frozen=True, slots=True)
class TimeOffDecider:
    """Who decides: the account that is signed in, or the name and id of the API key that was sent.

    `person` is the one for whom a program decides. Without one, the account decides as an admin,
    and the program for itself. The comment is kept, and answered to programs.
    """

    user: User | None = None
    program: str = ""
    key_id: UUID | None = None
    person: Person | None = None
    comment: str = ""


UNNAMED: Final = TimeOffDecider()


@dataclass(frozen=True, slots=True)
class ApprovedRequest:
    """A request as it was approved, and what the one who approved it should know of it."""

    row: TimeOff
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class TimeOffApproval:
    """Who decides about a request, who has decided, and why it could not be made now."""

    row: TimeOff
    steps: int
    approvers: Sequence[Approver]
    decisions: Sequence[TimeOffDecision]
    problem: str
    cancellable_until: date | None


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
    """Requests time off: pending if the person has a manager or an approver, else approved.

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
        request_checks.measure(row)
        if not approvers.has_approver(locked):
            row.status, row.decided_at = AbsenceStatus.APPROVED, row.created_at
        row.save(force_insert=True)
        overdrafts.require_allowance(row, find_policy(row))
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
        row = _lock(organization_id, key, precondition)
        _require_pending(row)
        new = TimeOff(**_own_values(row) | values)
        request_checks.measure(new)
        takes_less = _takes_less(new, row)
        changed = _own_values(new)
        if changed != _own_values(row):
            changed["approved_steps"] = 0
        changes.apply(row, changed)
        if not takes_less:
            overdrafts.require_allowance(row, find_policy(row))
    return row


def cancel(
    organization_id: UUID,
    key: object,
    decider: TimeOffDecider = UNNAMED,
    *,
    precondition: Precondition = always,
) -> TimeOff:
    """Cancels a pending request, or an approved one as its leave policy allows.

    Raises RecordNotFound, ConflictingChange and RefusedChange.
    """
    with transaction.atomic():
        row = _lock(organization_id, key, precondition)
        is_approved = row.status == AbsenceStatus.APPROVED
        if is_approved and decider.user is None:
            _require_cancellable(row, find_policy(row))
        elif not is_approved:
            _require_pending(row)
        role = _find_role_of_canceller(row, decider)
        changes.apply(row, {"status": AbsenceStatus.CANCELLED})
        _record(row, decider, role)
    return row


def approve(
    organization_id: UUID,
    key: object,
    decider: TimeOffDecider = UNNAMED,
    *,
    precondition: Precondition = always,
) -> ApprovedRequest:
    """Approves a pending request as it is now: it is measured again.

    It stays pending until as many people have approved it as its leave policy says. Raises
    RecordNotFound, ConflictingChange if it could not be made any more, and RefusedChange if
    the decider may not approve it, or if its policy refuses what it takes.
    """
    with transaction.atomic():
        row = _lock(organization_id, key, precondition)
        _require_pending(row)
        step = row.approved_steps + 1
        role = _find_role(row, decider, step)
        _require_another(row, decider)
        history, before = find_history(row.person), row.amount_days
        if problem := request_checks.find_problem(row, history):
            message = _("This request cannot be approved any more. %s")
            raise ConflictingChange(message % problem)
        taken = lengths.amount(row, row.start_date, row.end_date, history=history)
        values = {"approved_steps": step, "amount_days": taken.days}
        policy = find_policy(row)
        if step >= policy.approval_steps:
            values |= {"status": AbsenceStatus.APPROVED, "decided_at": timezone.now()}
        changes.apply(row, values | {"amount_minutes": taken.minutes})
        overdrafts.require_allowance(row, policy)
        _record(row, decider, role, AbsenceStatus.APPROVED, step)
        if row.status == AbsenceStatus.PENDING:
            decider_mails.announce(row)
        warnings = list(overdrafts.list_warnings(row, policy))
    if row.amount_days != before:
        text = _("The length was counted again: %(after)s days instead of %(before)s.")
        figures = {"after": row.amount_days, "before": before}
        warnings.insert(0, text % {name: f"{float(one):g}" for name, one in figures.items()})
    return ApprovedRequest(row, warnings)


def decline(
    organization_id: UUID,
    key: object,
    note: str = "",
    decider: TimeOffDecider = UNNAMED,
    *,
    precondition: Precondition = always,
) -> TimeOff:
    """Rejects a pending request, with a private note.

    Raises RecordNotFound, ConflictingChange, and RefusedChange if the decider may not reject it.
    """
    with transaction.atomic():
        row = _lock(organization_id, key, precondition)
        _require_pending(row)
        step = row.approved_steps + 1
        role = _find_role(row, decider, step)
        values = {"status": AbsenceStatus.REJECTED, "decided_at": timezone.now()}
        changes.apply(row, values | {"response_note": note[:MAX_NOTE]})
        _record(row, decider, role, AbsenceStatus.REJECTED, step)
    return row


def find_approval(row: TimeOff) -> TimeOffApproval:
    """Returns who decides about a request, and who has decided."""
    policy, problem, found = find_policy(row), "", list[Approver]()
    if row.status in BLOCKING:
        problem = request_checks.find_problem(row, find_history(row.person))
    if row.status == AbsenceStatus.PENDING:
        found += approvers.find_deciders(row.organization, [row])[row.pk]
    return TimeOffApproval(
        row,
        policy.approval_steps,
        found,
        list(row.decisions.select_related("person", "user")),
        problem,
        get_last_cancellation_day(row, policy),
    )


def find_policy(row: TimeOff) -> LeavePolicy:
    """Returns the leave policy whose rules a request has: that of its first day."""
    return allowances.find_policy(find_history(row.person), row.category, row.start_date)


def list_warnings(row: TimeOff) -> Sequence[str]:
    """Returns what the one who saved a request should know of it."""
    return overdrafts.list_warnings(row, find_policy(row))


def _takes_less(new: TimeOff, old: TimeOff) -> bool:
    """Whether a request takes no day, and no more of an allowance, than it did."""
    is_within = old.start_date <= new.start_date and new.end_date <= old.end_date
    is_alike = new.category_id == old.category_id
    return is_within and is_alike and new.amount_days <= old.amount_days


def get_last_cancellation_day(row: TimeOff, policy: LeavePolicy) -> date | None:
    """Returns the last day on which an approved request may be cancelled; None for admins only."""
    if policy.cancellation == CancellationRule.ADMINS:
        return None
    return row.start_date - timedelta(days=policy.cancellation_days)


def _require_cancellable(row: TimeOff, policy: LeavePolicy) -> None:
    last_day = get_last_cancellation_day(row, policy)
    if last_day is None:
        _require_pending(row)
    elif days.today(row.organization) > last_day:
        message = _("This request could be cancelled until %s. An admin can still cancel it.")
        raise ConflictingChange(message % last_day)


def _require_pending(row: TimeOff) -> None:
    if row.status != AbsenceStatus.PENDING:
        raise ConflictingChange(
            _("Only a pending request can be changed. This one is %s.") % row.status
        )


def _require_another(row: TimeOff, decider: TimeOffDecider) -> None:
    """Raises RefusedChange if the decider has approved an earlier step of a request."""
    approvals = row.decisions.filter(decision=AbsenceStatus.APPROVED)
    approvals = approvals.select_related("person", "user")
    # Approvals before the request was changed do not count.
    for one in approvals.order_by("-created_at", "-step")[: row.approved_steps]:
        if _has_decided(decider, one):
            message = _("Somebody else has to approve this request in the second step.")
            raise RefusedChange(message, "decided_by_id")


def _has_decided(decider: TimeOffDecider, decision: TimeOffDecision) -> bool:
    """Whether a decision is one of the decider, who is known by another credential if need be.

    Two people are different, even if one program sends what they decided.
    """
    if decider.person and decision.person:
        return decider.person.pk == decision.person.pk
    if decider.program and decision.program and _is_same_program(decider, decision):
        return True
    person = decider.person or decision.person
    users = [_find_user(one) for one in (decider, decision) if not one.person]
    if person is None:
        return users[0] is not None and users[0] == users[1]
    # Accounts are no people: they have the same address.
    email = users[0].email if users[0] else ""
    return bool(email) and email.lower() == person.work_email.lower()


def _is_same_program(decider: TimeOffDecider, decision: TimeOffDecision) -> bool:
    """Whether two decisions were sent with one key, or with keys that one account created."""
    if decider.key_id is None or decision.key_id is None:
        return decider.program == decision.program
    creators = [server_keys.creator_of(str(one.key_id)) for one in (decider, decision)]
    has_one_creator = creators[0] is not None and creators[0] == creators[1]
    return decider.key_id == decision.key_id or has_one_creator


def _find_user(decision: TimeOffDecider | TimeOffDecision) -> User | None:
    """The account that is signed in, or that created the key, which acts for its creator."""
    if decision.user or decision.key_id is None:
        return decision.user
    creator = server_keys.creator_of(str(decision.key_id))
    return None if creator is None else User.objects.filter(pk=creator).first()


def _find_role(row: TimeOff, decider: TimeOffDecider, *steps: int) -> DeciderRole:
    """By what the decider may decide in one of some steps. Raises RefusedChange."""
    if decider.person is None:
        return DeciderRole.PROGRAM if decider.user is None else DeciderRole.ADMIN
    today = days.today(row.organization)
    for step in steps:
        found = approvers.find_approver(row.person, decider.person, today, step)
        if found is not None:
            return found.role
    message = _("%s may not decide about this request now.")
    raise RefusedChange(message % decider.person, "decided_by_id")


def _find_role_of_canceller(row: TimeOff, decider: TimeOffDecider) -> DeciderRole:
    """By what somebody may cancel a request. Raises RefusedChange."""
    is_pending = row.status == AbsenceStatus.PENDING
    if decider.person is not None and decider.person.pk == row.person_id:
        if is_pending or find_policy(row).cancellation == CancellationRule.EVERYBODY:
            return DeciderRole.PERSON
        message = _("An approved request is not cancelled by the person, but by an approver.")
        raise RefusedChange(message, "decided_by_id")
    return _find_role(row, decider, *((row.approved_steps + 1,) if is_pending else (1, 2)))


def _record(
    row: TimeOff,
    decider: TimeOffDecider,
    role: DeciderRole,
    decision: AbsenceStatus = AbsenceStatus.CANCELLED,
    step: int | None = None,
) -> None:
    access.rows(TimeOffDecision, row.organization_id).create(
        organization_id=row.organization_id,
        time_off=row,
        decision=decision,
        step=step,
        role=role,
        person=decider.person,
        user=decider.user,
        program=decider.program[:MAX_PROGRAM],
        key_id=decider.key_id,
        comment=decider.comment[:MAX_COMMENT],
    )


def _lock(organization_id: UUID, key: object, precondition: Precondition) -> TimeOff:
    """The request, locked together with its person, as everything that may change it locks them."""
    found = access.row(TimeOff, organization_id, key)
    access.lock_row(Person, organization_id, found.person_id)
    row = access.lock_row(TimeOff, organization_id, key)
    precondition(row)
    return row


def _own_values(row: TimeOff) -> dict[str, Any]:
    names = ("person", *CHANGEABLE, "amount_days", "amount_minutes", "organization", "pk")
    return {name: getattr(row, name) for name in names}
