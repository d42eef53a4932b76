"""Runs every call, from every protocol: tools, resources and prompts.

    find -> gate -> cap of the action -> bind the customer -> validate -> build what is sent
        -> review of the surface -> run -> check size -> audit

`prepare` makes the checks that can refuse a call, and returns a `PreparedCall` or an outcome.
`run` runs it, repeats the checks if the call has waited, and always finishes the audit row. In
between a protocol may open a stream, or pass the call to another thread.

A call that changes something has passed its point of no return once its tool runs: from there on it
ends with an outcome, whatever fails, and never with an error that says to try again.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from audit import outcomes, record
from audit.record import Execution
from foundation import ids, limits
from foundation.db.statements import Statement
from foundation.json_text import dumps
from foundation.limits import Bucket, Verdict
from foundation.store_failures import is_store_failure
from mcp_protocol import client_capabilities, input_requests, mcp_apps
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry import vendors
from tools_registry.api import (
    BoundCustomer,
    Cancelled,
    Channel,
    Facts,
    InputRequired,
    RequestedApproval,
    Silence,
    Tool,
    ToolContext,
    ToolFailure,
    WidgetKeys,
)
from tools_registry.api.answers import NONE_YET, Answers
from tools_registry.api.results import UpstreamFailure
from tools_registry.pipeline import (
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
    FinalOutcome,
    Invocation,
    NeedsInput,
    Outcome,
    PreparedCall,
    RefusedCall,
    Succeeded,
    Surface,
    TokenEnded,
    ToolChanged,
    UnknownName,
)
from tools_registry.vendors.slots import Upstream, UpstreamBusy
from workspace import caps
from workspace.models import Organization

log = structlog.get_logger(__name__)
WIDGET_KEY: Final = Statement("SELECT widget_key FROM workspace_organization WHERE id = %s")
FRESH_SECONDS: Final = 1.0  # a call that has waited longer for its thread is checked again
SILENCE: Final = Silence()
# Of what a client carries between two calls: answers and the state of the tool.
MAX_STATE_BYTES: Final = 196_608

# Names beyond this length are compared by their beginnings.
MAX_NAME_LENGTH: Final = 128
NAME_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")

# What the audit row calls the cap of an action, and the beginning of its buckets' keys.
ACTION_CAP: Final = "action"
CAP_EXCEEDED: Final = Decision(allowed=False, reason="rate_limited", layer="rate_limit")
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


class OrganizationFacts:
    """Facts about their organization that tools may read (`tools_registry.api.Workspace`)."""

    def widget_keys(self, organization_id: str) -> WidgetKeys:
        row = WIDGET_KEY.row(UUID(organization_id))
        if row is None:
            raise Organization.DoesNotExist
        return WidgetKeys(
            organization_id=organization_id,
            widget_key=row[0],
            script_url=settings.HALO_WIDGET_SCRIPT_URL,
        )


ORGANIZATION_FACTS: Final = OrganizationFacts()


def prepare_and_run(invocation: Invocation, channel: Channel = SILENCE) -> Outcome:
    """Run a call from the first check to its audit row."""
    prepared = prepare(invocation)
    return run(prepared, channel) if isinstance(prepared, PreparedCall) else prepared


def prepare(
    invocation: Invocation, check: Callable[[CallSubject], None] | None = None
) -> PreparedCall | FinalOutcome:
    """Make the checks that can refuse the call: returns it as prepared, or how it has ended.

    An outcome has been recorded. `check` is a further check of the protocol, made after the gate
    and before the arguments are validated; what it raises is passed on.
    """
    who, kind = invocation.principal, invocation.kind
    subject = kind.find(invocation.surface.catalogue, invocation.name, who.organization_id)
    if subject is None:
        failure = UnknownName(kind.unknown, _nearest_tool(invocation))
        return _end(invocation, None, Failed(failure))
    decision = _decide(who, invocation, subject)
    if not decision.allowed:
        return _end(invocation, subject, RefusedCall(decision, scope=who.scope))
    # After the gate: a call that it refuses is not counted.
    limit = None if invocation.is_charged else decision.calls_per_minute
    if limit is not None:
        verdict = _charge_cap(who.organization_id, subject, limit)
        if verdict is not None:
            return _end(invocation, subject, RefusedCall(CAP_EXCEEDED, verdict))
    customer = None
    try:
        if invocation.binding:
            customer = binding.customer(who.organization_id, invocation.binding)
        if check is not None:
            check(subject)
        arguments = kind.validate(subject, invocation.arguments)
        call = PreparedCall(invocation, who, subject, arguments, customer, invocation.is_charged)
        has_key = invocation.idempotency_key and subject.mutates
        step = _review_once(call) if has_key else _review(call)
    except ToolFailure as failed:
        step = Failed(failed)
    return step if isinstance(step, PreparedCall) else _end(invocation, subject, step, customer)


def _nearest_tool(invocation: Invocation) -> str:
    """The name nearest to an unknown one, of the tools that the caller can see."""
    if invocation.kind is not CALL:
        return ""
    principal, surface = invocation.principal, invocation.surface
    # Most unknown names are near to none: the switches are not read for them.
    tools = surface.catalogue.tools(principal.organization_id)
    if not _find_nearest(invocation.name, (tool.name for tool in tools)):
        return ""
    visible = visibility.tools(principal, surface)
    return _find_nearest(invocation.name, (tool.name for tool in visible))


def _find_nearest(name: str, known: Iterable[str]) -> str:
    """Returns the nearest of the known names, or nothing if none is near.

    Hosts write other separators, and a prefix of their own such as `mcp__halo__`.
    """
    wanted = _plain_name(name[:MAX_NAME_LENGTH])
    by_plain = {_plain_name(one): one for one in sorted(known)}
    if wanted in by_plain:
        return by_plain[wanted]
    ends = [plain for plain in by_plain if wanted.endswith(f"_{plain}")]
    close = [max(ends, key=len)] if ends else get_close_matches(wanted, by_plain, n=1, cutoff=0.7)
    return by_plain[close[0]] if close else ""


def _plain_name(name: str) -> str:
    return NAME_SEPARATORS.sub("_", name.lower()).strip("_")


def _decide(who: Principal, invocation: Invocation, subject: CallSubject) -> Decision:
    """The gate's decision about a call of a caller, with the switches as they are now."""
    surface, approval = invocation.surface, invocation.approval
    if approval is not None:
        # The tool that made the request may belong to another integration.
        switches = gate.all_switches(who.organization_id, mcp_server_on=who.mcp_server_on)
        return gate.decide_approved(subject, approval, switches, surface)
    switches = gate.switches_for_tool(who.organization_id, subject, mcp_server_on=who.mcp_server_on)
    decision = gate.decide(subject, who.scope, switches, surface)
    has_switches = decision.allowed and subject.integration
    limit = gate.cap(subject, switches) if has_switches else None
    return decision if limit is None else replace(decision, calls_per_minute=limit)


