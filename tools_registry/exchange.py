"""HTTP as the endpoint sees it: facts in, an answer out, whichever server stands in front."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from foundation.carrier import carrier
from mcp_protocol import revisions, strict_json
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.revisions import UNDECLARED, Revision
from tools_registry.interest import Interest

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
MOST_LENGTH_DIGITS: Final = 18
NO_WEIGHT: Final = re.compile(r"q=0(\.0*)?")


@carrier
class HttpRequest:
    """One request. Header names are lower case; `address` is the vetted client address.

    `lasting` says that the edge can keep an answer open for as long as it takes, and `interest` is
    what it hears meanwhile, if it hears anything.
    """

    method: str
    headers: Headers
    query: str
    body: bytes = field(repr=False)
    address: str
    request_id: str
    lasting: bool = False
    interest: Interest | None = field(default=None, repr=False)
    _joined: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Once, as the request is made; the type checker holds it for frozen from here on.
        object.__setattr__(self, "_joined", joined(self.headers))

    def whole(self, body: bytes, interest: Interest) -> "HttpRequest":
        """The request with the rest of it."""
        return HttpRequest(
            method=self.method,
            headers=self.headers,
            query=self.query,
            body=body,
            address=self.address,
            request_id=self.request_id,
            lasting=self.lasting,
            interest=interest,
        )

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
        ranges = (self.header("accept") or "").lower().split(",")
        return any(_names(one, media_type) for one in ranges)

    @property
    def declared_length(self) -> int:
        """The bytes that Content-Length announces; 0 where it is absent or no number."""
        text = (self.header("content-length") or "")[:MOST_LENGTH_DIGITS]
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def declared_revision(self) -> Revision:
        """The revision that the header names, to word a refusal in before anything is read."""
        return revisions.find(self.header(VERSION_HEADER) or "") or UNDECLARED


def joined(headers: Headers) -> dict[str, str]:
    """Values by name; repeated ones are joined by a comma, as RFC 9110 section 5.2 says."""
    single = dict(headers)
    if len(single) == len(headers):
        return single
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}


@carrier
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
    A look is quick, so that it has the quiet threads unless it says otherwise.
    """

    topics: frozenset[str]
    seconds: float
    resume: "Step" = field(repr=False)
    pool: Pool = "quiet"


# A part of a stream's work. None: it is over, and all has been emitted.
Step: TypeAlias = Callable[[Emit], Pause | None]


def _nothing() -> None:
    """For a stream that nobody can cancel from outside."""


def _go_on() -> None:
    """What most streams do when the server is about to stop: they come to their end first."""


def _say_nothing(_how_many: int) -> None:
    """For a stream whose client asked for no words of the server's own."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in events: the edge calls `run` in a thread and sends what it emits.

    The last message emitted is the response. The edge calls `on_close` once the client has gone,
    `on_cancel` once a notice on `cancel_topic` has come, and `on_shutdown` when the server is about
    to stop, from any thread; after each of them it resumes a pause at once. `on_interrupt` comes
    some seconds later, for what still runs. `left_out` words that so many notifications were left
    out for a reader that is too slow, where there are words for it. `pool` names the
    threads of its first step, as a pause does for the next: what is quick must not stand behind
    long calls.
    """

    headers: Headers
    run: Step = field(repr=False)
    on_close: Callable[[], None] = field(repr=False)
    status: int = 200
    cancel_topic: str = ""
    on_cancel: Callable[[], None] = field(default=_nothing, repr=False)
    on_shutdown: Callable[[], None] = field(default=_go_on, repr=False)
    on_interrupt: Callable[[], None] = field(default=_go_on, repr=False)
    left_out: Callable[[int], Mapping[str, Any] | None] = field(default=_say_nothing, repr=False)
    pool: Pool = "long"


Answer: TypeAlias = Complete | Stream


@carrier
class Later:
    """An answer that may have to wait for somebody else's server.

    The edge calls `finish` once, in a thread that is there to wait.
    """

    finish: Callable[[], "Answer | Later"] = field(repr=False)


def _names(media_range: str, media_type: str) -> bool:
    named, *parameters = (part.strip() for part in media_range.split(";"))
    return named == media_type and not any(map(NO_WEIGHT.fullmatch, parameters))


def json_answer(status: int, body: object, headers: Headers = ()) -> Complete:
    return Complete(status, (*JSON_HEADERS, *headers), strict_json.dumps(body))
