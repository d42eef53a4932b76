"""One message in, one answer out: limits first, then revision, then the method.

Every refused or malformed request of an identified token is recorded here, except what the call
pipeline has recorded already.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from audit import record
from audit.outcomes import Outcome
from audit.record import Act, Actor, Ending
from foundation import ids
from foundation.carrier import carrier
from mcp_protocol import envelope, failures, headers, methods, negotiation
from mcp_protocol.envelope import Malformed, Message, Notification, Request, RequestId, Response
from mcp_protocol.errors import ProtocolError, method_not_found
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import MODERN, Revision
from mcp_protocol.strict_json import JsonObject
from oauth.principal import Principal
from tools_registry import asking, call, cancelling, gate, mailbox, rates, sessions
from tools_registry.answers import Answers
from tools_registry.asking import Question
from tools_registry.call import Prepared, Suspended
from tools_registry.exchange import Headers, HttpRequest, Stream
from tools_registry.interest import SilentChannel, Underway
from tools_registry.methods import HANDLERS, Exchange
from tools_registry.operations import Reply
from tools_registry.rates import RateLimited
from tools_registry.sessions import Session
from tools_registry.types import Cancelled, Channel, Silence, ToolFailure

# Refusals that are no fault of the message, by the layer that refused.
REFUSED_AS: Final = {
    "rate_limit": Outcome.RATE_LIMITED,
    "flag": Outcome.REFUSED,
}


@carrier
class Caller:
    """An identified caller and the request that carries its messages."""

    principal: Principal
    request: HttpRequest
    session: Session | None = None

    @property
    def undeclared(self) -> Revision:
        """What this client speaks where it does not say."""
        return sessions.spoken_in(self.session)

    @property
    def revision(self) -> Revision:
        """The revision to word a refusal in before anything of a message is understood."""
        named = self.request.header(VERSION_HEADER)
        return self.undeclared if named is None else self.request.declared_revision

    @property
    def can_wait(self) -> bool:
        """Whether a question can go out on the answer, and the answer wait for what comes."""
        return self.request.lasting and self.request.accepts("text/event-stream")

    @property
    def actor(self) -> Actor:
        who = self.principal
        return Actor(
            organization_id=ids.text(who.organization_id),
            client_id=who.client_id,
            client_name=who.client_name,
            user_id=ids.text(who.user_id),
            user_email=who.user_email,
            authorization_id=ids.text(who.authorization_id),
            token_id=ids.text(who.token_id),
            address=self.request.address,
        )


@carrier
class Answered:
    """An answer: the message (None for a notification), its HTTP status and headers."""

    message: JsonObject | None
    status: int = 200
    headers: Headers = ()


@carrier
class Runnable:
    """A call that may run, and may speak while it does."""

    prepared: Prepared
    request_id: RequestId
    terms: Terms


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that goes on once its client has answered a question."""

    question: Question
    request_id: RequestId
    terms: Terms


Step: TypeAlias = Answered | Runnable | Waiting | Stream


def begin(caller: Caller, message: Message) -> Step:
    """Answer a message, or hand back what runs: a call, or a stream. Never raises ProtocolError."""
    clock = time.perf_counter()
    try:
        return _begun(caller, message)
    except ProtocolError as error:
        return turn_away(caller, message, error, clock)


def turn_away(caller: Caller, message: Message, error: ProtocolError, clock: float) -> Answered:
    """Refuse a message that came in at `clock` (perf_counter), and record it."""
    elapsed = int((time.perf_counter() - clock) * 1_000_000)
    _record_refusal(caller, message, _ending(error, elapsed))
    failure = _failure(_id_of(message), error, _revision_of(caller, message))
    return failure if isinstance(message, Request | Malformed) else _unaccepted(failure)


def _unaccepted(failure: Answered) -> Answered:
    # A notification that is not accepted has an HTTP error for an answer (MCP 2025-03-26 to
    # 2026-07-28, basic/transports, Sending Messages).
    return replace(failure, status=max(failure.status, 400))