def _charge_cap(
    organization_id: UUID, subject: CallSubject, calls_per_minute: int
) -> Verdict | None:
    """Count a call against its action's cap; returns the verdict that refuses it.

    An admin sets how many calls a minute are allowed, over all connections together.
    """
    key = f"{ACTION_CAP}:{organization_id}:{subject.integration}.{subject.action}"
    bucket = Bucket(key, caps.limit(calls_per_minute))
    return limits.charge_or_share([bucket], record.limits_unavailable)


def _review_once(call: PreparedCall) -> PreparedCall | FinalOutcome:
    """Review a call with an idempotency key, unless its key has an outcome. Raises ToolFailure."""
    first = idempotency.find_first_outcome(call)
    if first is not None:
        return first
    step = _review(call)
    if isinstance(step, Succeeded):  # the call was approved, and has been executed
        idempotency.store(call, step, has_run=True)
    return step


def _review(call: PreparedCall) -> PreparedCall | FinalOutcome:
    """Build what a call sends; returns the call with it, or how it ends without being run.

    The surface has the last word (`Surface.review`). Raises ToolFailure.
    """
    build, approval = call.subject.outgoing, call.invocation.approval
    if build is not None:
        call = replace(call, outgoing=build(call.principal.organization_id, call.arguments))
    if approval is not None and not approval_port.store().is_unchanged(approval, call.outgoing):
        return RefusedCall(REQUEST_CHANGED)
    review = call.invocation.surface.review
    return call if review is None else review(call)


def run(call: PreparedCall, channel: Channel = SILENCE) -> Outcome:
    """Run a prepared call to the end of its audit row (`run_recorded`)."""
    return run_recorded(call, channel)[1]


