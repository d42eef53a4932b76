"""Runs every call, from every protocol: tools, resources and prompts.

    find -> gate -> cap of the action -> bind the customer -> validate -> build what is sent
        -> review of the surface -> run -> check size -> audit

`prepare` makes the checks that can refuse a call. `execute` runs it, repeats the checks if the call
has waited, and always finishes the audit row. In between a protocol may open a stream, or pass the
call to another thread.

A call that changes something has passed its point of no return once its tool runs: from there on it
ends with an outcome, whatever fails, and never with an error that says to try again.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from audit import outcomes, record
from audit.record import Execution
from foundation.store_failures import is_store_failure
from mcp_protocol import client_capabilities, input_requests, mcp_apps
from mcp_protocol.json_writer import dumps
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry import vendors
from tools_registry.api import (
    Cancelled,
    Channel,
    Facts,
    InputRequired,
    RequestedApproval,
    Silence,
    Tool,
    ToolContext,
    ToolFailure,
)
from tools_registry.api.answers import NONE_YET, Answers
from tools_registry.api.results import UpstreamFailure
from tools_registry.pipeline import (
    action_caps,
    approval_port,
    binding,
    changes_in_flight,
    gate,
    idempotency,
    visibility,
)
from tools_registry.pipeline.call_kinds import CALL, CallSubject
from tools_registry.pipeline.gate import Decision
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    BindingRejected,
    CallCancelled,
    CallFailure,
    CallInterrupted,
    CallOutcomeUnknown,
    ChangeInterrupted,
    ConnectionLost,
    Failed,
    Invocation,
    NeedsInput,
    Outcome,
    RefusedCall,
    Settled,
    Succeeded,
    TokenEnded,
    ToolChanged,
    UnknownName,
)
from tools_registry.pipeline.nearest_name import find_nearest
from tools_registry.pipeline.surface import Surface
from tools_registry.vendors.slots import Upstream, UpstreamBusy

log = structlog.get_logger(__name__)
FRESH_SECONDS: Final = 1.0  # a call that has waited longer for its thread is checked again
SILENCE: Final = Silence()
# Of what a client carries between two calls: answers and the state of the tool.
MAX_STATE_BYTES: Final = 196_608

REQUEST_CHANGED: Final = Decision(
    allowed=False,
    reason="request_changed",
    layer="approval",
    message="What this request sends is not what was requested, because the API, the request or "
    "this server has changed since. The call has to be requested again.",
)
# What the audit row records for a failure, by its kind.
FAILURES: Final[Mapping[str, outcomes.Outcome]] = {
    "validation": outcomes.Outcome.VALIDATION_FAILED,
    "binding_rejected": outcomes.Outcome.VALIDATION_FAILED,
    "not_found": outcomes.Outcome.NOT_FOUND,
    "tool_not_found": outcomes.Outcome.NOT_FOUND,
    "resource_not_found": outcomes.Outcome.NOT_FOUND,
    "prompt_not_found": outcomes.Outcome.NOT_FOUND,
    "unauthorized": outcomes.Outcome.INTEGRATION_ERROR,
    "integration": outcomes.Outcome.INTEGRATION_ERROR,
    "declined": outcomes.Outcome.CANCELLED,
    "cancelled": outcomes.Outcome.CANCELLED,
    "interrupted": outcomes.Outcome.INTERRUPTED,
    "refused": outcomes.Outcome.REFUSED,
    "rate_limited": outcomes.Outcome.RATE_LIMITED,
    "busy": outcomes.Outcome.RATE_LIMITED,
    "token_ended": outcomes.Outcome.REFUSED,
    "tool_changed": outcomes.Outcome.REFUSED,
    "approval_rejected": outcomes.Outcome.REFUSED,
}


def run(invocation: Invocation, channel: Channel = SILENCE) -> Outcome:
    """Run a call from the first check to its audit row."""
    return prepare(invocation) or execute(invocation, channel)[1]


def _nearest_tool(invocation: Invocation) -> str:
    """The name nearest to an unknown one, of the tools that the caller can see."""
    if invocation.kind is not CALL:
        return ""
    principal, surface = invocation.principal, invocation.surface
    # Most unknown names are near to none: the switches are not read for them.
    tools = surface.catalogue.tools(principal.organization_id)
    if not find_nearest(invocation.name, (tool.name for tool in tools)):
        return ""
    visible = visibility.tools(principal, surface)
    return find_nearest(invocation.name, (tool.name for tool in visible))


def prepare(
    invocation: Invocation, check: Callable[[CallSubject], None] | None = None
) -> Settled | None:
    """Make the checks that can refuse the call, and find its subject and its customer.

    An outcome is recorded here and returned; None means that the call may be executed. `check` is a
    further check of the protocol, made after the gate and before the arguments are validated; what
    it raises is passed on.
    """
    catalogue, organization_id = invocation.surface.catalogue, invocation.principal.organization_id
    subject = invocation.kind.find(catalogue, invocation.name, organization_id)
    if subject is None:
        failed = Failed(UnknownName(invocation.kind.unknown, _nearest_tool(invocation)))
        _record(invocation, None, failed)
        return failed
    invocation.subject = subject
    refused = _find_refusal(invocation, subject)
    if refused is not None:
        _record(invocation, subject, refused)
        return refused
    try:
        if invocation.binding:
            invocation.customer = binding.customer(organization_id, invocation.binding)
        if check is not None:
            check(subject)
        invocation.validated = invocation.kind.validate(subject, invocation.arguments)
        outcome = _settle(invocation)
    except ToolFailure as failure:
        return fail(invocation, failure)
    if outcome is not None:
        _record(invocation, subject, outcome)
    return outcome


def _settle(invocation: Invocation) -> Settled | None:
    """Returns how a valid call ends without being run, None to run it. Raises ToolFailure."""
    if not (invocation.idempotency_key and invocation.subject.mutates):
        return _review(invocation)
    outcome = idempotency.find_first_outcome(invocation)
    if outcome is not None:
        invocation.note = idempotency.NOTE
        return outcome
    outcome = _review(invocation)
    if isinstance(outcome, Succeeded):  # the call was approved, and has been executed
        idempotency.store(invocation, outcome)
    return outcome


def _review(invocation: Invocation) -> Settled | None:
    """Builds what the call sends; returns how it ends without being run (`Surface.review`).

    Raises ToolFailure.
    """
    build, approval = invocation.subject.outgoing, invocation.approval
    if build is not None:
        invocation.outgoing = build(invocation.principal.organization_id, invocation.validated)
    if approval is not None and not approval_port.store().is_unchanged(
        approval, invocation.outgoing
    ):
        return RefusedCall(REQUEST_CHANGED)
    review = invocation.surface.review
    return review(invocation) if review is not None else None


def execute(invocation: Invocation, channel: Channel = SILENCE) -> tuple[UUID, Outcome]:
    """Run a prepared call; returns the id of its audit row, and the outcome.

    The row is finished whatever happens in the tool. That of a call that changes something is
    written before it begins; nothing is raised after that. Raises NotStored if a read cannot be
    recorded anywhere.
    """
    if channel.is_cancelled():
        return _end_unbegun(invocation, _stop_failure(channel))
    subject = invocation.subject
    with ExitStack() as held:
        # Before anything is recorded as begun: a call that is refused here was never begun, and one
        # that changes something at a vendor is not refused halfway.
        if subject.integration or invocation.outgoing is not None:
            try:
                slot = vendors.hold_slot(_find_upstream(invocation), channel)
                invocation.waited = held.enter_context(slot)
            except UpstreamBusy as busy:
                return _end_unbegun(invocation, busy)
            except Cancelled:
                return _end_unbegun(invocation, _stop_failure(channel))
        if subject.mutates:
            held.enter_context(changes_in_flight.hold())
            return _execute_change(invocation, channel)
        outcome = _attempt_call(invocation, channel)
        call = _execution(invocation, subject, outcome)
        return record.ended_execution(invocation.actor or invocation.principal, call), outcome


def _find_upstream(invocation: Invocation) -> Upstream | None:
    """Returns the server that the call waits for, None if it waits for no other server."""
    subject, organization_id = invocation.subject, invocation.principal.organization_id
    outgoing = invocation.outgoing
    if subject.waits and outgoing is not None:
        target = invocation.surface.name
        return Upstream(organization_id, target, outgoing.origin, outgoing.seconds)
    return vendors.find_upstream(organization_id, subject.integration)


def _end_unbegun(invocation: Invocation, failure: ToolFailure) -> tuple[UUID, Outcome]:
    outcome = Failed(failure)
    return _record(invocation, invocation.subject, outcome), outcome


def _execute_change(invocation: Invocation, channel: Channel) -> tuple[UUID, Outcome]:
    begun = _begin_change(invocation)
    if not isinstance(begun, UUID):
        return _record(invocation, invocation.subject, begun), begun
    row, outcome = begun, _attempt_call(invocation, channel)
    try:
        record.finish(row, _execution(invocation, invocation.subject, outcome))
        if invocation.idempotency_key:
            idempotency.store(invocation, outcome)
    except DatabaseError:  # NotStored, or an entry that the database does not accept
        # The caller gets the outcome all the same: the change is made, and must not be repeated.
        log.exception("outcome_not_recorded", execution=str(row))
    return row, outcome


def _begin_change(invocation: Invocation) -> UUID | Settled:
    """Records that a call begins; or the outcome of another one with the same idempotency key."""
    if not invocation.idempotency_key:
        return _record(invocation, invocation.subject)
    try:
        # Together: without its row the call does not run, and its key stays new.
        with transaction.atomic():
            outcome = idempotency.begin(invocation)
            if outcome is None:
                return _record(invocation, invocation.subject)
    except ToolFailure as failure:
        return Failed(failure)
    invocation.note = idempotency.NOTE
    return outcome


def resume(before: Invocation, who: Principal, answers: Answers) -> Invocation:
    """A call that needed input, to be run again from its first check with a row of its own."""
    return replace(
        before,
        principal=who,
        answers=answers,
        is_charged=True,
        started_at=datetime.now(UTC),
        clock=time.perf_counter(),
    )


def fail(invocation: Invocation, failure: ToolFailure) -> Failed:
    """End a call without running it; an audit row of its own records the failure."""
    failed = Failed(failure)
    _record(invocation, invocation.subject, failed)
    return failed


def decide(invocation: Invocation, subject: CallSubject) -> Decision:
    """The gate's decision about a call, with the switches as they are now."""
    who = invocation.principal
    if invocation.approval is not None:
        # The tool that made the request may belong to another integration.
        switches = gate.all_switches(who.organization_id, mcp_server_on=who.mcp_server_on)
        return gate.decide_approved(subject, invocation.approval, switches, invocation.surface)
    switches = gate.switches_for_tool(who.organization_id, subject, mcp_server_on=who.mcp_server_on)
    decision = gate.decide(subject, who.scope, switches, invocation.surface)
    has_switches = decision.allowed and subject.integration
    limit = gate.cap(subject, switches) if has_switches else None
    return decision if limit is None else replace(decision, calls_per_minute=limit)


