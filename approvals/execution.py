"""Executes approved requests from their rows, in the background worker.

    begin (one UPDATE) -> gate, binding and arguments again -> mark as sent -> run
        -> store the outcome -> deliver

Whoever begins a request calls the vendor, always with the request's own idempotency key; one that
was sent is never sent again. One that could not be sent for a reason that passes, such as too many
calls to its API, is queued again; one of which nothing was sent, as when the connection was
refused, waits for a decision again. No transaction is open meanwhile. Each call has a thread of its
own (`foundation/concurrency/job_threads.py`), so that a slow vendor holds up nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals import delivery, expiry, masked_arguments, requesters, stored_arguments
from approvals.models import ApprovalRequest, ApprovalStatus, ExecutionState
from approvals.surface_rules import find_rules
from audit.outcomes import ActorKind
from audit.record import Actor
from foundation import journal, leases, queueing
from foundation.concurrency import job_threads
from foundation.concurrency.job_threads import NoJobThread
from foundation.db.storable import escape_unstorable
from foundation.journal import NotStored
from mcp_protocol.meta_keys import META
from oauth.principal import Principal
from oauth.scopes import ScopeSet
from tools_registry.api import Blocks, NotDone, NotSent, Result, UpstreamOutcomeUnknown
from tools_registry.pipeline import calls, surfaces
from tools_registry.pipeline.approval_port import Approval
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    CallCancelled,
    CallInterrupted,
    ChangeInterrupted,
    ConnectionLost,
    Failed,
    Invocation,
    NeedsInput,
    Outcome,
    PreparedCall,
    RefusedCall,
    Succeeded,
)
from tools_registry.vendors.client import REFUSALS
from tools_registry.vendors.slots import UpstreamBusy
from workspace import flags, organizations

log = structlog.get_logger(__name__)

TASK: Final = "approvals.execute"
# The kind of an entry in the journal.
OUTCOME: Final = "approvals.outcome"
# Failures before anything is sent to the vendor: those that the call would have again, by kind or
# class, and those that pass.
NEVER_SENT: Final = frozenset({"validation", "not_found", "binding_rejected"})
PASSING: Final = (UpstreamBusy, ConnectionLost, CallCancelled, CallInterrupted)
UNMOUNTED: Final = (
    "This server no longer has the endpoint “{surface}” that the request was made through, so it "
    "cannot be executed."
)
UNSENT: Final = "{message} Nothing was sent. It can be approved again."
GONE: Final = "The tool “{tool}” no longer exists, so the request cannot be executed."
REQUESTED_WITH_GONE: Final = "The tool that made this request no longer exists."
# Refusals that last: the call of the request can never be run again.
LASTING: Final = frozenset({"document_changed", "request_changed"})
GRANT_ENDED: Final = "grant_ended"
SUSPENDED: Final = (
    "The person who requested this is suspended. It was not executed and waits: approve it again "
    "once the membership is restored."
)
# The columns of a request that is not executed any more.
RELEASED: Final[Mapping[str, str]] = {"execution_state": "", "decider_address": ""}


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """Why an approved request is not executed. It waits as before, unless it has `ended` so."""

    message: str
    ended: Mapping[str, Any] | None = field(default=None)


def queue(row: ApprovalRequest) -> None:
    """Has the worker execute a request that was approved."""
    if _own(row).update(execution_state=ExecutionState.QUEUED):
        queueing.send(TASK, str(row.pk))


def start(request_id: UUID) -> bool:
    """Executes a queued request in a thread of this process; returns whether it had one for it.

    One that finds no thread stays queued.
    """
    row = _queued_requests().filter(pk=request_id).first()
    if row is None or leases.is_stopping():
        return False
    try:
        with job_threads.reserve_for_organization(row.organization_id) as thread:
            thread.start(partial(_execute_all, row))
    except NoJobThread:
        return False
    return True


def start_queued() -> int:
    """Executes the requests that are queued, as far as there are threads; returns how many."""
    keys = [*_queued_requests().order_by("claimed_at").values_list("pk", flat=True)]
    return sum(map(start, keys))


def stop(seconds: float) -> bool:
    """Begins nothing more, and waits for what runs; returns whether all of it has ended."""
    leases.begin_stop()
    return job_threads.wait_until_idle(seconds)


def prepare(row: ApprovalRequest) -> PreparedCall | NotExecuted:
    """Makes the checks of a call again, for a request that is claimed."""
    surface = surfaces.find(row.surface)
    if surface is None:
        return _fail(row, UNMOUNTED.format(surface=row.surface))
    if not masked_arguments.mask_request(row).has_schema:
        # Not by the catalogue, which is read again later: nobody could read the arguments.
        return _fail(row, GONE.format(tool=row.tool))
    requested_with = surface.catalogue.find(row.requested_with, row.organization_id)
    if requested_with is None or row.claim is None:
        return NotExecuted(REQUESTED_WITH_GONE)
    if problem := find_rules(row).find_obstacle(row):
        return NotExecuted(problem)
    principal = requesters.find(row, surface)
    scope = None if principal is None else principal.scope
    # Read again: the customer may be deleted, or belong to another organization.
    bound = {"bound_end_user_id": row.customer_id} if row.customer_id else {}
    invocation = Invocation(
        surface=surface,
        principal=principal or _ended_requester(row),
        actor=_actor(row),
        name=row.tool,
        arguments=stored_arguments.as_stored(row.arguments),
        binding=bound,
        request_id=f"approval-{row.pk.hex}",
        approval=Approval(row.pk, row.claim, requested_with, scope),
        note=f"approval request {row.pk}",
        id=row.idempotency_key,
    )
    step = calls.prepare(invocation)
    return step if isinstance(step, PreparedCall) else _explain_refusal(row, step)


def leave(row: ApprovalRequest, why: NotExecuted) -> None:
    """Stores why a claimed request is not executed."""
    if why.ended is not None:
        _end(row, why.ended)
        return
    is_undecided = row.status_before == ApprovalStatus.PENDING
    undecided = {"decided_by": None, "decided_at": None} if is_undecided else {}
    _own(row).update(
        status=row.status_before, claim=None, problem=why.message[:500], **undecided, **RELEASED
    )


def write_outcome(entry: journal.Entry) -> None:
    """Stores the end of a request, and delivers it (`foundation.journal.Write`)."""
    columns = {**entry["columns"], "ended_at": datetime.fromisoformat(entry["ended_at"])}
    # Also if the sweeper has closed it meanwhile: only this process knows the outcome of the call.
    rows = ApprovalRequest.objects.filter(pk=entry["request"], claim=entry["claim"])
    if rows.update(**columns):
        delivery.deliver(rows.get())


def _own(row: ApprovalRequest) -> QuerySet[ApprovalRequest]:
    """Returns the request while it is running under the claim of this row."""
    return ApprovalRequest.objects.filter(pk=row.pk, claim=row.claim, status=ApprovalStatus.RUNNING)


def _queued_requests() -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(
        status=ApprovalStatus.RUNNING, execution_state=ExecutionState.QUEUED
    )


def _execute_all(row: ApprovalRequest) -> None:
    """Executes a request, and those of its organization that were queued meanwhile.

    In turns where they are of several surfaces, since the API behind one of them may be slow. Those
    of a surface whose calls cannot begin wait for `start_queued`.
    """
    following: ApprovalRequest | None = row
    busy: set[str] = set()
    while following is not None and not leases.is_stopping():
        if not _execute(following):
            busy.add(following.surface)
        of_organization = _queued_requests().filter(organization=row.organization_id)
        left = of_organization.exclude(surface__in=busy).order_by("claimed_at")
        following = left.exclude(surface=following.surface).first() or left.first()


def _execute(queued: ApprovalRequest) -> bool:
    """Executes a request; returns whether it is over, False if it was queued again."""
    row = _begin(queued)
    if row is None:
        return True  # another process has begun it, or it is not approved any more
    call = prepare(row)
    if isinstance(call, NotExecuted):
        leave(row, call)
        return True
    if not _mark_sent(row):
        return True  # the claim has expired meanwhile
    execution, outcome = calls.run_recorded(call)
    if _has_not_begun(outcome):
        _queue_again(row)
        return False
    if _was_never_sent(outcome) and row.status_before == ApprovalStatus.PENDING:
        _let_wait(row, execution, UNSENT.format(message=_message(outcome)))
        return True
    status = _status(outcome, row.status_before)
    _end(row, {"status": status, "execution_id": str(execution), **_result(outcome)})
    return True


def _begin(queued: ApprovalRequest) -> ApprovalRequest | None:
    """Returns the request if this process is the one that executes it."""
    rows = _queued_requests().filter(pk=queued.pk, claim=queued.claim)
    begun = rows.update(execution_state=ExecutionState.BEGUN, claimed_at=timezone.now())
    if not begun:
        return None
    return ApprovalRequest.objects.select_related("decided_by").get(pk=queued.pk)


def _mark_sent(row: ApprovalRequest) -> bool:
    """Returns whether the claim still holds."""
    # The first time is kept: the vendor remembers the key since then.
    return _own(row).update(sent_at=Coalesce("sent_at", timezone.now())) > 0


def _has_not_begun(outcome: Outcome) -> bool:
    """Returns whether the call was not begun, for a reason that passes."""
    failure = outcome.failure if isinstance(outcome, Failed) else None
    return isinstance(failure, PASSING) and not isinstance(failure, ChangeInterrupted)


def _queue_again(row: ApprovalRequest) -> None:
    """Has the worker execute a request later that it could not begin: it stays approved."""
    _own(row).update(
        execution_state=ExecutionState.QUEUED, claimed_at=timezone.now(), sent_at=row.sent_at
    )


def _was_never_sent(outcome: Outcome) -> bool:
    """Returns whether the other side cannot have received anything of the call."""
    return isinstance(outcome, Failed) and isinstance(outcome.failure, NotSent)


def _let_wait(row: ApprovalRequest, execution: UUID, problem: str) -> None:
    """Has a request of which nothing was sent wait for a decision again."""
    undecided = {**expiry.UNDECIDED, "problem": problem[:500], "sent_at": row.sent_at}
    _own(row).update(execution_id=str(execution), **undecided)


def _end(row: ApprovalRequest, columns: Mapping[str, Any]) -> None:
    entry = {
        "request": str(row.pk),
        "claim": str(row.claim),
        "columns": {**columns, **RELEASED},
        "ended_at": timezone.now().isoformat(),
    }
    try:
        journal.store(OUTCOME, entry)
    except NotStored:
        # It is marked as unknown later.
        log.exception("approval_outcome_not_stored", request=str(row.pk))


def _explain_refusal(row: ApprovalRequest, refused: Outcome) -> NotExecuted:
    reason = refused.decision.reason if isinstance(refused, RefusedCall) else ""
    message = _message(refused)
    if reason in LASTING:
        return _fail(row, message)
    if reason == GRANT_ENDED and expiry.is_requester_suspended(row):
        return NotExecuted(SUSPENDED)
    if reason == GRANT_ENDED and row.status_before == ApprovalStatus.PENDING:
        return NotExecuted(message, {**expiry.LEFT, "decided_by": None, "decided_at": None})
    return NotExecuted(message)


def _fail(row: ApprovalRequest, problem: str) -> NotExecuted:
    # What an earlier attempt did stays unknown.
    is_unknown = row.status_before == ApprovalStatus.UNKNOWN
    status = ApprovalStatus.UNKNOWN if is_unknown else ApprovalStatus.FAILED
    return NotExecuted(problem, {"status": status, "problem": problem})


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


def _actor(row: ApprovalRequest) -> Actor:
    user = row.decided_by
    return Actor(
        kind=ActorKind.PERSON,
        organization_id=str(row.organization_id),
        user_id=str(user.pk) if user else "",
        user_email=user.email if user else "",
        # The grant of the request, so that both rows are found by it.
        authorization_id=row.authorization_id,
        address=row.decider_address,
    )


def _result(outcome: Outcome) -> dict[str, Any]:
    """Returns the columns with the result or the problem of an attempt."""
    if not isinstance(outcome, Succeeded):
        return {"problem": _message(outcome)[:500]}
    result: Result = outcome.result
    # What an API returned may hold characters that a JSON column refuses.
    if isinstance(result, Blocks):
        stored = {"content": [*result.content], "structuredContent": result.structured}
        meta = {META: result.meta} if result.meta else {}
        return {"result": escape_unstorable(stored | meta)}
    return {"result": escape_unstorable(result.value)}


def _message(outcome: Outcome) -> str:
    """Why a call that was approved was not run, or did not succeed."""
    match outcome:
        case RefusedCall(decision=decision):
            return decision.message
        case Failed(failure=failure):
            return failure.message
        case NeedsInput():
            return "The tool needs input, which an approved request cannot give."
        case Succeeded() | ApprovalPending():
            return "The call was not run, because it needs another approval."


def _status(outcome: Outcome, before: str) -> ApprovalStatus:
    """Returns done, failed if the vendor refused or was not called, else unknown."""
    if isinstance(outcome, Succeeded):
        return ApprovalStatus.DONE
    if before == ApprovalStatus.UNKNOWN or not isinstance(outcome, Failed):
        # A refusal now does not prove that the earlier attempt failed.
        return ApprovalStatus.UNKNOWN
    failure = outcome.failure
    if isinstance(failure, UpstreamOutcomeUnknown):
        return ApprovalStatus.UNKNOWN
    was_refused = failure.kind == "unauthorized" or failure.upstream_status in REFUSALS
    was_not_done = failure.kind in NEVER_SENT or isinstance(failure, NotDone)
    return ApprovalStatus.FAILED if was_refused or was_not_done else ApprovalStatus.UNKNOWN