def run_silently(caller: Caller, runnable: Runnable) -> Answered | Waiting:
    """Run a call that says nothing meanwhile, for as long as its answer is wanted."""
    interest = caller.request.interest
    if interest is None:
        return run(runnable, Silence())
    mine = caller.principal.authorization_id
    underway = Underway(mine, runnable.terms, runnable.request_id)
    return run(runnable, SilentChannel(underway, interest))


def run(runnable: Runnable, channel: Channel) -> Answered | Waiting:
    """Run a call to its answer, or to what it asks first."""
    reply = call.run(runnable.prepared, channel)
    return settled(runnable.request_id, reply, runnable.terms)


def anew(runnable: Runnable, principal: Principal, channel: Channel) -> Answered | Waiting:
    """Run a call for who its caller is by now, through every gate as it stands now."""
    prepared = runnable.prepared
    suspended = Suspended(prepared)
    reply = suspended.again(principal, prepared.call.round.answers, channel)
    return settled(runnable.request_id, reply, runnable.terms)


def refuse(runnable: Runnable, why: ToolFailure | Cancelled) -> Answered:
    """End a call that may not start any more."""
    reply = Suspended(runnable.prepared).end(why)
    return _answered(runnable.request_id, reply, runnable.terms.revision)


def again(
    waiting: Waiting, principal: Principal, answers: Answers, channel: Channel
) -> Answered | Waiting:
    """Go on with a request whose question is answered, for who its caller is by now."""
    reply = waiting.question.waiter.again(principal, answers, channel)
    return settled(waiting.request_id, reply, waiting.terms)


def end(waiting: Waiting, why: ToolFailure | Cancelled) -> Answered:
    """End a request whose question stays without an answer."""
    return _answered(waiting.request_id, waiting.question.waiter.end(why), waiting.terms.revision)


def answer(caller: Caller, message: Message) -> Answered:
    """Answer a message to the end, in silence."""
    step = begin(caller, message)
    if isinstance(step, Stream):
        # No revision that has batches has a method that answers with a stream of its own.
        raise TypeError(f"{_method_of(message)} cannot be answered in silence.")
    ended = run_silently(caller, step) if isinstance(step, Runnable) else step
    # Nobody who answers so says that it can wait, so that this is one more lock on that door.
    return end(ended, asking.cannot_ask()) if isinstance(ended, Waiting) else ended


def malformed(caller: Caller, error: ProtocolError) -> Answered:
    """Answer a body that is no JSON at all."""
    return answer(caller, Malformed(None, error))


def _begun(caller: Caller, message: Message) -> Step:
    _spend(caller, message)
    _require_flag(caller, message)
    match message:
        case Malformed(error=error):
            raise error
        case Notification():
            # A call without an id is never run, since nobody could be told how it ended.
            terms = _recalled(caller, message)
            cancelling.take(caller.principal.authorization_id, terms, message)
        case Response():
            mailbox.deliver(caller.principal.authorization_id, message)
        case Request():
            return _request(caller, message)
    return Answered(None, status=202)


def _request(caller: Caller, request: Request) -> Step:
    terms = _recalled(caller, request)
    if terms.revision in MODERN:
        headers.check_mirror(caller.request.header, request)
    if not methods.known(request.method, terms.revision):
        raise method_not_found(request.method)
    reply = HANDLERS[request.method](_exchange(caller, request, terms))
    if isinstance(reply, Prepared):
        return Runnable(reply, request.id, terms)
    if isinstance(reply, Stream):
        return reply
    step = settled(request.id, reply, terms)
    if isinstance(step, Waiting) or isinstance(reply, ProtocolError):
        return step
    session = _session(caller, request, terms)
    return replace(step, headers=session) if session else step