def recheck(who: Principal, surface: Surface) -> Principal:
    """The principal with what its credential permits now. Raises TokenEnded."""
    try:
        return credentials.recheck(who.credential, who.token_id, surface.credentials)
    except Unauthenticated:
        raise TokenEnded from None


def _find_refusal(invocation: Invocation, subject: CallSubject) -> RefusedCall | None:
    """The gate's refusal, else that of the action's cap: a call that is refused is not counted."""
    decision = decide(invocation, subject)
    if not decision.allowed:
        return RefusedCall(decision)
    limit = decision.calls_per_minute
    if limit is None or invocation.is_charged:
        return None
    verdict = action_caps.charge(
        invocation.principal.organization_id, subject.integration, subject.action, limit
    )
    return None if verdict is None else RefusedCall(action_caps.EXCEEDED, verdict)


def _attempt_call(invocation: Invocation, channel: Channel) -> Outcome:
    has_begun = False
    try:
        waited = time.monotonic() - invocation.principal.as_of
        is_fresh = waited < FRESH_SECONDS or invocation.approval is not None
        refused = None if is_fresh else _recheck_call(invocation)
        if refused is not None:
            return refused
        has_begun = invocation.subject.mutates
        return _run_subject(invocation, channel)
    except ToolFailure as failure:
        return Failed(failure)
    except Cancelled:
        return Failed(_stop_failure(channel, has_begun=has_begun))
    except (Exception, SystemExit) as error:
        # The traceback stays in the log. SystemExit: a library must not end the server.
        request_id = invocation.request_id
        log.exception("tool_failed", tool=invocation.subject.name, request_id=request_id)
        if is_store_failure(error) and not has_begun:
            return Failed(ConnectionLost())
        return Failed(CallFailure(f"The tool failed. Quote {request_id} to your admin."))


