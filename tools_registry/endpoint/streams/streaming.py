"""Progress and log messages of a running call, sent on the stream of the call."""

import threading
from collections.abc import Mapping
from typing import Any, Final

from mcp_protocol.negotiation import LOG_LEVELS, Terms
from mcp_protocol.revisions import Revision, revisions_since
from tools_registry.api import Json
from tools_registry.endpoint import sessions
from tools_registry.endpoint.http import Emit
from tools_registry.endpoint.methods import MethodRequest

# ProgressNotification has no `message` before (MCP schema of each revision).
HAS_PROGRESS_MESSAGE: Final = revisions_since(Revision.V2025_03_26)


def is_requested(request: MethodRequest) -> bool:
    """Whether the messages of a call are to be sent on a stream; reads its session's log level.

    They are for a caller that accepts events, and named a progress token or a log level, or has set
    a level for its session.
    """
    if not request.http.accepts("text/event-stream"):
        return False
    terms = request.terms = sessions.with_level(request.terms)
    return terms.progress_token is not None or terms.log_level is not None


def left_out_warning(terms: Terms, how_many: int) -> dict[str, Any] | None:
    """The message that so many were left out, for callers that asked for warnings."""
    if not _is_wanted("warning", terms):
        return None
    data = f"{how_many} messages were left out: they were read too slowly."
    return _notification("notifications/message", {"level": "warning", "data": data})


def _is_wanted(level: str, terms: Terms) -> bool:
    least = terms.log_level
    return least is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)


def _notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


class StreamChannel:
    """Sends what a tool reports as notifications to the caller that asked for them."""

    def __init__(
        self,
        terms: Terms,
        emit: Emit,
        cancelled: threading.Event,
        interrupted: threading.Event,
    ) -> None:
        self._terms = terms
        self._emit = emit
        self._cancelled = cancelled
        self._interrupted = interrupted
        # The most that was sent, in any unit: each notification has to have more.
        self.sent_progress = 0.0

    def progress(self, done: float, total: float | None, message: str) -> None:
        token = self._terms.progress_token
        if token is None:
            return
        self.sent_progress = max(self.sent_progress, done)
        params: dict[str, Any] = {"progressToken": token, "progress": done}
        params |= {"total": total} if total is not None else {}
        if message and self._terms.revision in HAS_PROGRESS_MESSAGE:
            params["message"] = message
        self._notify("notifications/progress", params)

    def log(self, level: str, data: Json) -> None:
        if _is_wanted(level, self._terms):
            self._notify("notifications/message", {"level": level, "data": data})

    def is_cancelled(self) -> bool:
        return self._cancelled.is_set() or self._interrupted.is_set()

    def is_interrupted(self) -> bool:
        return self._interrupted.is_set() and not self._cancelled.is_set()

    def send(self, message: Mapping[str, Any]) -> None:
        """Emit a message, unless the caller has cancelled: then none may follow."""
        if not self._cancelled.is_set():
            self._emit(message)

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self.send(_notification(method, params))
