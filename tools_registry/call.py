"""THE call pipeline: every tool call, read and prompt goes through here, from every edge.

    find -> gate -> cap of the action -> bind the customer -> validate -> run -> shape -> audit

`prepare` does everything that can refuse; `run` does the work and always leaves the audit row
finished. Between the two an edge may open a stream.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import structlog

from audit import record
from audit.outcomes import Outcome
from audit.record import Act, Actor, Ending
from foundation.carrier import carrier
from foundation.fibers import elsewhere
from foundation.ids import uuid7
from mcp_protocol import failures
from mcp_protocol.errors import INTERNAL_ERROR, ProtocolError
from mcp_protocol.revisions import Revision
from oauth import challenges, principal
from oauth.principal import Principal, Unauthenticated
from tools_registry import asking, binding, gate, operations, rates, vendors, visibility
from tools_registry.answers import NONE_YET, Answers
from tools_registry.asking import Question, Round
from tools_registry.billing.desk import Desk
from tools_registry.gate import Approval, Decision
from tools_registry.operations import Operation, Reply, Subject
from tools_registry.results import UpstreamFailure
from tools_registry.types import (
    Cancelled,
    Channel,
    Customer,
    Facts,
    InputRequired,
    Invalid,
    Silence,
    ToolContext,
    ToolFailure,
)

log = structlog.get_logger(__name__)
# In seconds. What has let a call in holds for so long; a call that waits longer for its thread asks
# again.
FRESH_SECONDS: Final = 1.0
R = TypeVar("R", bound=Reply | Question)
R_co = TypeVar("R_co", bound=Reply | Question, covariant=True)

# Which outcome a tool's failure is recorded as, by its kind.
OUTCOMES: Mapping[str, Outcome] = {
    "validation": Outcome.VALIDATION_FAILED,
    "not_found": Outcome.NOT_FOUND,
    "unauthorized": Outcome.INTEGRATION_ERROR,
    "integration": Outcome.INTEGRATION_ERROR,
    "declined": Outcome.CANCELLED,
}
INTERRUPTED = "The server stopped before the call was over. What it had done by then stays done."


def _now() -> datetime:
    return datetime.now(UTC)


@carrier
class Call:
    """One call as it came in. `actor` is what the audit row says of the principal.

    `name` is what the operation is done to: a tool's name, a URI, a prompt's name. `customer` is
    the one that `meta` names, once it was looked up for this run. `approval` is there only where an
    admin carries out a request; `about` is what the row says beside.
    """

    principal: Principal
    actor: Actor
    revision: Revision
    round: Round
    name: str
    arguments: Mapping[str, Any]
    meta: Mapping[str, Any]
    request_id: str
    operation: Operation = operations.CALL
    host: str = ""
    customer: Customer | None = None
    approval: Approval | None = None
    about: str = ""
    # To the cap of its action: once, however often it goes on.
    charged: bool = False
    id: str = field(default_factory=lambda: uuid7().hex)
    started_at: datetime = field(default_factory=_now)
    clock: float = field(default_factory=time.perf_counter)


@carrier
class Prepared:
    """A call that passed everything and may run; `tool` may be a resource or a prompt."""

    call: Call
    tool: Subject


@carrier
class Ended(Generic[R_co]):
    """What to answer, and what the audit row says."""

    reply: R_co
    ending: Ending


@dataclass(frozen=True, slots=True)
class Suspended:
    """A call that has asked. Nothing of it runs until the answers are there."""

    prepared: Prepared

    def again(self, principal: Principal, answers: Answers, channel: Channel) -> Reply | Question:
        """Run the call anew, through every gate as it stands now; a row of its own records it."""
        before = self.prepared.call
        call = replace(
            before,
            principal=principal,
            customer=None,
            round=before.round.with_answers(answers),
            charged=True,
            started_at=_now(),
            clock=time.perf_counter(),
        )
        prepared = prepare(call)
        return run(prepared, channel) if isinstance(prepared, Prepared) else prepared

    def end(self, why: ToolFailure | Cancelled) -> Reply:
        """End the call without an answer, on a row of its own."""
        call, tool = self.prepared.call, self.prepared.tool
        ended = _failed(call, why) if isinstance(why, ToolFailure) else _cancelled()
        return _record(call, tool, ended)


def _any(_tool: Subject) -> None:
    """What an edge has to say of most calls: nothing."""


def prepare(call: Call, vet: Callable[[Subject], None] = _any) -> Prepared | Reply:
    """Find the tool and ask every gate. A refusal is recorded here and returned.

    `vet` is what else an edge asks of a tool that the caller may use, before its arguments are
    looked at; what it raises is passed on.
    """
    tool = call.operation.find(call.name, call.principal.organization_id)
    if tool is None:
        unknown: Reply = call.operation.unknown(call.name, call.revision)
        return _record(
            call, None, Ended(unknown, _ending(Outcome.NOT_FOUND, call.operation.absence))
        )
    answer = decision(call, tool)
    if not answer.allowed:
        return _record(call, tool, _denied(call, answer))
    if (over := _over_cap(call, tool, answer)) is not None:
        return _record(call, tool, over)
    try:
        customer = binding.customer(call.principal.organization_id, call.meta)
    except ProtocolError as error:
        return _record(call, tool, _unbound(error))
    bound = call if customer is None else replace(call, customer=customer)
    refused = _refused(bound, tool, vet)
    return Prepared(bound, tool) if refused is None else _record(bound, tool, refused)


def run(prepared: Prepared, channel: Channel | None = None) -> Reply | Question:
    """Run a prepared call. The audit row is finished whatever happens in the tool."""
    call, tool = prepared.call, prepared.tool
    if channel is not None and channel.is_cancelled():
        # Its client went before it began: nothing is done in its name any more.
        return _record(call, tool, _cut_short(channel))
    if not tool.mutates:
        return _record(call, tool, _ran(prepared, channel or Silence()))
    return perform(prepared, channel or Silence())[1].reply


def perform(prepared: Prepared, channel: Channel) -> tuple[UUID, Ended[Reply | Question]]:
    """Run what changes something, on a row that stands before it begins; that row, and the end."""
    call, tool = prepared.call, prepared.tool
    execution = record.begin(call.actor, _act(call, tool))
    ended = _ran(prepared, channel)
    record.finish(execution, _timed(call, ended.ending))
    return execution, ended


def decision(call: Call, tool: Subject) -> Decision:
    """The gate's answer for a call, with the switches as they are now."""
    switches = gate.switches_for_tool(
        call.principal.organization_id, tool, mcp_server_on=call.principal.mcp_server_on
    )
    if call.approval is not None:
        return gate.decide_approved(tool, call.approval, switches)
    answer = gate.decide(tool, call.principal.scope, switches)
    most = gate.cap(tool, switches) if answer.allowed else None
    return answer if most is None else replace(answer, calls_per_minute=most)