def _recheck_call(invocation: Invocation) -> Settled | None:
    """Check credential, gate, binding and review of a call again that has waited for its thread.

    Raises TokenEnded, ToolChanged and BindingRejected.
    """
    who = invocation.principal = recheck(invocation.principal, invocation.surface)
    found = invocation.kind.find(invocation.surface.catalogue, invocation.name, who.organization_id)
    # Templates make their resources for each call; a tool is the same object until it changes.
    if found is None or (isinstance(found, Tool) and found is not invocation.subject):
        raise ToolChanged
    decision = decide(invocation, invocation.subject)
    if not decision.allowed:
        return RefusedCall(decision)
    invocation.customer = binding.customer(who.organization_id, invocation.binding)
    invocation.is_charged = True
    return _review(invocation)


def _run_subject(invocation: Invocation, channel: Channel) -> Outcome:
    if channel.is_cancelled():
        raise Cancelled
    try:
        result = _run_with_reconnect(invocation, channel)
    except InputRequired as required:
        return _needs_input(invocation, required)
    return Succeeded(result, invocation.kind.text(result))


def _run_with_reconnect(invocation: Invocation, channel: Channel) -> Any:
    """What the tool returns. A lost connection is replaced; a tool that only reads runs again once.

    Raises ConnectionLost if it was lost again, CallOutcomeUnknown if the tool may have changed
    something.
    """
    subject, arguments = invocation.subject, invocation.validated
    may_repeat = True
    while True:
        try:
            return subject.run(_context(invocation, channel), **arguments)
        except (InterfaceError, OperationalError) as error:
            raw = connection.connection
            # SQLite's have no such attribute: there is no connection to lose.
            if raw is not None and not getattr(raw, "closed", False):
                raise
            log.warning("database_connection_lost")
            if not connection.in_atomic_block:
                connection.close()
            if subject.mutates:
                raise CallOutcomeUnknown from error
            if connection.in_atomic_block or not may_repeat:
                raise ConnectionLost from error
            may_repeat = False


