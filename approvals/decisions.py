"""A person's decision on a request, and the call that follows from it, through the pipeline.

    reserve a thread -> claim (one UPDATE) -> gate, binding and arguments again
    in the thread: mark as sent -> run -> store the outcome -> deliver

Only the winner of the claim calls the vendor, always with the request's own idempotency key. No
transaction is open meanwhile, and nobody waits for the vendor: the request is RUNNING until then.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals import (
    deciders,
    delivery,
    expiry,
    masked_arguments,
    requesters,
    stored_arguments,
)
from approvals.models import ApprovalRequest, Status
from audit import record
from audit.outcomes import ActorKind
from audit.record import Actor
from foundation.concurrency import job_threads
from foundation.concurrency.job_threads import JobThread, NoJobThread
from foundation.db.storable import escape_unstorable
from oauth.principal import Principal
from oauth.scopes import ScopeSet
from tools_registry.api import Blocks, Result, Tool
from tools_registry.pipeline import calls
from tools_registry.pipeline import surface as surfaces
from tools_registry.pipeline.approval_port import Approval
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    Failed,
    Invocation,
    NeedsInput,
    Outcome,
    Refused,
    Succeeded,
)
from tools_registry.pipeline.surface import Surface
from workspace import flags, organizations
from workspace.models import User

# The vendor has done nothing in these cases; 409 means that a call with the same key is running.
REFUSALS: Final = frozenset(range(400, 500)) - {408, 409}
# Kinds of failures that happen before anything is sent to the vendor.
NEVER_SENT: Final = frozenset({"validation", "not_found", "binding_rejected"})
UNMOUNTED: Final = (
    "This server no longer has the endpoint “{surface}” that the request was made through, so it "
    "cannot be executed."
)
GONE: Final = "The tool “{tool}” no longer exists, so the request cannot be executed."
# Refusals that last: the call of the request can never be run again.
LASTING: Final = frozenset({"document_changed", "request_changed"})
ENDED: Final = "grant_ended"
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


class Unreadable(Undecidable):
    """A secret of the request is so long that nobody knows what they would approve."""

    message = (
        f"A secret in this request has more than {masked_arguments.MAX_MASKED} characters, or all "
        f"of them have more than {masked_arguments.MAX_ALL_MASKED}. Nobody can read them here, so "
        "the request cannot be approved."
    )


class NotWaiting(Undecidable):
    """Another user has decided, or it has expired, or its key is too old for another attempt."""

    message = "This request is no longer waiting for approval."


class TooManyRun(Undecidable):
    """The user or the organization has as much running as they may; the request keeps waiting."""


class GateRefused(Undecidable):
    """A gate refuses the call now; the request keeps waiting."""


@dataclass(frozen=True, slots=True)
class Decider:
    """The user who decides, and their address."""

    user: User
    address: str = field(repr=False)


def approve(request_id: UUID, decider: Decider) -> ApprovalRequest:
    """Starts to execute a request, or to retry one with an unknown outcome; returns it as it is.

    Raises SelfApproval, NotAllowed, Unreadable, NotWaiting, TooManyRun and GateRefused. A refusal
    by the vendor is an outcome, which the request has later. A surface that is no longer mounted,
    a tool that has gone and a refusal that lasts raise nothing either: the request fails.
    """
    row = _settled(request_id)
    _require_approver(row, decider)
    shown = masked_arguments.of(row)
    if shown.unreadable:
        raise Unreadable
    surface = surfaces.find(row.surface)
    requested_with = _requested_with(row, surface) if surface else None
    try:
        with job_threads.reserve(decider.user.pk, row.organization_id) as thread:
            before, claim = row.status, _claim(row, decider)
            row.refresh_from_db()
            if surface is None or requested_with is None:
                return _close_unrun(row, claim, before, UNMOUNTED.format(surface=row.surface))
            if not shown.has_schema:
                # Not by the catalogue, which is read again later: nobody could read the arguments.
                return _close_unrun(row, claim, before, GONE.format(tool=row.tool))
            invocation = _invocation(row, claim, surface, requested_with, decider)
            return _begin(row, claim, before, invocation, thread)
    except NoJobThread as busy:
        raise TooManyRun(str(busy)) from None


def _begin(
    row: ApprovalRequest, claim: UUID, before: str, invocation: Invocation, thread: JobThread
) -> ApprovalRequest:
    """Makes the checks of a call again, and starts it. Raises GateRefused and NoJobThread."""
    refused = calls.prepare(invocation)
    if isinstance(refused, Refused) and refused.decision.reason in LASTING:
        return _close_unrun(row, claim, before, refused.decision.message)
    if before == Status.PENDING and _has_ended(refused):
        return _close(row, claim, **expiry.LEFT, decided_by=None, decided_at=None)
    if refused is not None:
        raise _given_back(row, claim, before, _message(refused))
    try:
        thread.start(partial(_execute, row.pk, claim, before, invocation))
    except NoJobThread as busy:
        raise _given_back(row, claim, before, str(busy)) from None
    return row


def _execute(request_id: UUID, claim: UUID, before: str, invocation: Invocation) -> None:
    row = ApprovalRequest.objects.get(pk=request_id)
    if not _mark_sent(row, claim):
        return  # the claim has expired meanwhile
    execution, outcome = calls.execute(invocation)
    status = _status(outcome, before)
    _close(row, claim, status=status, execution_id=str(execution), **_ended(outcome))


def _has_ended(refused: Outcome | None) -> bool:
    """Returns whether the connection of the requester has ended."""
    return isinstance(refused, Refused) and refused.decision.reason == ENDED


def decline(request_id: UUID, decider: Decider, note: str = "") -> ApprovalRequest:
    """Declines a request that was not sent to the vendor. Raises NotAllowed and NotWaiting."""
    if not deciders.of(row := _settled(request_id)).may_decide(decider.user, row):
        raise NotAllowed
    waiting = ApprovalRequest.objects.filter(pk=request_id, status=Status.PENDING)
    declined = waiting.update(
        status=Status.DECLINED,
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


def _settled(request_id: UUID) -> ApprovalRequest:
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
    return Unreadable.message if masked_arguments.of(row).unreadable else ""


def _open(row: ApprovalRequest) -> Q:
    now = timezone.now()
    waiting = Q(status=Status.PENDING, expires_at__gt=now)
    # A session of an agent goes on with the first outcome of a call that waits in it.
    if row.call or not deciders.of(row).may_repeat:
        return waiting
    again = Q(status__in=(Status.FAILED, Status.UNKNOWN))
    return waiting | again & Q(sent_at__gt=now - expiry.KEY_LIFETIME)


def _require_approver(row: ApprovalRequest, decider: Decider) -> None:
    rules = deciders.of(row)
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


def _claim(row: ApprovalRequest, decider: Decider) -> UUID:
    """Claims the request exclusively; the value `claim` of the row proves it."""
    claim, now = uuid4(), timezone.now()
    # Conditions on the row alone: PostgreSQL evaluates them again after a concurrent commit.
    rows = ApprovalRequest.objects.filter(_open(row), pk=row.pk, status=row.status)
    try:
        # Durable: the thread that executes the request reads its claim.
        with transaction.atomic(durable=True):
            taken = rows.update(
                status=Status.RUNNING,
                claim=claim,
                claimed_at=now,
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
    return claim


def _is_superseded(row: ApprovalRequest) -> bool:
    """Returns whether an identical later request has succeeded, or may have, under its own key."""
    same = ApprovalRequest.objects.filter(authorization_id=row.authorization_id, digest=row.digest)
    return same.filter(pk__gt=row.pk, status__in=(Status.DONE, Status.UNKNOWN)).exists()


def _invocation(
    row: ApprovalRequest, claim: UUID, surface: Surface, requested_with: Tool, decider: Decider
) -> Invocation:
    principal = requesters.find(row, surface)
    scope = None if principal is None else principal.scope
    # Read again: the customer may be deleted, or belong to another organization.
    bound = {"bound_end_user_id": row.customer_id} if row.customer_id else {}
    return Invocation(
        surface=surface,
        principal=principal or _ended_requester(row),
        actor=_actor(row, decider),
        name=row.tool,
        arguments=stored_arguments.as_stored(row.arguments),
        binding=bound,
        request_id=f"approval-{row.pk.hex}",
        approval=Approval(row.pk, claim, requested_with, scope),
        note=f"approval request {row.pk}",
        id=row.idempotency_key,
    )


def _requested_with(row: ApprovalRequest, surface: Surface) -> Tool:
    tool = surface.catalogue.find(row.requested_with, row.organization_id)
    if tool is None:
        raise GateRefused("The tool that made this request no longer exists.")
    return tool


def _ended_requester(row: ApprovalRequest) -> Principal:
    """Returns the requester as the request has them, without any scope."""
    return Principal(
        token_id=UUID(row.credential_id),
        authorization_id=UUID(row.authorization_id),
        organization_id=row.organization_id,
        # A key has no user.
        user_id=UUID(row.user_id) if row.user_id else "",
        user_email=row.user_email,
        client_id=row.client_id,
        client_name=row.client_name,
        scope=ScopeSet(),
        mcp_server_on=organizations.flag(row.organization_id, flags.MCP_SERVER),
    )


def _actor(row: ApprovalRequest, decider: Decider) -> Actor:
    return Actor(
        kind=ActorKind.PERSON,
        organization_id=str(row.organization_id),
        user_id=str(decider.user.pk),
        user_email=decider.user.email,
        # The grant of the request, so that both rows are found by it.
        authorization_id=row.authorization_id,
        address=decider.address,
    )


def _given_back(row: ApprovalRequest, claim: UUID, before: str, message: str) -> GateRefused:
    """Releases the claim on a request of which nothing was sent."""
    held = ApprovalRequest.objects.filter(pk=row.pk, claim=claim)
    undecided = {"decided_by": None, "decided_at": None} if before == Status.PENDING else {}
    held.update(status=before, claim=None, problem=message[:500], **undecided)
    return GateRefused(message)


def _mark_sent(row: ApprovalRequest, claim: UUID) -> bool:
    """Returns whether the claim still holds."""
    held = ApprovalRequest.objects.filter(pk=row.pk, claim=claim, status=Status.RUNNING)
    # The first time is kept: the vendor remembers the key since then.
    return held.update(sent_at=Coalesce("sent_at", timezone.now())) > 0


def _close_unrun(row: ApprovalRequest, claim: UUID, before: str, problem: str) -> ApprovalRequest:
    # What an earlier attempt did stays unknown.
    status = Status.UNKNOWN if before == Status.UNKNOWN else Status.FAILED
    return _close(row, claim, status=status, problem=problem)


def _close(row: ApprovalRequest, claim: UUID, **ended: Any) -> ApprovalRequest:
    """Stores these columns of a request that has ended, and delivers it."""
    # Also if the sweeper has closed it meanwhile: only this process knows the outcome of the call.
    ApprovalRequest.objects.filter(pk=row.pk, claim=claim).update(ended_at=timezone.now(), **ended)
    row.refresh_from_db()
    delivery.deliver(row)
    return row


def _ended(outcome: Outcome) -> dict[str, Any]:
    """Returns the columns with the result or the problem of an attempt."""
    if not isinstance(outcome, Succeeded):
        return {"problem": _message(outcome)[:500]}
    result: Result = outcome.result
    # What an API returned may hold characters that a JSON column refuses.
    if isinstance(result, Blocks):
        stored = {"content": [*result.content], "structuredContent": result.structured}
        return {"result": escape_unstorable(stored)}
    return {"result": escape_unstorable(result.value)}


def _message(outcome: Outcome) -> str:
    """Why a call that was approved was not run, or did not succeed."""
    match outcome:
        case Refused(decision=decision):
            return decision.message
        case Failed(failure=failure):
            return failure.message
        case NeedsInput():
            return "The tool needs input, which an approved request cannot give."
        case Succeeded() | ApprovalPending():
            return "The call was not run, because it needs another approval."


def _status(outcome: Outcome, before: str) -> Status:
    """Returns done, failed if the vendor refused or was not called, else unknown."""
    if isinstance(outcome, Succeeded):
        return Status.DONE
    if before == Status.UNKNOWN or not isinstance(outcome, Failed):
        # A refusal now does not prove that the earlier attempt failed.
        return Status.UNKNOWN
    failure = outcome.failure
    was_refused = failure.kind == "unauthorized" or failure.upstream_status in REFUSALS
    was_never_sent = failure.kind in NEVER_SENT
    return Status.FAILED if was_refused or was_never_sent else Status.UNKNOWN