def _unbound(error: ProtocolError) -> Ended[Reply]:
    return Ended(error, _ending(Outcome.VALIDATION_FAILED, "binding_rejected", "binding"))


def _refused(call: Call, tool: Subject, vet: Callable[[Subject], None]) -> Ended[Reply] | None:
    vet(tool)
    try:
        call.operation.validate(tool, call.arguments)
    except Invalid as invalid:
        return _failed(call, invalid)
    return None


def _denied(call: Call, answer: Decision) -> Ended[Reply]:
    # Only a scope can be asked for again, so only its refusal carries a challenge and a 403.
    needed = answer.scope
    challenge = challenges.insufficient_scope(needed, host=call.host) if needed else ""
    error = failures.refusal(
        answer.reason,
        answer.layer,
        answer.message,
        call.revision,
        http_status=403 if challenge else None,
        headers=[("WWW-Authenticate", challenge)] if challenge else [],
    )
    return Ended(error, _ending(Outcome.REFUSED, answer.reason, answer.layer))


def _over_cap(call: Call, tool: Subject, answer: Decision) -> Ended[Reply] | None:
    """Charge the call to the cap of its action. Behind the gate: what is refused costs nothing."""
    if answer.calls_per_minute is None or call.charged:
        return None
    most = answer.calls_per_minute
    spent = rates.spend_action(call.principal, tool.integration, tool.action, most)
    if spent is None:
        return None
    error = rates.refusal(spent, call.revision)
    ending = _ending(Outcome.RATE_LIMITED, "rate_limited", "rate_limit")
    return Ended(error, replace(ending, detail=error.limit))


def _ran(prepared: Prepared, channel: Channel) -> Ended[Reply | Question]:
    call, tool = prepared.call, prepared.tool
    attempt = partial(_in_its_turn, prepared, channel)
    try:
        return attempt() if tool.instant else elsewhere(attempt)
    except ToolFailure as failure:
        return _failed(call, failure)
    except Cancelled:
        return _cut_short(channel)
    except (Exception, SystemExit):
        # The caller gets a number to quote; the traceback stays in the log. A library that calls
        # sys.exit() must not take the server along.
        log.exception("tool_failed", tool=tool.name, request_id=call.request_id)
        return _broken(call)


def _in_its_turn(prepared: Prepared, channel: Channel) -> Ended[Reply | Question]:
    """Run a call that may have waited for its thread, if it is wanted and let in still."""
    if channel.is_cancelled():
        raise Cancelled
    call = prepared.call
    if call.approval is not None or time.monotonic() - call.principal.as_of < FRESH_SECONDS:
        return _attempted(prepared, channel)
    now = _as_of_now(prepared)
    return now if isinstance(now, Ended) else _attempted(now, channel)