def _context(invocation: Invocation, channel: Channel) -> ToolContext:
    who, subject, answers = invocation.principal, invocation.subject, invocation.answers
    # A change is made on answers to questions that were asked, never on unsolicited ones.
    is_usable = answers.verified or not subject.mutates
    of_integration: dict[str, Any] = {}
    if subject.integration:
        of_integration["vendor"] = vendors.get_vendor(
            who.organization_id, subject.integration, channel, waited=invocation.waited
        )
    return visibility.context(
        who,
        invocation.surface,
        channel,
        customer=invocation.customer,
        call_id=invocation.id,
        client_capabilities=invocation.client_capabilities,
        answers=answers if is_usable else NONE_YET,
        outgoing=invocation.outgoing,
        waited=invocation.waited,
        request_approval=partial(_request_approval, invocation),
        **of_integration,
    )


def _request_approval(invocation: Invocation, **requested: Any) -> RequestedApproval:
    """Request an approval in the name of a call (`tools_registry.api.RequestApproval`)."""
    requester, surface = invocation.principal, invocation.surface.name
    store = approval_port.store()
    request = store.request(
        requester, surface, invocation.subject, invocation.customer, **requested
    )
    if not mcp_apps.has_declared_apps(invocation.client_capabilities):
        return request
    return replace(request, meta=store.result_meta(request))


