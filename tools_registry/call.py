"""THE call pipeline: every tool call, read and prompt goes through here, from every edge.

    find -> gate -> bind the customer -> validate -> run -> shape -> audit

`prepare` does everything that can refuse; `run` does the work and always leaves the audit row
finished. Between the two an edge may open a stream.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

import structlog
from django.utils import timezone

from audit import record
from audit.outcomes import Outcome
from audit.record import Act, Actor, Ending
from mcp_protocol import failures
from mcp_protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from mcp_protocol.revisions import Revision
from oauth import challenges
from oauth.principal import Principal
from tools_registry import asking, gate, operations, visibility
from tools_registry.answers import NONE_YET, Answers
from tools_registry.asking import Question, Round
from tools_registry.gate import Decision
from tools_registry.operations import Operation, Reply, Subject
from tools_registry.types import (
    Cancelled,
    Channel,
    Facts,
    InputRequired,
    Invalid,
    Silence,
    ToolContext,
    ToolFailure,
)

log = structlog.get_logger(__name__)
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
BINDING_KEYS = ("bound_end_user_id", "bound_email")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it came in. `actor` is what the audit row says of the principal.

    `name` is what the operation is done to: a tool's name, a URI, a prompt's name.
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
    started_at: datetime = field(default_factory=timezone.now)
    clock: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that passed everything and may run; `tool` may be a resource or a prompt."""

    call: Call
    tool: Subject


@dataclass(frozen=True, slots=True)
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
            round=before.round.with_answers(answers),
            started_at=timezone.now(),
            clock=time.perf_counter(),
        )
        prepared = prepare(call)
        return run(prepared, channel) if isinstance(prepared, Prepared) else prepared

    def end(self, why: ToolFailure | Cancelled) -> Reply:
        """End the call without an answer, on a row of its own."""
        call, tool = self.prepared.call, self.prepared.tool
        ended = _failed(call, why) if isinstance(why, ToolFailure) else _cancelled()
        return _record(call, tool, ended)


def prepare(call: Call) -> Prepared | Reply:
    """Find the tool and ask every gate. A refusal is recorded here and returned."""
    tool = call.operation.find(call.name, call.principal.organization_id)
    if tool is None:
        unknown: Reply = call.operation.unknown(call.name, call.revision)
        return _record(
            call, None, Ended(unknown, _ending(Outcome.NOT_FOUND, call.operation.absence))
        )
    refused = _refused(call, tool)
    return Prepared(call, tool) if refused is None else _record(call, tool, refused)


def run(prepared: Prepared, channel: Channel | None = None) -> Reply | Question:
    """Run a prepared call. The audit row is finished whatever happens in the tool."""
    call, tool = prepared.call, prepared.tool
    if channel is not None and channel.is_cancelled():
        # Its client went before it began: nothing is done in its name any more.
        return _record(call, tool, _cancelled())
    if not tool.mutates:
        return _record(call, tool, _ran(prepared, channel or Silence()))
    execution = record.begin(call.actor, _act(call, tool))
    ended = _ran(prepared, channel or Silence())
    record.finish(execution, _timed(call, ended.ending))
    return ended.reply


def decision(call: Call, tool: Subject) -> Decision:
    """The gate's answer for a call, with the switches as they are now."""
    switches = gate.switches_for_tool(
        call.principal.organization_id, tool, mcp_server_on=call.principal.mcp_server_on
    )
    return gate.decide(tool, call.principal.scope, switches)


def _refused(call: Call, tool: Subject) -> Ended[Reply] | None:
    answer = decision(call, tool)
    if not answer.allowed:
        return _denied(call, answer)
    try:
        _bind(call)
        call.operation.validate(tool, call.arguments)
    except Invalid as invalid:
        return _failed(call, invalid)
    except ProtocolError as error:
        return Ended(error, _ending(Outcome.VALIDATION_FAILED, "binding_rejected", "binding"))
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


def _bind(call: Call) -> None:
    """Refuse every bound customer: there is no customer table to resolve it in.

    One text for stale, forged and foreign ids alike, also where the tool ignores the binding.
    """
    if any(key in call.meta for key in BINDING_KEYS):
        raise ProtocolError(
            INVALID_PARAMS,
            "The bound customer does not exist in this organization.",
            data={"reason": "binding_rejected", "layer": "binding"},
        )


def _ran(prepared: Prepared, channel: Channel) -> Ended[Reply | Question]:
    call, tool = prepared.call, prepared.tool
    try:
        return _attempted(prepared, channel)
    except ToolFailure as failure:
        return _failed(call, failure)
    except Cancelled:
        return _cancelled()
    except (Exception, SystemExit):
        # The caller gets a number to quote; the traceback stays in the log. A library that calls
        # sys.exit() must not take the server along.
        log.exception("tool_failed", tool=tool.name, request_id=call.request_id)
        return _broken(call)


def _attempted(prepared: Prepared, channel: Channel) -> Ended[Reply | Question]:
    call, tool = prepared.call, prepared.tool
    try:
        result = tool.run(_context(prepared, channel), call.arguments)
    except InputRequired as asked:
        return _asked(prepared, asked)
    return _succeeded(call, tool, result)


def _context(prepared: Prepared, channel: Channel) -> ToolContext:
    this = prepared.call.round
    # A change is made on the answers to questions that were put, never on what came unasked.
    believed = this.answers.vouched or not prepared.tool.mutates
    return replace(
        visibility.context(prepared.call.principal, channel),
        client_capabilities=this.client_capabilities,
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
        detail=": ".join(part for part in (failure.field, failure.reason) if part),
        upstream_status=getattr(failure, "upstream_status", None),
    )
    return Ended(reply, ending)


def _cancelled() -> Ended[Reply]:
    error = ProtocolError(INTERNAL_ERROR, "The call was cancelled.")
    return Ended(error, _ending(Outcome.CANCELLED, "cancelled"))


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
        request_id=call.request_id,
        revision=call.revision.value,
        started_at=call.started_at,
    )


def _ending(outcome: Outcome, reason: str, layer: str = "") -> Ending:
    return Ending(outcome=outcome, reason=reason, layer=layer)


def _timed(call: Call, ending: Ending) -> Ending:
    elapsed = int((time.perf_counter() - call.clock) * 1_000_000)
    return replace(ending, duration_us=elapsed)