def _as_of_now(prepared: Prepared) -> Prepared | Ended[Reply]:
    """The call for who its caller is by now, or why nobody would let it in any more."""
    call, tool = prepared.call, prepared.tool
    try:
        now = replace(call, principal=principal.recheck(call.principal.token_id))
        answer = decision(now, tool)
        if not answer.allowed:
            return _denied(now, answer)
        customer = binding.customer(now.principal.organization_id, now.meta)
    except Unauthenticated:
        ended = ToolFailure("The token is no longer valid. Sign in again.")
        refused = _ending(Outcome.REFUSED, "token_ended", "token")
        return Ended(_failed(call, ended).reply, refused)
    except ProtocolError as error:
        return _unbound(error)
    return Prepared(replace(now, customer=customer), tool)


def _attempted(prepared: Prepared, channel: Channel) -> Ended[Reply | Question]:
    call, tool = prepared.call, prepared.tool
    try:
        # Taken before the tool begins: what it has begun at a vendor is not refused halfway.
        with vendors.room(call.principal.organization_id, tool.integration):
            result = tool.run(_context(prepared, channel), call.arguments)
    except InputRequired as asked:
        return _asked(prepared, asked)
    return _succeeded(call, tool, result)


def _context(prepared: Prepared, channel: Channel) -> ToolContext:
    this = prepared.call.round
    # A change is made on the answers to questions that were put, never on what came unasked.
    believed = this.answers.vouched or not prepared.tool.mutates
    return visibility.context(
        prepared.call.principal,
        channel,
        customer=prepared.call.customer,
        call_id=prepared.call.id,
        vendor=vendors.of(
            prepared.call.principal.organization_id, prepared.tool.integration, channel
        ),
        client_capabilities=this.client_capabilities,
        billing=Desk(prepared.call.principal, prepared.tool, prepared.call.customer),
        answers=this.answers if believed else NONE_YET,
    )


def _asked(prepared: Prepared, asked: InputRequired) -> Ended[Reply | Question]:
    put = asking.put(prepared.call.round, asked, Suspended(prepared))
    if isinstance(put, ProtocolError):
        return Ended(put, _ending(Outcome.INPUT_REQUIRED, "missing_capability"))
    # Where it cannot be asked it fails closed: nothing has run yet, and nothing runs unanswered.
    reply = put or _failed(prepared.call, asking.cannot_ask()).reply
    return Ended(reply, _ending(Outcome.INPUT_REQUIRED, "input_required"))


def _succeeded(call: Call, tool: Subject, result: Any) -> Ended[Reply]:
    reply = call.operation.shape(tool, result, call.revision)
    rows = result.row_count if isinstance(result, Facts) else None
    return Ended(reply, Ending(outcome=Outcome.SUCCESS, row_count=rows))


def _failed(call: Call, failure: ToolFailure) -> Ended[Reply]:
    reply = call.operation.fail(call.name, failure, call.revision)
    ending = Ending(
        outcome=OUTCOMES.get(failure.kind, Outcome.TOOL_ERROR),
        reason=failure.kind,
        detail=_detail(failure),
        upstream_status=getattr(failure, "upstream_status", None),
    )
    return Ended(reply, ending)


def _detail(failure: ToolFailure) -> str:
    if isinstance(failure, UpstreamFailure):
        # What an admin looks for first: who failed whom, in the words that the caller got.
        return failure.message
    return ": ".join(part for part in (failure.field, failure.reason) if part)


def _cancelled() -> Ended[Reply]:
    error = ProtocolError(INTERNAL_ERROR, "The call was cancelled.")
    return Ended(error, _ending(Outcome.CANCELLED, "cancelled"))


def _cut_short(channel: Channel) -> Ended[Reply]:
    return _interrupted() if channel.is_interrupted() else _cancelled()


def _interrupted() -> Ended[Reply]:
    error = ProtocolError(INTERNAL_ERROR, INTERRUPTED, http_status=503)
    return Ended(error, _ending(Outcome.INTERRUPTED, "interrupted"))


def _broken(call: Call) -> Ended[Reply]:
    failure = ToolFailure(f"The tool failed. Quote {call.request_id} to your admin.")
    return Ended(_failed(call, failure).reply, _ending(Outcome.TOOL_ERROR, "internal"))


def _record(call: Call, tool: Subject | None, ended: Ended[R]) -> R:
    record.execution(call.actor, _act(call, tool), _timed(call, ended.ending))
    return ended.reply


def _act(call: Call, tool: Subject | None) -> Act:
    return Act(
        method=call.operation.method,
        # By the name it has here: an alias would hide the calls from whoever filters by it.
        tool=call.operation.name(tool) if tool else call.name,
        integration=tool.integration if tool else "",
        action=tool.action if tool else "",
        arguments=call.arguments,
        bound_customer_id=call.customer.id if call.customer else "",
        request_id=call.request_id,
        revision=call.revision.value,
        started_at=call.started_at,
    )


def _ending(outcome: Outcome, reason: str, layer: str = "") -> Ending:
    return Ending(outcome=outcome, reason=reason, layer=layer)


def _timed(call: Call, ending: Ending) -> Ending:
    elapsed = int((time.perf_counter() - call.clock) * 1_000_000)
    return ending.over(elapsed, about=call.about)
