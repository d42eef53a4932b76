"""Responds to a request of an MCP surface, behind any server.

`respond(request) -> Complete | Stream | Deferred`. Host and Origin are checked first, then the
bearer, then the body: an unknown caller learns nothing about the body and costs one look-up.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import structlog
from django.conf import settings

from foundation import json_text
from mcp_protocol import envelope, negotiation, strict_json
from mcp_protocol.envelope import JsonRpcBatch, JsonRpcRequest, Malformed, Message
from mcp_protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.revisions import UNDECLARED
from mcp_protocol.strict_json import JsonObject
from oauth.principal import Principal
from tools_registry import vendors
from tools_registry.endpoint import admission, dispatch, replies, sessions
from tools_registry.endpoint.dispatch import Waiting
from tools_registry.endpoint.http import (
    JSON_HEADERS,
    Answer,
    CompleteAnswer,
    Deferred,
    Headers,
    HttpRequest,
    Stream,
)
from tools_registry.endpoint.methods import MethodRequest
from tools_registry.endpoint.sessions import McpSession
from tools_registry.endpoint.streams import conversation, streaming
from tools_registry.pipeline import calls
from tools_registry.pipeline.invocation import (
    INTERRUPTED,
    OUTCOME_UNKNOWN,
    PreparedCall,
    TokenEnded,
)

log = structlog.get_logger(__name__)

JSON: Final = "application/json"


def respond(
    request: HttpRequest, finish: Callable[[], Answer | Deferred] | None = None
) -> Answer | Deferred:
    """Answer one HTTP request to the MCP endpoint, whatever happens meanwhile.

    Only a lasting request may get a Deferred, whose call is the rest (`finish`) of this one.
    """
    try:
        if finish is not None:
            answer = finish()
        else:
            admission.require_host_and_origin(request)
            answer = ROUTES.get(request.method, _not_allowed)(request)
        if isinstance(answer, Deferred):
            return Deferred(partial(respond, request, answer.finish))
        return _with_headers(answer, request)
    except ProtocolError as error:
        failed = error
    except Exception as error:
        log.exception("endpoint_failed", request_id=request.request_id)
        failed = replies.from_exception(request.request_id, error)
        if request.method == "POST" and not request.message_ids:
            # For the ids: a request whose caller is unknown has not been read.
            read_message(request, None)
    return _with_headers(_error_answer(failed, request), request)


def timeout_answer(request: HttpRequest) -> Answer:
    """The answer to a body that did not arrive in time."""
    message = "The request body did not arrive in time."
    return _with_headers(_error(ProtocolError(INVALID_REQUEST, message, http_status=408)), request)


def shutdown_answer(request: HttpRequest) -> Answer:
    """The answer to what still runs when the server can wait no longer."""
    state = request.cancellation
    if state is not None and state.is_changing:
        # Without a status that clients repeat a request for.
        error = ProtocolError(INTERNAL_ERROR, OUTCOME_UNKNOWN, http_status=200)
    else:
        error = ProtocolError(INTERNAL_ERROR, INTERRUPTED, http_status=503)
    return _with_headers(_error_answer(error, request), request)


def refusal_answer(request: HttpRequest, error: ProtocolError) -> CompleteAnswer:
    """The answer to a request that was refused before anything of its body was read."""
    return write_answer(_error(error), request)


def write_answer(answer: CompleteAnswer, request: HttpRequest) -> CompleteAnswer:
    """Add the headers that every answer has, and write its message."""
    every = _every_header(request)
    if answer.message is None:
        return CompleteAnswer(answer.status, (*answer.headers, *every), answer.body)
    headers = (*JSON_HEADERS, *answer.headers, *every)
    return CompleteAnswer(answer.status, headers, json_text.dumps(answer.message))


def wants_body(request: HttpRequest) -> bool:
    """Whether anything in the body can matter: if not, an edge need not read it."""
    return request.method == "POST" and request.declared_length <= settings.HALO_MAX_BODY_BYTES


def _descriptor(request: HttpRequest) -> Answer:
    descriptor = request.surface.descriptor
    if descriptor is None or request.accepts("text/event-stream"):
        # A client that wants a stream here speaks a revision with sessions: it may not have one.
        admission.identify(request)
        return _not_allowed(request)
    if request.method == "HEAD":
        # Gemini CLI and Qwen Code look for the challenge here.
        admission.identify(request)
    return CompleteAnswer(200, message=descriptor())


def _preflight(request: HttpRequest) -> Answer:
    return CompleteAnswer(204, admission.preflight_headers(request))


def _not_allowed(request: HttpRequest) -> Answer:
    allow = [("Allow", admission.ALLOW if request.surface.descriptor else admission.ONLY_POST)]
    return _error(ProtocolError(INVALID_REQUEST, "Use POST.", http_status=405, headers=allow))


def _post(http: HttpRequest) -> Answer | Deferred:
    who = admission.identify(http)
    session = session_of(http, who)
    return answer_message(http, who, session, read_message(http, session))


def session_of(http: HttpRequest, who: Principal) -> McpSession | None:
    """The session that a request names, if it is one of its caller."""
    session_id = http.header(sessions.HEADER)
    return None if session_id is None else sessions.from_header(session_id, who.authorization_id)


def read_message(http: HttpRequest, session: McpSession | None) -> Message | JsonRpcBatch:
    """The message of a body; one that cannot be read becomes Malformed."""
    try:
        message = _message(http, session)
    except ProtocolError as error:
        return Malformed(None, error)
    http.is_batch = isinstance(message, JsonRpcBatch)
    members = message.members if isinstance(message, JsonRpcBatch) else (message,)
    http.message_ids = tuple(one.id for one in members if isinstance(one, JsonRpcRequest))
    return message


def answer_message(
    http: HttpRequest, who: Principal, session: McpSession | None, message: Message | JsonRpcBatch
) -> Answer | Deferred:
    """Answer a message of an identified caller."""
    if isinstance(message, JsonRpcBatch):
        # Any of its members may be a call that waits for a vendor.
        members = [MethodRequest(http, who, session, member) for member in message.members]
        return _where_it_may_wait(http, partial(_batch, members))
    request = MethodRequest(http, who, session, message)
    step = dispatch.begin(request)
    if isinstance(step, PreparedCall):
        subject = step.subject
        if subject.streams and streaming.is_requested(request):
            return _stream(request, step)
        if subject.waits or (subject.integration and vendors.is_connected_to(subject.integration)):
            return _where_it_may_wait(http, partial(_run, request, step))
        step = dispatch.run_silently(request, step)
    return _stream(request, step) if isinstance(step, Waiting) else step


def _message(request: HttpRequest, session: McpSession | None) -> Message | JsonRpcBatch:
    limit = settings.HALO_MAX_BODY_BYTES
    # Of a body that is declared too large nothing is read.
    if len(request.body) > limit or (not request.body and request.declared_length > limit):
        message = f"The request body exceeds {limit} bytes."
        raise ProtocolError(INVALID_REQUEST, message, http_status=413)
    content_type = request.header("content-type") or ""
    if content_type != JSON and not _is_json(content_type):
        raise ProtocolError(INVALID_REQUEST, "Send application/json in UTF-8.", http_status=415)
    if (request.header("content-encoding") or "identity").lower() != "identity":
        # Nothing is inflated: a small body must not become a large one.
        raise ProtocolError(INVALID_REQUEST, "Send the body uncompressed.", http_status=415)
    body, batch_limit = strict_json.parse(request.body), 0
    if isinstance(body, list):
        version = request.header(VERSION_HEADER)
        batch_limit = negotiation.batch_limit(version, sessions.get_revision(session))
    return envelope.read(body, batch_limit=batch_limit)


def _where_it_may_wait(
    request: HttpRequest, run: Callable[[], Answer | Deferred]
) -> Answer | Deferred:
    # Those who wait for a vendor must not take the threads of those who do not.
    return Deferred(run) if request.lasting else run()


def _run(request: MethodRequest, call: PreparedCall) -> Answer:
    step = dispatch.run_silently(request, call)
    return _stream(request, step) if isinstance(step, Waiting) else step


def _stream(request: MethodRequest, step: PreparedCall | Waiting) -> Answer:
    clock = time.perf_counter()
    try:
        return conversation.stream(request, step)
    except ProtocolError as error:
        return dispatch.turn_away(request, error, clock)


def _batch(
    members: Sequence[MethodRequest], before: Sequence[JsonObject | None] = ()
) -> Answer | Deferred:
    """Each member charged, gated and recorded on its own (MCP 2025-03-26, basic, Batching).

    One at a time, and behind other requests that wait for a thread by then: a batch that kept its
    thread to the end would have others wait for a hundred calls.
    """
    first, *rest = members
    http = first.http
    # Nothing can be asked in between: the answer is one array.
    answered = _answer_batch_member(replace(first, http=replace(http, lasting=False)))
    messages = [*before, answered.message] if _is_answered(first.message) else before
    if rest:
        return _where_it_may_wait(http, partial(_batch, rest, messages))
    return CompleteAnswer(200, message=messages) if messages else CompleteAnswer(202)


def _answer_batch_member(request: MethodRequest) -> CompleteAnswer:
    """Answer a member; one that fails ends no others, some of which may have changed something."""
    try:
        return _batch_member(request)
    except Exception as error:
        log.exception("batch_member_failed", request_id=request.http.request_id)
        member = request.message
        identifier = member.id if isinstance(member, JsonRpcRequest | Malformed) else None
        failed = replies.from_exception(request.http.request_id, error)
        return CompleteAnswer(200, message=envelope.failure(identifier, failed))


def _batch_member(request: MethodRequest) -> CompleteAnswer:
    """Answer a member with what its caller may do now; those before it may have taken long."""
    who, surface = request.principal, request.surface
    if time.monotonic() - who.as_of >= calls.FRESH_SECONDS:
        try:
            request.principal = calls.recheck(who, surface)
        except TokenEnded as ended:
            error = ProtocolError(surface.codes.unauthorized, ended.message, http_status=401)
            return dispatch.turn_away(request, error, time.perf_counter())
    return dispatch.answer(request)


def _is_answered(member: Message) -> bool:
    # Even a refused notification has no response in a batch (JSON-RPC 2.0, section 6).
    return isinstance(member, JsonRpcRequest | Malformed)


def _is_json(content_type: str) -> bool:
    media, _, parameters = content_type.partition(";")
    charset = parameters.lower().replace(" ", "").replace('"', "")
    return media.strip().lower() == JSON and charset in {"", "charset=utf-8"}


def _error(error: ProtocolError) -> CompleteAnswer:
    message = envelope.failure(None, error)
    return CompleteAnswer(error.status(UNDECLARED), error.headers, message=message)


def _error_answer(error: ProtocolError, request: HttpRequest) -> CompleteAnswer:
    """The error for a whole HTTP request, with the ids of the messages that were read of it."""
    answer, ids = _error(error), request.message_ids
    if request.is_batch and ids:
        return replace(answer, message=[envelope.failure(one, error) for one in ids])
    return replace(answer, message=envelope.failure(ids[0] if ids else None, error))


def _with_headers(answer: Answer, request: HttpRequest) -> Answer:
    if isinstance(answer, Stream):
        return replace(answer, headers=(*answer.headers, *_every_header(request)))
    return write_answer(answer, request)


def _every_header(request: HttpRequest) -> Headers:
    every: Headers = (("X-Request-Id", request.request_id), ("Vary", "Origin"))
    if request.header("origin") is not None:
        every = (*every, *admission.cors_headers(request))
    return every


ROUTES: Final[Mapping[str, Callable[[HttpRequest], Answer | Deferred]]] = {
    "GET": _descriptor,
    # The servers leave the body of an answer to HEAD out, and keep its length (RFC 9110 9.3.2).
    "HEAD": _descriptor,
    "POST": _post,
    "OPTIONS": _preflight,
}
