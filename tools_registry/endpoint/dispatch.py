"""One message in, one answer out: limits first, then revision, then the method.

Every refused or malformed request of an identified token is recorded, except what the call
pipeline has recorded already.
"""

import time
from dataclasses import dataclass, replace
from typing import TypeAlias

from mcp_protocol import envelope, headers, methods, negotiation, shapes
from mcp_protocol.capabilities import SERVER_NAME
from mcp_protocol.envelope import (
    JsonRpcNotification,
    JsonRpcRequest,
    JsonRpcResponse,
    Malformed,
    RequestId,
)
from mcp_protocol.errors import ProtocolError, method_not_found
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import MODERN, Revision
from oauth.principal import Principal
from tools_registry.api import Channel, Silence, ToolFailure
from tools_registry.api.answers import Answers
from tools_registry.endpoint import (
    elicitation,
    elicitation_store,
    rates,
    refusal_records,
    replies,
    sessions,
)
from tools_registry.endpoint.elicitation import StreamQuestion
from tools_registry.endpoint.http import CompleteAnswer, Headers, Stream
from tools_registry.endpoint.methods import HANDLERS, MethodRequest
from tools_registry.endpoint.replies import Reply
from tools_registry.endpoint.streams import cancellation
from tools_registry.endpoint.surface import McpSurface
from tools_registry.pipeline import calls
from tools_registry.pipeline.invocation import Invocation, NeedsInput, PreparedCall
from tools_registry.pipeline.invocation import Outcome as CallOutcome


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that continues once its client has answered a question."""

    question: StreamQuestion
    request: MethodRequest


Step: TypeAlias = CompleteAnswer | PreparedCall | Waiting | Stream


def begin(request: MethodRequest) -> Step:
    """Answer a message, or hand back what runs: a call, or a stream. Never raises ProtocolError."""
    clock = time.perf_counter()
    try:
        _spend(request)
        match request.message:
            case JsonRpcRequest() as message:
                return _begin_request(request, message)
            case Malformed(error=error):
                raise error
            case JsonRpcNotification() as notification:
                # A call without an id is never run: it could have no answer.
                terms = _terms(request, notification)
                cancellation.take(request.authorization_id, terms, notification)
            case JsonRpcResponse() as response:
                elicitation_store.deliver(request.authorization_id, response)
        return CompleteAnswer(202)
    except ProtocolError as error:
        return turn_away(request, error, clock)


def turn_away(request: MethodRequest, error: ProtocolError, clock: float) -> CompleteAnswer:
    """Refuse a message that came in at `clock` (perf_counter), and record it."""
    message, revision = request.message, request.error_revision
    refusal_records.record_refusal(
        request, revision, error, int((time.perf_counter() - clock) * 1_000_000)
    )
    identifier = message.id if isinstance(message, JsonRpcRequest | Malformed) else None
    failure = _failure(identifier, error, revision)
    return failure if isinstance(message, JsonRpcRequest | Malformed) else _to_http_error(failure)


def _to_http_error(failure: CompleteAnswer) -> CompleteAnswer:
    # A notification that is not accepted has an HTTP error for an answer (MCP 2025-03-26 to
    # 2026-07-28, basic/transports, Sending Messages).
    return replace(failure, status=max(failure.status, 400))


def run_silently(request: MethodRequest, call: PreparedCall) -> CompleteAnswer | Waiting:
    """Run a call that says nothing meanwhile, for as long as its answer is wanted."""
    channel = request.http.cancellation
    if channel is None:
        return run(request, call, Silence())
    channel.call = request
    channel.is_changing |= call.subject.mutates
    on_begin = channel.on_begin  # another thread may take it away in between
    if on_begin is not None:
        on_begin()
    return run(request, call, channel)


def run(request: MethodRequest, call: PreparedCall, channel: Channel) -> CompleteAnswer | Waiting:
    """Run a call to its response, or to the question that has to be answered first."""
    return _step(request, call.invocation, calls.run(call, channel))


def again(
    waiting: Waiting, principal: Principal, answers: Answers, channel: Channel
) -> CompleteAnswer | Waiting:
    """Run a call again with the answers to its question, with what its caller may do now."""
    invocation = calls.resume(waiting.question.call, principal, answers)
    return _step(waiting.request, invocation, calls.prepare_and_run(invocation, channel))


def end(waiting: Waiting, why: ToolFailure) -> CompleteAnswer:
    """End a request whose question stays without an answer."""
    request, call = waiting.request, waiting.question.call
    failed = calls.fail(call, why)
    reply = replies.from_outcome(call.invocation, failed, request.revision, request.surface)
    return _build_answer(request.id, reply, request.revision, request.surface)


def _step(
    request: MethodRequest, invocation: Invocation, outcome: CallOutcome
) -> CompleteAnswer | Waiting:
    revision, surface = request.terms.revision, request.http.surface
    match outcome:
        case NeedsInput():
            reply: Reply | StreamQuestion = replies.question(
                outcome, revision, surface, can_wait=request.can_wait
            )
        case _:
            host = request.http.header("host") or ""
            reply = replies.from_outcome(invocation, outcome, revision, surface, host=host)
    if isinstance(reply, StreamQuestion):
        return Waiting(reply, request)
    return _build_answer(request.id, reply, revision, surface)


def answer(request: MethodRequest) -> CompleteAnswer:
    """Answer a message to the end, in silence."""
    step = begin(request)
    if isinstance(step, Stream):
        # No revision that has batches has a method that answers with a stream of its own.
        raise TypeError(f"{request.method} cannot be answered in silence.")
    ended = run_silently(request, step) if isinstance(step, PreparedCall) else step
    # A second safeguard: callers of this function have said that they cannot wait.
    return end(ended, elicitation.cannot_ask()) if isinstance(ended, Waiting) else ended


def _begin_request(request: MethodRequest, message: JsonRpcRequest) -> Step:
    terms = request.terms = _terms(request, message)
    if terms.revision in MODERN and not request.http.is_frame:
        headers.check_mirror(request.http.header, message)
    if methods.METHODS.get((message.method, terms.revision)) is not methods.MethodKind.REQUEST:
        raise method_not_found(message.method)
    reply = HANDLERS[message.method](request)
    if isinstance(reply, PreparedCall | Stream):
        return reply
    step = _build_answer(message.id, reply, terms.revision, request.surface)
    if isinstance(reply, ProtocolError):
        return step
    session = _session(request)
    return replace(step, headers=session) if session else step


def _terms(request: MethodRequest, message: JsonRpcRequest | JsonRpcNotification) -> Terms:
    """The terms of a message, with what its session remembers; `initialize` ignores the session."""
    header = request.http.header(VERSION_HEADER)
    terms = negotiation.negotiate(header, message, request.fallback_revision)
    if request.session is None or message.method == "initialize":
        return terms
    return sessions.recall(terms, request.session)


def _session(request: MethodRequest) -> Headers:
    """The session id to send next to an answer: a first one, or one that remembers more."""
    if request.method == "initialize" and "protocolVersion" in request.params:
        return sessions.make_headers(request.terms, request.authorization_id)
    if request.method == "logging/setLevel":
        return sessions.set_level(request.session, request.terms, request.params["level"])
    return ()


def _build_answer(
    identifier: RequestId, reply: Reply, revision: Revision, surface: McpSurface
) -> CompleteAnswer:
    if isinstance(reply, ProtocolError):
        return _failure(identifier, reply, revision)
    if surface.server_name != SERVER_NAME:
        reply = shapes.name_server(reply, surface.server_name)
    return CompleteAnswer(200, message=envelope.success(identifier, reply))


def _failure(
    identifier: RequestId | None, error: ProtocolError, revision: Revision
) -> CompleteAnswer:
    message = envelope.failure(identifier, error)
    return CompleteAnswer(error.status(revision), error.headers, message=message)


def _spend(request: MethodRequest) -> None:
    """Charge a message; raises ProtocolError if it is refused, or if the server is turned off.

    Charged before anything is looked up: unknown names are no free probe.
    """
    who, surface = request.principal, request.http.surface
    refused = rates.spend(who, surface, request.method, request.http.address)
    if refused is not None:
        raise rates.refusal(refused, request.error_revision, surface.codes)
    if not who.mcp_server_on:  # a warm call makes no further function call
        request.require_server_on()