def run_recorded(call: PreparedCall, channel: Channel = SILENCE) -> tuple[UUID, Outcome]:
    """Run a prepared call; returns the id of its audit row, and the outcome.

    The row is finished whatever happens in the tool. That of a call that changes something is
    written before it begins; nothing is raised after that. Raises NotStored if a read cannot be
    recorded anywhere.
    """
    if channel.is_cancelled():
        return _end_unbegun(call, _stop_failure(channel))
    with ExitStack() as held:
        # Before anything is recorded as begun: a call that is refused here was never begun, and one
        # that changes something at a vendor is not refused halfway.
        if call.subject.integration or call.outgoing is not None:
            try:
                slot = vendors.hold_slot(_find_upstream(call), channel)
                call = replace(call, waited=held.enter_context(slot))
            except UpstreamBusy as busy:
                return _end_unbegun(call, busy)
            except Cancelled:
                return _end_unbegun(call, _stop_failure(channel))
        if call.subject.mutates:
            held.enter_context(changes_in_flight.hold())
            return _run_change(call, channel)
        call, outcome, _ = _attempt_call(call, channel)
        who = call.invocation.actor or call.principal
        return record.store_ended_call(who, _execution(call, outcome)), outcome


def _find_upstream(call: PreparedCall) -> Upstream | None:
    """Returns the server that the call waits for, None if it waits for no other server."""
    subject, organization_id, outgoing = call.subject, call.principal.organization_id, call.outgoing
    if subject.waits and outgoing is not None:
        target = call.invocation.surface.name
        return Upstream(organization_id, target, outgoing.origin, outgoing.seconds)
    return vendors.find_upstream(organization_id, subject.integration)


def _end_unbegun(call: PreparedCall, failure: ToolFailure) -> tuple[UUID, Outcome]:
    outcome = Failed(failure)
    return _record(call, outcome), outcome


def _run_change(call: PreparedCall, channel: Channel) -> tuple[UUID, Outcome]:
    begun = _begin_change(call)
    if not isinstance(begun, UUID):
        return _record(call, begun), begun
    call, outcome, has_run = _attempt_call(call, channel)
    try:
        record.finish(begun, _execution(call, outcome))
        if call.invocation.idempotency_key:
            idempotency.store(call, outcome, has_run=has_run)
    except DatabaseError:  # NotStored, or an entry that the database does not accept
        # The caller gets the outcome all the same: the change is made, and must not be repeated.
        log.exception("outcome_not_recorded", execution=str(begun))
    return begun, outcome


def _begin_change(call: PreparedCall) -> UUID | FinalOutcome:
    """Records that a call begins; or the outcome of another one with the same idempotency key."""
    if not call.invocation.idempotency_key:
        return _record(call)
    try:
        # Together: without its row the call does not run, and its key stays new.
        with transaction.atomic():
            step = idempotency.begin(call)
            return _record(call) if isinstance(step, PreparedCall) else step
    except ToolFailure as failure:
        return Failed(failure)


def resume(call: PreparedCall, who: Principal, answers: Answers) -> Invocation:
    """A call that needed input, to be run again from its first check with a row of its own."""
    return replace(
        call.invocation,
        principal=who,
        answers=answers,
        is_charged=True,
        started_at=datetime.now(UTC),
        clock=time.perf_counter(),
    )


def fail(call: PreparedCall, failure: ToolFailure) -> Failed:
    """End a call without running it; an audit row of its own records the failure."""
    failed = Failed(failure)
    _record(call, failed)
    return failed


def recheck(who: Principal, surface: Surface) -> Principal:
    """The principal with what its credential permits now. Raises TokenEnded."""
    try:
        return credentials.recheck(who.credential, who.token_id, surface.credentials)
    except Unauthenticated:
        raise TokenEnded from None


def _attempt_call(call: PreparedCall, channel: Channel) -> tuple[PreparedCall, Outcome, bool]:
    """Run a call, checked again if it has waited for its thread.

    Returns it as checked last, its outcome, and whether its tool was run. Raises nothing.
    """
    has_run = False
    context: ToolContext | None = None
    try:
        waited = time.monotonic() - call.principal.as_of
        if waited >= FRESH_SECONDS and call.invocation.approval is None:
            call = replace(call, principal=recheck(call.principal, call.invocation.surface))
            step = _check_again(call)
            if not isinstance(step, PreparedCall):
                return call, step, has_run
            call = step
        if channel.is_cancelled():
            return call, Failed(_stop_failure(channel)), has_run
        context = _context(call, channel)
        has_run = True
        return call, _run_subject(call, context), has_run
    except ToolFailure as failure:
        return call, Failed(_explain_failure(call, context, failure)), has_run
    except Cancelled:
        has_begun = has_run and call.subject.mutates
        return call, Failed(_stop_failure(channel, has_begun=has_begun)), has_run
    except (Exception, SystemExit) as error:
        # The traceback stays in the log. SystemExit: a library must not end the server.
        request_id = call.invocation.request_id
        log.exception("tool_failed", tool=call.subject.name, request_id=request_id)
        failed = CallFailure(f"The tool failed. Quote {request_id} to your admin.")
        if is_store_failure(error) and not (has_run and call.subject.mutates):
            failed = ConnectionLost()
        return call, Failed(_explain_failure(call, context, failed)), has_run


