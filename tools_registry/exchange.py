"""HTTP as the endpoint sees it: facts in, an answer out, whichever server stands in front."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from mcp_protocol import revisions, strict_json
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.revisions import UNDECLARED, Revision

Headers: TypeAlias = tuple[tuple[str, str], ...]
Emit: TypeAlias = Callable[[Mapping[str, Any]], None]

JSON_HEADERS: Headers = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
STREAM_HEADERS: Headers = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store"),
    # Proxies that buffer would hold events back (streamable-http, Receiving Messages).
    ("X-Accel-Buffering", "no"),
)
# More digits than any body has bytes; Python refuses to read numbers of thousands of digits.
MOST_LENGTH_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. Header names are lower case; `address` is the vetted client address.

    `lasting` says that the edge can keep an answer open for as long as it takes.
    """

    method: str
    headers: Headers
    query: str
    body: bytes = field(repr=False)
    address: str
    request_id: str
    lasting: bool = False

    def all(self, name: str) -> list[str]:
        lowered = name.lower()
        return [value for key, value in self.headers if key == lowered]

    def header(self, name: str) -> str | None:
        """The header's value; repeated ones are joined by a comma, as RFC 9110 section 5.2 says."""
        values = self.all(name)
        return ", ".join(values) if values else None

    def accepts(self, media_type: str) -> bool:
        """Whether the Accept header names this media type; a wildcard does not count."""
        return media_type in (self.header("accept") or "").lower()

    @property
    def declared_length(self) -> int:
        """The bytes that Content-Length announces; 0 where it is absent or no number."""
        text = (self.header("content-length") or "")[:MOST_LENGTH_DIGITS]
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def declared_revision(self) -> Revision:
        """The revision that the header names, to word a refusal in before anything is read."""
        return revisions.find(self.header(VERSION_HEADER) or "") or UNDECLARED


@dataclass(frozen=True, slots=True)
class Complete:
    """An answer that is whole."""

    status: int
    headers: Headers
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Pause:
    """Work that can go on only later; the edge waits meanwhile and holds no thread.

    It calls `resume` in a thread, once: when a notice on one of `topics` comes, after `seconds`,
    when the client has gone, or when the server is about to stop. It may come for nothing, so
    `resume` looks for itself, and answers with another Pause as long as there is nothing to do.
    """

    topics: frozenset[str]
    seconds: float
    resume: "Step" = field(repr=False)


# A part of a stream's work. None: it is over, and all has been emitted.
Step: TypeAlias = Callable[[Emit], Pause | None]


def _nothing() -> None:
    """For a stream that nobody can cancel from outside."""


def _go_on() -> None:
    """What most streams do when the server is about to stop: they come to their end first."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in events: the edge calls `run` in a thread and sends what it emits.

    The last message emitted is the response. The edge calls `on_close` once the client has gone,
    `on_cancel` once a notice on `cancel_topic` has come, and `on_shutdown` when the server is about
    to stop, from any thread; after each of them it resumes a pause at once. `pool` names the
    threads: a stream whose every step is quick and which is mostly silent must not stand behind
    long calls.
    """

    headers: Headers
    run: Step = field(repr=False)
    on_close: Callable[[], None] = field(repr=False)
    status: int = 200
    cancel_topic: str = ""
    on_cancel: Callable[[], None] = field(default=_nothing, repr=False)
    on_shutdown: Callable[[], None] = field(default=_go_on, repr=False)
    pool: Literal["long", "quiet"] = "long"


Answer: TypeAlias = Complete | Stream


def json_answer(status: int, body: object, headers: Headers = ()) -> Complete:
    return Complete(status, (*JSON_HEADERS, *headers), strict_json.dumps(body))
