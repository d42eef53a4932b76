"""A call that speaks while it runs: progress and log messages on the call's own stream."""

import threading
from collections.abc import Mapping
from typing import Any, Final

import structlog

from mcp_protocol import envelope
from mcp_protocol.errors import INTERNAL_ERROR, ProtocolError
from mcp_protocol.negotiation import LOG_LEVELS, Terms
from mcp_protocol.revisions import Revision, since
from tools_registry import dispatch
from tools_registry.dispatch import Answered, Runnable
from tools_registry.exchange import STREAM_HEADERS, Emit, Stream
from tools_registry.types import Json

log = structlog.get_logger(__name__)

# Closing the stream is the cancellation from here on (MCP 2026-07-28, basic/transports/
# streamable-http, Cancellation). Before, "disconnection SHOULD NOT be interpreted as the client
# cancelling its request" (MCP 2025-03-26 to 2025-11-25, basic/transports, Sending Messages).
CLOSING_CANCELS: Final = since(Revision.V2026_07_28)


def wanted(runnable: Runnable) -> bool:
    """Whether this call has something to say before it is over, and was asked to say it."""
    terms = runnable.terms
    asked = terms.progress_token is not None or terms.log_level is not None
    return runnable.prepared.tool.streams and asked


def stream(runnable: Runnable) -> Stream:
    """The stream of a call; its last event is the response."""
    cancelled = threading.Event()

    def run(emit: Emit) -> None:
        channel = StreamChannel(runnable.terms, emit, cancelled)
        answered = _answered(runnable, channel)
        if answered.message is not None:
            channel.send(answered.message)

    cancels = runnable.terms.revision in CLOSING_CANCELS
    return Stream(STREAM_HEADERS, run, cancelled.set if cancels else _work_goes_on)


def _work_goes_on() -> None:
    """What closing means before 2026-07-28: the result is recorded, and nobody reads it."""


def _answered(runnable: Runnable, channel: "StreamChannel") -> Answered:
    try:
        return dispatch.run(runnable, channel)
    except Exception:
        # The status has gone out: all that can still be told is a message.
        reference = runnable.prepared.call.request_id
        log.exception("stream_failed", request_id=reference)
        error = ProtocolError(INTERNAL_ERROR, f"Internal error. Quote {reference} to your admin.")
        return Answered(envelope.failure(runnable.request_id, error))


class StreamChannel:
    """What a tool says, as notifications to the caller that asked for them."""

    def __init__(self, terms: Terms, emit: Emit, cancelled: threading.Event) -> None:
        self._terms = terms
        self._emit = emit
        self._cancelled = cancelled

    def progress(self, done: float, total: float | None, message: str) -> None:
        token = self._terms.progress_token
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": done}
        params |= {"total": total} if total is not None else {}
        params |= {"message": message} if message else {}
        self._notify("notifications/progress", params)

    def log(self, level: str, data: Json) -> None:
        least = self._terms.log_level
        if least is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least):
            self._notify("notifications/message", {"level": level, "data": data})

    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def send(self, message: Mapping[str, Any]) -> None:
        """Emit a message, unless the caller has cancelled: then none may follow."""
        if not self._cancelled.is_set():
            self._emit(message)

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})