def _explain_failure(
    call: PreparedCall, context: ToolContext | None, failure: ToolFailure
) -> ToolFailure:
    """The failure; that of a change says whether the vendor has made it."""
    if context is None or not call.subject.mutates:
        return failure
    return vendors.explain_failure(context.vendor, failure)


def _check_again(call: PreparedCall) -> PreparedCall | FinalOutcome:
    """Check gate, binding and review of a call again, for its principal as it is now.

    Raises ToolChanged and BindingRejected.
    """
    invocation, who = call.invocation, call.principal
    found = invocation.kind.find(invocation.surface.catalogue, invocation.name, who.organization_id)
    # Templates make their resources for each call; a tool is the same object until it changes.
    if found is None or (isinstance(found, Tool) and found is not call.subject):
        raise ToolChanged
    decision = _decide(who, invocation, call.subject)
    if not decision.allowed:
        return RefusedCall(decision, scope=who.scope)
    customer = binding.customer(who.organization_id, invocation.binding)
    return _review(replace(call, customer=customer, is_charged=True))


def _run_subject(call: PreparedCall, context: ToolContext) -> Outcome:
    try:
        result = _run_with_reconnect(call, context)
    except InputRequired as required:
        return _needs_input(call, required)
    return Succeeded(result, call.invocation.kind.text(result), call.subject)


def _run_with_reconnect(call: PreparedCall, context: ToolContext) -> Any:
    """What the tool returns. A lost connection is replaced; a tool that only reads runs again once.

    Raises ConnectionLost if it was lost again, CallOutcomeUnknown if the tool may have changed
    something.
    """
    subject, arguments = call.subject, call.arguments
    may_repeat = True
    while True:
        try:
            return subject.run(context, **arguments)
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


def _context(call: PreparedCall, channel: Channel) -> ToolContext:
    invocation, who, subject = call.invocation, call.principal, call.subject
    answers = invocation.answers
    # A change is made on answers to questions that were asked, never on unsolicited ones.
    is_usable = answers.verified or not subject.mutates
    of_integration: dict[str, Any] = {}
    if subject.integration:
        of_integration["vendor"] = vendors.get_vendor(
            who.organization_id, subject.integration, channel, waited=call.waited
        )
    return make_context(
        who,
        invocation.surface,
        channel,
        customer=call.customer,
        call_id=invocation.id,
        client_capabilities=invocation.client_capabilities,
        answers=answers if is_usable else NONE_YET,
        outgoing=call.outgoing,
        waited=call.waited,
        request_approval=partial(_request_approval, call),
        **of_integration,
    )


def make_context(
    who: Principal, surface: Surface, channel: Channel | None = None, **more: Any
) -> ToolContext:
    """What a function of an author is given for a caller; `more` where it is called."""
    return ToolContext(
        organization_id=ids.text(who.organization_id),
        user_id=ids.text(who.user_id),
        credential_id=ids.text(who.token_id),
        public_url=settings.HALO_PUBLIC_URL,
        workspace=ORGANIZATION_FACTS,
        channel=channel or SILENCE,
        visible_tools=lambda: visibility.tools(who, surface),
        **more,
    )


def _request_approval(call: PreparedCall, **requested: Any) -> RequestedApproval:
    """Request an approval in the name of a call (`tools_registry.api.RequestApproval`)."""
    invocation, store = call.invocation, approval_port.store()
    surface = invocation.surface.name
    request = store.request(call.principal, surface, call.subject, call.customer, **requested)
    if not mcp_apps.has_declared_apps(invocation.client_capabilities):
        return request
    return replace(request, meta=store.result_meta(request))


