"""/api/mcp, whichever server stands in front: `respond(request) -> Complete | Stream | Later`.

Order matters: Host and Origin, then the bearer, then the body. Who is unknown learns nothing about
what the body should have been, and costs one look-up.

Where it runs on a fiber, what may hold the loop goes `elsewhere`: from here all that is no call,
and from the pipeline the tools.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError

from foundation.fibers import elsewhere
from mcp_protocol import envelope, handshake_shapes, negotiation, strict_json
from mcp_protocol.envelope import Batch, Message, Request
from mcp_protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.revisions import UNDECLARED
from mcp_protocol.strict_json import JsonObject
from tools_registry import admission, conversation, dispatch, sessions, streaming, vendors
from tools_registry.call import FRESH_SECONDS, INTERRUPTED
from tools_registry.dispatch import Answered, Caller, Runnable, Step, Waiting
from tools_registry.exchange import Answer, Complete, HttpRequest, Later, Stream, json_answer
from tools_registry.operations import CALL

log = structlog.get_logger(__name__)


def respond(request: HttpRequest) -> Answer | Later:
    """Answer one HTTP request to the MCP endpoint; only a lasting one may be answered later."""
    return _kept(request, partial(_routed, request))


def _kept(request: HttpRequest, work: Callable[[], Answer | Later]) -> Answer | Later:
    """Whatever happens in the work is an answer, with the headers that every answer has."""
    try:
        answer = work()
    except ProtocolError as error:
        answer = _error(error)
    except Exception as error:
        log.exception("endpoint_failed", request_id=request.request_id)
        answer = _error(_broken(request, error))
    if isinstance(answer, Later):
        return Later(partial(_kept, request, answer.finish))
    return _with_headers(answer, request)


def _routed(request: HttpRequest) -> Answer | Later:
    admission.require_host(request)
    admission.require_origin(request)
    return ROUTES.get(request.method, _not_allowed)(request)


def timed_out(request: HttpRequest) -> Answer:
    """The answer to a body that did not arrive in time."""
    message = "The body did not arrive in time."
    return _with_headers(_error(ProtocolError(INVALID_REQUEST, message, http_status=408)), request)


def stopped(request: HttpRequest) -> Answer:
    """The answer to what still runs when the server can wait no longer."""
    error = ProtocolError(INTERNAL_ERROR, INTERRUPTED, http_status=503)
    return _with_headers(_error(error), request)


def wants_body(request: HttpRequest) -> bool:
    """Whether anything in the body can matter: if not, an edge need not read it."""
    return request.method == "POST" and request.declared_length <= settings.HALO_MAX_BODY_BYTES


def _descriptor(request: HttpRequest) -> Answer:
    if request.accepts("text/event-stream"):
        # A client that wants a stream here speaks a revision with sessions: it may not have one.
        admission.identify(request)
        return _not_allowed(request)
    return json_answer(200, handshake_shapes.descriptor(settings.HALO_PUBLIC_URL))


def _preflight(request: HttpRequest) -> Answer:
    return Complete(204, admission.preflight_headers(request))


def _not_allowed(_request: HttpRequest) -> Answer:
    allow = [("Allow", admission.ALLOW)]
    return _error(ProtocolError(INVALID_REQUEST, "Use POST.", http_status=405, headers=allow))


def _post(request: HttpRequest) -> Answer | Later:
    who = admission.identify(request)
    session = sessions.held(request.header(sessions.HEADER), who.authorization_id)
    caller = Caller(who, request, session)
    try:
        message = _message(caller)
    except ProtocolError as error:
        return _complete(dispatch.malformed(caller, error))
    if isinstance(message, Batch):
        # Any of its members may be a call that waits for a vendor.
        return _where_it_may_wait(request, partial(_batch, caller, message.members))
    begin = partial(_begin, caller, message)
    # Only calls keep to statements that a fiber can wait for; the others read models.
    is_call = isinstance(message, Request) and message.method == CALL.method
    return begin() if is_call else elsewhere(begin)


def _begin(caller: Caller, message: Message) -> Answer | Later:
    if time.monotonic() - caller.principal.as_of > FRESH_SECONDS:
        # It had to wait for a thread: who it is from is asked again.
        caller = replace(caller, principal=admission.identify(caller.request))
    return _answer(caller, message, dispatch.begin(caller, message))


def _message(caller: Caller) -> Message | Batch:
    request = caller.request
    _require_json(request)
    limit = negotiation.batch_limit(request.header(VERSION_HEADER), caller.undeclared)
    return envelope.read(strict_json.parse(request.body), batch_limit=limit)


def _answer(caller: Caller, message: Message, step: Step) -> Answer | Later:
    if isinstance(step, Stream):
        return step
    if isinstance(step, Runnable):
        heard = streaming.heard(step, caller.request)
        if heard is not None:
            return _stream(caller, message, heard)
        run = partial(_run, caller, message, step)
        waits = vendors.is_connected_to(step.prepared.tool.integration)
        return _where_it_may_wait(caller.request, run) if waits else run()
    return _settled(caller, message, step)


def _where_it_may_wait(request: HttpRequest, run: Callable[[], Answer | Later]) -> Answer | Later:
    # Those who wait for a vendor must not take the threads of those who do not.
    return Later(run) if request.lasting else run()


def _run(caller: Caller, message: Message, runnable: Runnable) -> Answer:
    return _settled(caller, message, dispatch.run_silently(caller, runnable))


def _settled(caller: Caller, message: Message, step: Answered | Waiting) -> Answer:
    return _complete(step) if isinstance(step, Answered) else _stream(caller, message, step)


def _stream(caller: Caller, message: Message, step: Runnable | Waiting) -> Answer:
    clock = time.perf_counter()
    try:
        return elsewhere(partial(conversation.stream, caller, step))
    except ProtocolError as error:
        return _complete(dispatch.turn_away(caller, message, error, clock))


def _batch(
    caller: Caller, members: Sequence[Message], before: Sequence[JsonObject | None] = ()
) -> Answer | Later:
    """Each member charged, gated and recorded on its own (MCP 2025-03-26, basic, Batching).

    One at a time, and behind whoever waits for a thread by then: a batch that kept its thread to
    the end would have others wait for a hundred calls.
    """
    first, *rest = members
    # Nothing can be asked in between: the answer is one array.
    alone = replace(caller, request=replace(caller.request, lasting=False))
    answered = dispatch.answer(alone, first)
    messages = [*before, answered.message] if _is_answered(first) else before
    if rest:
        return _where_it_may_wait(caller.request, partial(_batch, caller, rest, messages))
    return json_answer(200, messages) if messages else Complete(202, ())


def _is_answered(member: Message) -> bool:
    # Even a refused notification has no response in a batch (JSON-RPC 2.0, section 6).
    return isinstance(member, Request | envelope.Malformed)


def _complete(answered: Answered) -> Complete:
    if answered.message is None:
        return Complete(answered.status, answered.headers)
    return json_answer(answered.status, answered.message, answered.headers)


def _require_json(request: HttpRequest) -> None:
    most = settings.HALO_MAX_BODY_BYTES
    if max(len(request.body), request.declared_length) > most:
        message = f"The body is over {most} bytes."
        raise ProtocolError(INVALID_REQUEST, message, http_status=413)
    if not _is_json(request.header("content-type") or ""):
        raise ProtocolError(INVALID_REQUEST, "Send application/json in UTF-8.", http_status=415)
    if (request.header("content-encoding") or "identity").lower() != "identity":
        # Nothing is inflated: a small body must not become a large one.
        raise ProtocolError(INVALID_REQUEST, "Send the body uncompressed.", http_status=415)


def _is_json(content_type: str) -> bool:
    media, _, parameters = content_type.partition(";")
    charset = parameters.lower().replace(" ", "").replace('"', "")
    return media.strip().lower() == "application/json" and charset in {"", "charset=utf-8"}


def _broken(request: HttpRequest, error: Exception) -> ProtocolError:
    """What a caller is told of a failure of ours: a number to quote, and whether to try again."""
    message = f"Internal error. Quote {request.request_id} to your admin."
    if isinstance(error, OperationalError | InterfaceError):
        retry = [("Retry-After", "1")]
        return ProtocolError(INTERNAL_ERROR, message, http_status=503, headers=retry)
    return ProtocolError(INTERNAL_ERROR, message, http_status=500)


def _error(error: ProtocolError) -> Complete:
    body = envelope.failure(None, error)
    return json_answer(error.status(UNDECLARED), body, error.headers)


def _with_headers(answer: Answer, request: HttpRequest) -> Answer:
    every = (("X-Request-Id", request.request_id), ("Vary", "Origin"))
    headers = (*answer.headers, *every, *admission.cors_headers(request))
    if isinstance(answer, Complete):  # nearly always, and made anew four times as fast
        return Complete(answer.status, headers, answer.body)
    return replace(answer, headers=headers)


ROUTES: Final[Mapping[str, Callable[[HttpRequest], Answer | Later]]] = {
    "GET": _descriptor,
    # The servers leave the body of an answer to HEAD out, and keep its length (RFC 9110 9.3.2).
    "HEAD": _descriptor,
    "POST": _post,
    "OPTIONS": _preflight,
}
