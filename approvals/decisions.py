"""A person's decision on a request. An approved one is queued for the worker (`execution.py`).

    claim (one UPDATE) -> gate, binding and arguments again -> queue

Whatever fails from there on, the row says that it was approved and by whom: the worker executes it
from the row, whether or not a message about it arrives.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from approvals import deciders, delivery, execution, expiry, masked_arguments, requests
from approvals.execution import NotExecuted
from approvals.models import ApprovalRequest, ApprovalStatus
from approvals.surface_rules import find_rules
from audit import record
from workspace.models import User

# Of requests that wait, how many are compared with the rules for one list.
MAX_SEARCHED: Final = 500
SUPERSEDED: Final = "Superseded by a newer request for the same action."


class Undecidable(Exception):
    """The request cannot be decided, or not by this user; the message is shown to them."""

    message = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)


class SelfApproval(Undecidable):
    """The requester may not approve their own request (separation of duties)."""

    message = "You made this request. Another person has to approve it."


class NotAllowed(Undecidable):
    """The user is none of those who decide the request."""

    message = "You may not decide this request."


class UnreadableRequest(Undecidable):
    """A secret of the request is so long that nobody knows what they would approve."""

    message = (
        f"A secret in this request has more than {masked_arguments.MAX_MASKED} characters, or all "
        f"of them have more than {masked_arguments.MAX_ALL_MASKED}. They cannot be read here, so "
        "the request cannot be approved."
    )


class NotWaiting(Undecidable):
    """Another user has decided, or it has expired, or its key is too old for another attempt."""

    message = "This request is no longer waiting for approval."


class Obstructed(Undecidable):
    """Somebody else has to do something first; the request keeps waiting."""


class GateRefused(Undecidable):
    """A gate refuses the call now; the request keeps waiting."""


@dataclass(frozen=True, slots=True)
class Decider:
    """The user who decides, and their address."""

    user: User
    address: str = field(repr=False)


def list_decidable(user: User, wanted: Q | None = None) -> Iterator[ApprovalRequest]:
    """Returns the requests of any kind that wait and that a person may approve, the newest first.

    Of those that wait in the person's organizations, the newest MAX_SEARCHED are compared with the
    rules, once for all that the same people decide. `wanted` is a further condition.
    """
    rows = ApprovalRequest.objects.filter(
        wanted or Q(),
        ApprovalRequest.with_current_status(ApprovalStatus.PENDING),
        organization__in=sorted(user.active_roles),
    )
    known: dict[str, bool] = {}
    # One after the other: the arguments of all of them may be large.
    for row in rows.select_related("organization").defer("result")[:MAX_SEARCHED].iterator(20):
        key = deciders.decider_key(row)
        if key not in known:
            known[key] = deciders.may_approve(user, row)
        if known[key]:
            yield row


def approve(request_id: UUID, decider: Decider) -> ApprovalRequest:
    """Queues a request to be executed, or one with an unknown outcome to be tried again.

    Returns it as it is then. Raises SelfApproval, NotAllowed, UnreadableRequest, Obstructed,
    NotWaiting and GateRefused. A refusal by the vendor is an outcome, which the request has later.
    A surface that is no longer mounted, a tool that has gone and a refusal that lasts raise nothing
    either: the request fails.
    """
    row = _get_settled_request(request_id)
    _require_approver(row, decider)
    if masked_arguments.mask_request(row).unreadable:
        raise UnreadableRequest
    if obstacle := find_rules(row).find_obstacle(row):
        raise Obstructed(obstacle)
    _claim(row, decider)
    row.refresh_from_db()
    prepared = execution.prepare(row)
    if not isinstance(prepared, NotExecuted):
        execution.queue(row)
        return row
    execution.leave(row, prepared)
    if prepared.ended is None:
        raise GateRefused(prepared.message)
    row.refresh_from_db()
    return row


def decline(request_id: UUID, decider: Decider, note: str = "") -> ApprovalRequest:
    """Declines a request that was not sent to the vendor. Raises NotAllowed and NotWaiting."""
    row = _get_settled_request(request_id)
    if not find_rules(row).deciders.may_decide(decider.user, row):
        raise NotAllowed
    waiting = ApprovalRequest.objects.filter(pk=request_id, status=ApprovalStatus.PENDING)
    declined = waiting.update(
        status=ApprovalStatus.DECLINED,
        decided_by=decider.user,
        decided_at=(now := timezone.now()),
        ended_at=now,
        note=note[:500],
    )
    if not declined:
        raise NotWaiting
    row.refresh_from_db()
    delivery.deliver(row)
    return row


def withdraw(request_id: UUID, user: User) -> ApprovalRequest:
    """Ends a request that waits, for its requester. Raises NotAllowed and NotWaiting."""
    row = _get_settled_request(request_id)
    if not deciders.is_own(row, user):
        raise NotAllowed
    if not requests.withdraw(ApprovalRequest.objects.filter(pk=request_id)):
        raise NotWaiting
    row.refresh_from_db()
    delivery.deliver(row)
    return row


def _get_settled_request(request_id: UUID) -> ApprovalRequest:
    """Returns the request, once it is marked if it expired or was interrupted."""
    expiry.settle(ApprovalRequest.objects.filter(pk=request_id))
    return ApprovalRequest.objects.get(pk=request_id)


def may_be_tried(row: ApprovalRequest) -> bool:
    """Returns whether an approval can execute the request, for the first time or again."""
    return ApprovalRequest.objects.filter(_open(row), pk=row.pk).exists()


def why_not_approved(row: ApprovalRequest, user: User) -> str:
    """Returns why somebody who decides a request may not approve it, empty if they may."""
    if not deciders.may_approve(user, row):
        return deciders.explain_own(row, user)
    return find_problem(row)


def find_problem(row: ApprovalRequest) -> str:
    """Returns why a request cannot be approved by anybody now, empty if it can."""
    if masked_arguments.mask_request(row).unreadable:
        return UnreadableRequest.message
    rules = find_rules(row)
    return rules.find_refusal(row) or rules.find_obstacle(row)


def _open(row: ApprovalRequest) -> Q:
    now = timezone.now()
    waiting = Q(status=ApprovalStatus.PENDING, expires_at__gt=now)
    # A session of an agent goes on with the first outcome of a call that waits in it.
    if row.call or not find_rules(row).deciders.may_repeat:
        return waiting
    again = Q(status__in=(ApprovalStatus.FAILED, ApprovalStatus.UNKNOWN))
    return waiting | again & Q(sent_at__gt=now - expiry.KEY_LIFETIME)


def _require_approver(row: ApprovalRequest, decider: Decider) -> None:
    rules = find_rules(row).deciders
    if not deciders.is_own(row, decider.user) or rules.may_approve_own(row):
        if not rules.may_decide(decider.user, row):
            raise NotAllowed
        return
    record.security_event(
        "self_approval",
        address=decider.address,
        subject=str(row.pk),
        organization_id=str(row.organization_id),
        client_id=row.client_id,
        user_id=row.user_id,
        detail=row.summary,
    )
    raise SelfApproval


def _claim(row: ApprovalRequest, decider: Decider) -> None:
    """Claims the request exclusively; the value `claim` of the row proves it."""
    now = timezone.now()
    # Conditions on the row alone: PostgreSQL evaluates them again after a concurrent commit.
    rows = ApprovalRequest.objects.filter(_open(row), pk=row.pk, status=row.status)
    try:
        # Durable: the worker reads the claim.
        with transaction.atomic(durable=True):
            taken = rows.update(
                status=ApprovalStatus.RUNNING,
                claim=uuid4(),
                claimed_at=now,
                execution_state="",
                status_before=row.status,
                decider_address=decider.address,
                decided_by=decider.user,
                decided_at=now,
                problem="",
            )
            # Checked after the update, which prevents an identical new request.
            if taken and _is_superseded(row):
                raise NotWaiting(SUPERSEDED)
    except IntegrityError:
        # After this one failed, an identical request was made.
        raise NotWaiting(SUPERSEDED) from None
    if not taken:
        raise NotWaiting


def _is_superseded(row: ApprovalRequest) -> bool:
    """Returns whether an identical later request has succeeded, or may have, under its own key."""
    same = ApprovalRequest.objects.filter(authorization_id=row.authorization_id, digest=row.digest)
    return same.filter(
        pk__gt=row.pk, status__in=(ApprovalStatus.DONE, ApprovalStatus.UNKNOWN)
    ).exists()