def _needs_input(call: PreparedCall, required: InputRequired) -> NeedsInput:
    invocation = call.invocation
    if invocation.is_repeated:
        carried = len(dumps([invocation.answers.by_key, required.state]))
        if carried > MAX_STATE_BYTES:
            raise ValueError(f"the state of a call is over {MAX_STATE_BYTES} bytes")
    needed = input_requests.required_capabilities(required.requests)
    missing = {} if client_capabilities.covers(invocation.client_capabilities, needed) else needed
    return NeedsInput(call, required.requests, required.state, missing)


def _stop_failure(channel: Channel, *, has_begun: bool = False) -> CallFailure:
    """The failure of a call that was stopped; `has_begun` if it may have changed something."""
    if not channel.is_interrupted():
        return CallCancelled()
    return ChangeInterrupted() if has_begun else CallInterrupted()


def _end(
    invocation: Invocation,
    subject: CallSubject | None,
    outcome: FinalOutcome,
    customer: BoundCustomer | None = None,
) -> FinalOutcome:
    """Record how a call has ended that could not be prepared."""
    who = invocation.principal
    record.insert_call(
        invocation.actor or who, _describe_call(invocation, who, subject, customer, outcome)
    )
    return outcome


def _record(call: PreparedCall, outcome: Outcome | None = None) -> UUID:
    """Write the audit row of a call: with its outcome, or as started."""
    return record.insert_call(call.invocation.actor or call.principal, _execution(call, outcome))


def _execution(call: PreparedCall, outcome: Outcome | None) -> Execution:
    return _describe_call(call.invocation, call.principal, call.subject, call.customer, outcome)


def _describe_call(
    invocation: Invocation,
    who: Principal,
    subject: CallSubject | None,
    customer: BoundCustomer | None,
    outcome: Outcome | None,
) -> Execution:
    """What the audit row says of a call, and of its outcome if it is over."""
    actor, arguments, recorded = invocation.actor, invocation.arguments, invocation.surface.recorded
    return Execution(
        actor_kind=who.actor_kind if actor is None else actor.kind,
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
        **_describe_outcome(invocation, outcome),
    )


def _describe_outcome(invocation: Invocation, outcome: Outcome | None) -> dict[str, Any]:
    """What the audit row says of an outcome; `detail` begins with the note of the call."""
    if outcome is None:
        return {"detail": invocation.note}
    facts: dict[str, Any]
    detail = ""
    match outcome:
        case Succeeded(result=result):
            row_count = result.row_count if isinstance(result, Facts) else None
            facts = {"outcome": outcomes.Outcome.SUCCESS, "row_count": row_count}
        case RefusedCall(decision=decision, verdict=verdict):
            is_limit = verdict is not None or decision.layer == "quota"
            ended = outcomes.Outcome.RATE_LIMITED if is_limit else outcomes.Outcome.REFUSED
            facts = {"outcome": ended, "reason": decision.reason, "layer": decision.layer}
            detail = ACTION_CAP if verdict else ""
        case ApprovalPending():
            facts = {"outcome": outcomes.Outcome.PENDING_APPROVAL, "reason": "approval_required"}
        case NeedsInput(missing=missing):
            is_lacking = bool(missing) and invocation.is_repeated
            reason = "missing_capability" if is_lacking else "input_required"
            facts = {"outcome": outcomes.Outcome.INPUT_REQUIRED, "reason": reason}
        case Failed(failure=failure):
            facts = {
                "outcome": FAILURES.get(failure.kind, outcomes.Outcome.TOOL_ERROR),
                "reason": failure.kind,
                "layer": failure.layer if isinstance(failure, CallFailure) else "",
                "upstream_status": failure.upstream_status,
            }
            detail = _detail(failure)
    notes = (invocation.note, "" if isinstance(outcome, NeedsInput) else outcome.note, detail)
    return {
        **facts,
        "detail": "; ".join(filter(None, notes)),
        "duration_us": int((time.perf_counter() - invocation.clock) * 1_000_000),
    }


def _detail(failure: ToolFailure) -> str:
    if isinstance(failure, BindingRejected):
        return failure.attempted
    by_field = ": ".join(part for part in (failure.field, failure.reason) if part)
    is_upstream = isinstance(failure, UpstreamFailure) or failure.upstream_status is not None
    # An admin needs the sentence about the vendor that the caller got.
    if is_upstream and not by_field:
        return failure.message
    return f"{by_field}; log id {failure.log_id}" if failure.log_id else by_field
