"""A message that came in a text frame of a WebSocket: read, checked and answered in a thread.

It is dispatched like the body of a POST. What a client would repeat in headers is taken from the
message and from the session of the socket: see `HttpRequest.is_frame`.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from foundation import json_text
from mcp_protocol import envelope, strict_json
from mcp_protocol.envelope import (
    JsonRpcBatch,
    JsonRpcNotification,
    JsonRpcRequest,
    Malformed,
    Message,
    RequestId,
)
from mcp_protocol.errors import INTERNAL_ERROR, ProtocolError
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.meta_keys import META, PROTOCOL_VERSION
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry.endpoint import dispatch, rates, replies, respond
from tools_registry.endpoint.http import (
    Answer,
    CancelState,
    CompleteAnswer,
    Deferred,
    HttpRequest,
    Stream,
)
from tools_registry.endpoint.methods import MethodRequest
from tools_registry.endpoint.streams import cancellation
from tools_registry.endpoint.streams.delivery import Encoding
from tools_registry.pipeline.invocation import INTERRUPTED, OUTCOME_UNKNOWN

log = structlog.get_logger(__name__)

MAX_IN_FLIGHT: Final = 32
# Seconds; a guess at when one of them is answered.
RETRY_AFTER: Final = 1
# Compact JSON has no line breaks. Nothing but messages is sent: pings keep a socket open.
LINES: Final = Encoding(lambda message: json_text.dumps(message) + b"\n", lambda _text: b"", b"")


class InFlightMessage:
    """A message in progress; the thread that reads it writes what it is, the event loop the rest.

    `request_id` is the id of a request, and `cancels` the id that a notification cancels.
    """

    __slots__ = (
        "_on_cancel",
        "cancellation",
        "cancels",
        "gone",
        "has_response",
        "is_cancelled",
        "is_unauthenticated",
        "request_id",
    )

    def __init__(self) -> None:
        self.cancellation = CancelState()
        self.gone = asyncio.Event()
        self.request_id: RequestId | None = None
        self.cancels: RequestId | None = None
        self.has_response = True
        self.is_cancelled = self.is_unauthenticated = False
        self._on_cancel: Callable[[], None] | None = None

    def understand(self, message: Message | JsonRpcBatch) -> None:
        """Note what the message is."""
        if isinstance(message, JsonRpcRequest):
            self.request_id = message.id
        self.has_response = isinstance(message, JsonRpcRequest | Malformed | JsonRpcBatch)
        if isinstance(message, JsonRpcNotification) and message.method == cancellation.METHOD:
            self.cancels = envelope.as_id(message.params.get("requestId"))

    def cancel(self) -> None:
        """The client wants no response: what runs is to stop at its next step."""
        self.is_cancelled = True
        state = self.cancellation
        # The call may begin in between: its thread calls `on_begin` after it has set `call`.
        state.on_begin = self._cancel_call
        self._cancel_call()
        if self._on_cancel is not None:
            self._on_cancel()
        self.gone.set()

    def leave(self) -> None:
        """The client has gone."""
        self.cancellation.has_left = True
        self.gone.set()

    def streams(self, stream: Stream) -> Stream:
        """The stream that answers the message; cancelled here, and not by a notification."""
        self._on_cancel = stream.on_cancel
        if self.is_cancelled:
            stream.on_cancel()
        return replace(stream, cancel_topic="")

    def _cancel_call(self) -> None:
        self.cancellation.cancelled = self.cancellation.call


def answer(
    work: InFlightMessage, request: HttpRequest, before: Principal, *, is_crowded: bool
) -> Answer | Deferred:
    """Answer a message of the caller `before`, whatever happens meanwhile.

    A request is refused if the socket `is_crowded`; a cancellation and the answer to a question are
    not. `is_unauthenticated` of the work says that the credential has ended.
    """
    return _run_step(work, request, partial(_begin, work, request, before, is_crowded=is_crowded))


def _run_step(
    work: InFlightMessage, request: HttpRequest, step: Callable[[], Answer | Deferred]
) -> Answer | Deferred:
    try:
        answered = step()
    except Unauthenticated:
        work.is_unauthenticated = True
        return CompleteAnswer(401)
    except Exception as error:
        log.exception("frame_failed", request_id=request.request_id)
        if not request.message_ids:
            # For the id, and whether there is one: the caller was not found, so nothing was read.
            work.understand(respond.read_message(request, None))
        failure = envelope.failure(
            work.request_id, replies.from_exception(request.request_id, error)
        )
        answered = CompleteAnswer(500, message=failure)
    if isinstance(answered, Deferred):
        return Deferred(partial(_run_step, work, request, answered.finish))
    if isinstance(answered, Stream) or answered.message is None:
        return answered
    return replace(answered, body=json_text.dumps(answered.message), message=None)


def _begin(
    work: InFlightMessage, request: HttpRequest, before: Principal, *, is_crowded: bool
) -> Answer | Deferred:
    clock = time.perf_counter()
    accepted = request.surface.credentials
    who = credentials.recheck(before.credential, before.token_id, accepted)
    session = respond.session_of(request, who)
    message = respond.read_message(request, session)
    work.understand(message)
    request = _with_version(request, message)
    if not is_crowded or not work.has_response:
        return respond.answer_message(request, who, session, message)
    single = (
        Malformed(None, _in_flight_error(request)) if isinstance(message, JsonRpcBatch) else message
    )
    refused = MethodRequest(request, who, session, single)
    return dispatch.turn_away(refused, _charge_refused(refused) or _in_flight_error(request), clock)


def is_initialize(body: bytes) -> bool:
    """Whether a frame opens a session; only what has the word in it is read for it."""
    if b'"initialize"' not in body:
        return False
    try:
        message = strict_json.parse(body)
    except ProtocolError:
        return False
    return isinstance(message, dict) and message.get("method") == "initialize"


def shutdown_response(work: InFlightMessage) -> bytes:
    """The response to a request that still runs when the server can wait no longer."""
    message = OUTCOME_UNKNOWN if work.cancellation.is_changing else INTERRUPTED
    error = ProtocolError(INTERNAL_ERROR, message)
    return json_text.dumps(envelope.failure(work.request_id, error))


def _with_version(request: HttpRequest, message: Message | JsonRpcBatch) -> HttpRequest:
    """The request with the header that declares the revision of `_meta` (2026-07-28)."""
    if not isinstance(message, JsonRpcRequest | JsonRpcNotification):
        return request
    meta = message.params.get(META)
    declared = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
    if not isinstance(declared, str):
        return request
    return replace(request, headers=(*request.headers, (VERSION_HEADER.lower(), declared)))


def _charge_refused(request: MethodRequest) -> ProtocolError | None:
    """Charge a message that is refused all the same: it counts like every other."""
    http = request.http
    verdict = rates.spend(request.principal, http.surface, request.method, http.address)
    if verdict is None:
        return None
    return rates.refusal(verdict, request.error_revision, http.surface.codes)


def _in_flight_error(request: HttpRequest) -> ProtocolError:
    return rates.slot_limit_error(
        f"This WebSocket has {MAX_IN_FLIGHT} requests in progress. Wait for a response.",
        most=MAX_IN_FLIGHT,
        wait=RETRY_AFTER,
        revision=request.declared_revision,
        codes=request.surface.codes,
    )
