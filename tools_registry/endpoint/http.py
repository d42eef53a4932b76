"""HTTP as the endpoint reads and answers it, behind any server."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias
from uuid import UUID

from foundation import headers as fields
from mcp_protocol import revisions
from mcp_protocol.envelope import RequestId
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import UNDECLARED, Revision, revisions_since
from tools_registry.api import Silence
from tools_registry.endpoint.surface import McpSurface

Headers: TypeAlias = tuple[tuple[str, str], ...]
Emit: TypeAlias = Callable[[Mapping[str, Any]], None]
# Which threads do a step of a stream: those for calls that may take long, or those for looks.
Pool: TypeAlias = Literal["long", "quiet"]

JSON_HEADERS: Headers = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
STREAM_HEADERS: Headers = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store"),
    # Proxies that buffer would hold events back (streamable-http, Receiving Messages).
    ("X-Accel-Buffering", "no"),
)
# More digits than any body has bytes; Python refuses to read numbers of thousands of digits.
MAX_LENGTH_DIGITS: Final = 18
# What a request keeps that waits for its client; never the bearer.
KEPT_HEADERS: Final = frozenset({"accept", "host", "mcp-protocol-version", "origin"})
# Closing the stream is the cancellation from here on (MCP 2026-07-28, basic/transports/
# streamable-http, Cancellation). Before, "disconnection SHOULD NOT be interpreted as the client
# cancelling its request" (MCP 2025-03-26 to 2025-11-25, basic/transports, Sending Messages).
CLOSING_CANCELS: Final = revisions_since(Revision.V2026_07_28)
NO_WEIGHT: Final = re.compile(r"q=0(\.0*)?")


class InFlightCall(Protocol):
    """A call that runs: what a cancellation has to name to cancel it."""

    @property
    def authorization_id(self) -> UUID: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def id(self) -> RequestId: ...


class CancelState(Silence):
    """Whether a call that is answered in one piece is cancelled, and by whom; its channel, too.

    The edge writes what it learns on its event loop; the thread that runs the call reads it. Each
    value is written by one side only, so that none needs a lock.

    `call` is the one that runs, of several one after the other in a batch, and `is_changing` says
    that one of them changes something. `on_begin` and `stop` are set by the watcher that the edge
    starts for a request that takes long.
    """

    __slots__ = (
        "call",
        "cancelled",
        "has_left",
        "is_changing",
        "is_stopping",
        "on_begin",
        "stop",
    )

    def __init__(self) -> None:
        self.has_left = self.is_stopping = self.is_changing = False
        self.call: InFlightCall | None = None
        self.cancelled: InFlightCall | None = None
        self.on_begin: Callable[[], object] | None = None
        self.stop: Callable[[], object] | None = None

    def is_cancelled(self) -> bool:
        return self.is_stopping or self._is_cancelled_by_client()

    def is_interrupted(self) -> bool:
        return self.is_stopping and not self._is_cancelled_by_client()

    def _is_cancelled_by_client(self) -> bool:
        call = self.call
        if call is None:
            return False
        is_closed = self.has_left and call.terms.revision in CLOSING_CANCELS
        return is_closed or self.cancelled is call


@dataclass(slots=True, eq=False)
class HttpRequest:
    """One request. Header names are lower case; `address` is the vetted client address.

    The edge sets `body` once it has read it; nothing else changes it.
    `lasting` says that the edge can keep an answer open for as long as it takes. `cancellation` is
    what the edge learns meanwhile of clients that cancel, if it learns anything. `is_frame` says
    that the message came over a WebSocket, without headers that repeat it. `message_ids` are the
    ids of the requests in the body once it is read: of several if `is_batch`.
    """

    method: str
    headers: Headers
    query: str
    body: bytes = field(repr=False)
    address: str
    request_id: str
    surface: McpSurface = field(repr=False)
    lasting: bool = False
    cancellation: CancelState | None = field(default=None, repr=False)
    is_frame: bool = False
    message_ids: tuple[RequestId, ...] = ()
    is_batch: bool = False
    _joined: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = dict(self.headers)
        if len(values) < len(self.headers):
            values = fields.combine_repeated(self.headers)
        self._joined = values

    def all(self, name: str) -> list[str]:
        lowered = name.lower()
        if lowered not in self._joined:
            return []
        if len(self._joined) == len(self.headers):
            return [self._joined[lowered]]
        return [value for key, value in self.headers if key == lowered]

    def header(self, name: str) -> str | None:
        """The header's value; of repeated ones, all of them."""
        return self._joined.get(name.lower())

    def accepts(self, media_type: str) -> bool:
        """Whether the Accept header names this media type and does not refuse it.

        A wildcard does not count. A weight of 0 is "not acceptable" (RFC 9110, section 12.4.2).
        """
        for media_range in (self.header("accept") or "").lower().split(","):
            named, *parameters = media_range.split(";")
            if named.strip() == media_type:
                weights = (parameter.strip() for parameter in parameters)
                if not any(map(NO_WEIGHT.fullmatch, weights)):
                    return True
        return False

    def forget(self) -> None:
        """Drop the body and every header that a later message of the response does not need."""
        self.body, self.headers = b"", ()
        self._joined = {name: value for name, value in self._joined.items() if name in KEPT_HEADERS}

    @property
    def declared_length(self) -> int:
        """The bytes that Content-Length announces; 0 where it is absent or no number."""
        text = (self.header("content-length") or "")[:MAX_LENGTH_DIGITS]
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def declared_revision(self) -> Revision:
        """The revision that the header names, to word a refusal in before anything is read."""
        return revisions.find(self.header(VERSION_HEADER) or "") or UNDECLARED