def _terms(caller: Caller, message: Request | Notification) -> Terms:
    header = caller.request.header(VERSION_HEADER)
    return negotiation.negotiate(header, message, caller.undeclared)


def _recalled(caller: Caller, message: Request | Notification) -> Terms:
    """The terms of a message, with what its session remembers; a handshake speaks for itself."""
    terms = _terms(caller, message)
    if message.method == "initialize":
        return terms
    return sessions.recall(terms, caller.session)


def _session(caller: Caller, request: Request, terms: Terms) -> Headers:
    """The session id to send beside an answer: a first one, or one that remembers more."""
    if request.method == "initialize" and "protocolVersion" in request.params:
        return sessions.opened(terms, caller.principal.authorization_id)
    if request.method == "logging/setLevel":
        return sessions.at_level(caller.session, terms, request.params["level"])
    return ()


def _exchange(caller: Caller, request: Request, terms: Terms) -> Exchange:
    return Exchange(
        principal=caller.principal,
        actor=caller.actor,
        request=request,
        terms=terms,
        headers=caller.request.header,
        request_id=caller.request.request_id,
        can_wait=caller.can_wait,
    )


def settled(identifier: RequestId, reply: Reply | Question, terms: Terms) -> Answered | Waiting:
    """A reply as the step it is."""
    if isinstance(reply, Question):
        return Waiting(reply, identifier, terms)
    return _answered(identifier, reply, terms.revision)


def _answered(identifier: RequestId, reply: Reply, revision: Revision) -> Answered:
    if isinstance(reply, ProtocolError):
        return _failure(identifier, reply, revision)
    return Answered(envelope.success(identifier, reply))


def _failure(identifier: RequestId | None, error: ProtocolError, revision: Revision) -> Answered:
    return Answered(envelope.failure(identifier, error), error.status(revision), error.headers)


def _spend(caller: Caller, message: Message) -> None:
    # Charged before anything is looked up: unknown names are no free probe.
    refused = rates.spend(caller.principal, _method_of(message), caller.request.address)
    if refused is not None:
        raise rates.refusal(refused, _revision_of(caller, message))


def _require_flag(caller: Caller, message: Message) -> None:
    off = gate.flag(mcp_server_on=caller.principal.mcp_server_on)
    if off is not None:
        revision = _revision_of(caller, message)
        raise failures.refusal(off.reason, off.layer, off.message, revision, http_status=403)


def _ending(error: ProtocolError, elapsed: int) -> Ending:
    data = error.data if isinstance(error.data, Mapping) else {}
    layer = str(data.get("layer", "protocol"))
    return Ending(
        outcome=REFUSED_AS.get(layer, Outcome.PROTOCOL_ERROR),
        reason=str(data["reason"]) if layer in REFUSED_AS else f"rpc_{abs(error.code)}",
        layer=layer,
        detail=error.limit if isinstance(error, RateLimited) else error.message,
        duration_us=elapsed,
    )


def _record_refusal(caller: Caller, message: Message, ending: Ending) -> None:
    params: Mapping[str, Any] = getattr(message, "params", {})
    name, arguments = params.get("name", params.get("uri")), params.get("arguments")
    act = Act(
        method=_method_of(message),
        tool=name if isinstance(name, str) else "",
        arguments=arguments if isinstance(arguments, dict) else {},
        request_id=caller.request.request_id,
        revision=_revision_of(caller, message).value,
    )
    record.execution(caller.actor, act, ending)


def _method_of(message: Message) -> str:
    return message.method if isinstance(message, Request | Notification) else ""


def _id_of(message: Message) -> RequestId | None:
    return message.id if isinstance(message, Request | Malformed) else None


def _revision_of(caller: Caller, message: Message) -> Revision:
    """The revision to word an error in, for messages that could not be negotiated too."""
    if isinstance(message, Malformed | Response):
        return caller.revision
    try:
        return _terms(caller, message).revision
    except ProtocolError:
        return caller.revision