def _needs_input(invocation: Invocation, required: InputRequired) -> NeedsInput:
    if invocation.is_repeated:
        carried = len(dumps([invocation.answers.by_key, required.state]))
        if carried > MAX_STATE_BYTES:
            raise ValueError(f"the state of a call is over {MAX_STATE_BYTES} bytes")
    needed = input_requests.required_capabilities(required.requests)
    missing = {} if client_capabilities.covers(invocation.client_capabilities, needed) else needed
    return NeedsInput(invocation, required.requests, required.state, missing)


def _stop_failure(channel: Channel, *, has_begun: bool = False) -> CallFailure:
    """The failure of a call that was stopped; `has_begun` if it may have changed something."""
    if not channel.is_interrupted():
        return CallCancelled()
    return ChangeInterrupted() if has_begun else CallInterrupted()


def _record(
    invocation: Invocation, subject: CallSubject | None, outcome: Outcome | None = None
) -> UUID:
    """Write the audit row of a call: with its outcome, or as started."""
    call = _execution(invocation, subject, outcome)
    return record.execution(invocation.actor or invocation.principal, call)


def _execution(
    invocation: Invocation, subject: CallSubject | None, outcome: Outcome | None
) -> Execution:
    """What the audit row says of a call, and of its outcome if it is over."""
    actor, customer = invocation.actor, invocation.customer
    arguments, recorded = invocation.arguments, invocation.surface.recorded
    call = Execution(
        actor_kind=invocation.principal.actor_kind if actor is None else actor.kind,
        address=invocation.address if actor is None else actor.address,
        surface=invocation.surface.name,
        method=invocation.kind.method,
        # The name, not the alias: rows are filtered by it.
        tool=invocation.kind.name(subject) if subject else invocation.name,
        integration=subject.integration if subject else "",
        action=subject.action if subject else "",
        arguments=arguments if recorded is None else recorded(subject, arguments),
        bound_customer_id=customer.id if customer else "",
        request_id=invocation.request_id,
        revision=invocation.protocol,
        started_at=invocation.started_at,
        detail=invocation.note,
    )
    if outcome is not None:
        call.duration_us = int((time.perf_counter() - invocation.clock) * 1_000_000)
        _describe(call, outcome)
    return call


def _describe(call: Execution, outcome: Outcome) -> None:
    """Fill in what the audit row says of an outcome; `detail` begins with the note of the call."""
    match outcome:
        case Succeeded(result=result):
            call.outcome = outcomes.Outcome.SUCCESS
            call.row_count = result.row_count if isinstance(result, Facts) else None
        case RefusedCall(decision=decision, verdict=verdict):
            is_limit = verdict is not None or decision.layer == "quota"
            call.outcome = outcomes.Outcome.RATE_LIMITED if is_limit else outcomes.Outcome.REFUSED
            call.reason, call.layer = decision.reason, decision.layer
            call.detail = _join_notes(call.detail, action_caps.NAME if verdict else "")
        case ApprovalPending():
            call.outcome, call.reason = outcomes.Outcome.PENDING_APPROVAL, "approval_required"
        case NeedsInput(invocation=invocation, missing=missing):
            is_lacking = bool(missing) and invocation.is_repeated
            call.outcome = outcomes.Outcome.INPUT_REQUIRED
            call.reason = "missing_capability" if is_lacking else "input_required"
        case Failed(failure=failure):
            call.outcome = FAILURES.get(failure.kind, outcomes.Outcome.TOOL_ERROR)
            call.reason, call.upstream_status = failure.kind, failure.upstream_status
            call.layer = failure.layer if isinstance(failure, CallFailure) else ""
            call.detail = _join_notes(call.detail, _detail(failure))


def _join_notes(note: str, detail: str) -> str:
    return "; ".join(filter(None, (note, detail)))


def _detail(failure: ToolFailure) -> str:
    if isinstance(failure, BindingRejected):
        return failure.attempted
    by_field = ": ".join(part for part in (failure.field, failure.reason) if part)
    is_upstream = isinstance(failure, UpstreamFailure) or failure.upstream_status is not None
    # An admin needs the sentence about the vendor that the caller got.
    return failure.message if is_upstream and not by_field else by_field