@dataclass(frozen=True, slots=True)
class CompleteAnswer:
    """An answer in one piece: a JSON `message` until it is sent, then `body` is its JSON text."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    message: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Suspend:
    """Work that can go on only later; the edge waits meanwhile and holds no thread.

    It calls `resume` in a thread, once: when a notice on one of `topics` comes, after `seconds`,
    when the client has gone, or when the server is about to stop. It may come for nothing, so
    `resume` looks for itself, and answers with another Suspend as long as there is nothing to do.
    A look is quick, so that it has the quiet threads unless it says otherwise.
    """

    topics: frozenset[str]
    seconds: float
    resume: "Step" = field(repr=False)
    pool: Pool = "quiet"


# A part of a stream's work. None: it is over, and all has been emitted.
Step: TypeAlias = Callable[[Emit], Suspend | None]


def _nothing() -> None:
    """For a stream that cannot be cancelled from outside."""


def _go_on() -> None:
    """What most streams do when the server is about to stop: they come to their end first."""


def _say_nothing(_how_many: int) -> None:
    """For a stream whose client asked for no words of the server's own."""


def _end_silently() -> None:
    """For a stream without a response."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in events: the edge calls `run` in a thread and sends what it emits.

    The last message emitted is the response. The edge calls `on_close` once the client has gone,
    `on_cancel` once a notice on `cancel_topic` has come, and `on_shutdown` when the server is about
    to stop, from any thread; after each of them it resumes a suspended stream at once.
    `on_interrupt` follows some seconds later, for what still runs, and `on_abandon` makes the
    response of what does not end then. `left_out` makes the message
    that so many notifications were left out because they were read too slowly, or None. `pool`
    names the threads of the first step, as a Suspend does for the next: what is quick must not wait
    behind long calls. `changes` says that it is the stream of a call that changes something.
    """

    headers: Headers
    run: Step = field(repr=False)
    on_close: Callable[[], None] = field(repr=False)
    status: int = 200
    cancel_topic: str = ""
    on_cancel: Callable[[], None] = field(default=_nothing, repr=False)
    on_shutdown: Callable[[], None] = field(default=_go_on, repr=False)
    on_interrupt: Callable[[], None] = field(default=_go_on, repr=False)
    on_abandon: Callable[[], Mapping[str, Any] | None] = field(default=_end_silently, repr=False)
    left_out: Callable[[int], Mapping[str, Any] | None] = field(default=_say_nothing, repr=False)
    pool: Pool = "long"
    changes: bool = False


Answer: TypeAlias = CompleteAnswer | Stream


@dataclass(frozen=True, slots=True)
class Deferred:
    """An answer that may have to wait for another server.

    The edge calls `finish` once, in a thread that is there to wait.
    """

    finish: Callable[[], "Answer | Deferred"] = field(repr=False)


def response_start(status: int, headers: Headers) -> dict[str, Any]:
    """The ASGI event that begins a response."""
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": raw}
