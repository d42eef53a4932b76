"""tasks/result of a call that goes on: a stream that ends with its result (2025-11-25).

It holds no thread. At each look the token is checked again, and the task is read.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from django.db import DatabaseError, InterfaceError

from mcp_protocol import envelope
from mcp_protocol.errors import INVALID_REQUEST, ProtocolError
from tools_registry.endpoint import refusal_records, replies
from tools_registry.endpoint.http import STREAM_HEADERS, Emit, Stream, Suspend
from tools_registry.endpoint.methods.request import MethodRequest
from tools_registry.endpoint.replies import Reply
from tools_registry.endpoint.streams import listen_streams
from tools_registry.pipeline import calls
from tools_registry.pipeline.invocation import TokenEnded

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 5.0
CANNOT_WAIT: Final = (
    "The call of this task has not ended. Poll tasks/get, or include text/event-stream in Accept."
)


def stream(request: MethodRequest, look: Callable[[], Reply | None]) -> Stream:
    """The stream of a request; `look` returns its response, None while the call goes on.

    `look` may raise ProtocolError. Raises ProtocolError.
    """
    if not request.can_wait:
        raise ProtocolError(INVALID_REQUEST, CANNOT_WAIT, http_status=406)
    if not listen_streams.OPEN.acquire(request.principal):
        raise listen_streams.too_many_streams_error(request.surface, request.revision)
    waiting = _WaitingResult(request, look)
    return Stream(
        STREAM_HEADERS, waiting.look, waiting.close, on_shutdown=waiting.finish, pool="quiet"
    )


class _WaitingResult:
    """One open stream."""

    __slots__ = ("_is_closed", "_is_stopping", "_look", "_request", "_slot")

    def __init__(self, request: MethodRequest, look: Callable[[], Reply | None]) -> None:
        request.forget()
        self._request, self._look = request, look
        self._slot = request.principal
        self._is_closed = self._is_stopping = False

    def close(self) -> None:
        """The client has gone: nothing more is sent."""
        self._is_closed = True

    def finish(self) -> None:
        """The server stops: the next look is the last."""
        self._is_stopping = True

    def look(self, emit: Emit) -> Suspend | None:
        """Send the response if there is one by now."""
        response = None if self._is_closed else self._response()
        if response is None and not self._is_closed:
            return Suspend(frozenset(), LOOK_SECONDS, self.look)
        if response is not None:
            emit(response)
        listen_streams.OPEN.release(self._slot)
        return None

    def _response(self) -> Mapping[str, Any] | None:
        request = self._request
        try:
            reply = self._read()
            if reply is None and self._is_stopping:
                # The task goes on: the client can read its result from another process.
                reply = replies.unavailable()
        except (DatabaseError, InterfaceError) as error:
            # Unknown: the next look checks again.
            log.warning("task_result_unread", error=type(error).__name__)
            reply = replies.unavailable() if self._is_stopping else None
        except Exception as error:
            log.exception("task_result_failed", request_id=request.http.request_id)
            reply = replies.from_exception(request.http.request_id, error)
        if isinstance(reply, ProtocolError):
            return envelope.failure(request.id, reply)
        return None if reply is None else envelope.success(request.id, reply)

    def _read(self) -> Reply | None:
        """Returns the result or a refusal, which is recorded; None while the call goes on."""
        request, clock = self._request, time.perf_counter()
        try:
            request.principal = calls.recheck(request.principal, request.surface)
            request.require_server_on()
            return self._look()
        except TokenEnded as ended:
            error = ProtocolError(request.surface.codes.unauthorized, ended.message)
        except ProtocolError as refused:
            error = refused
        elapsed = int((time.perf_counter() - clock) * 1_000_000)
        refusal_records.record_refusal(request, request.revision, error, elapsed)
        return error
