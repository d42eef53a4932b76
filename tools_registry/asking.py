"""How what a function asks reaches its client: one answer for each era of the protocol.

At 2026-07-28 the question is the result, and the client comes again with the answers. At handshake
revisions it goes out on the call's own stream, which waits. Either way the function has ended, and
runs again from its start. Why so: docs/decisions/0017-asking.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from foundation.carrier import carrier
from mcp_protocol import client_capabilities, errors, input_requests, shapes
from mcp_protocol.input_requests import Unspeakable
from mcp_protocol.revisions import MODERN, Revision
from mcp_protocol.strict_json import JsonObject
from oauth.principal import Principal
from tools_registry import request_state
from tools_registry.answers import NONE_YET, Answers, digests
from tools_registry.operations import Reply
from tools_registry.request_state import SealedFor
from tools_registry.types import Cancelled, Channel, InputRequired, IntegrationFailure, ToolFailure

CANNOT_ASK: Final = "This tool must ask you something, and cannot over this call."


class Waiter(Protocol):
    """What a question stands in the way of."""

    def again(self, principal: Principal, answers: Answers, channel: Channel) -> "Reply | Question":
        """Start anew with the answers, for who the caller is by now."""

    def end(self, why: ToolFailure | Cancelled) -> Reply:
        """End without an answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """Requests that are to go out on a stream, in the words of its revision.

    `before` are the answers of earlier rounds, `put` has the digests of all questions so far.
    """

    requests: Mapping[str, JsonObject]
    state: Any
    before: Mapping[str, Any] = field(repr=False)
    put: Mapping[str, str] = field(repr=False)
    waiter: Waiter = field(repr=False)

    def answered(self, new: Mapping[str, Any]) -> Answers:
        return Answers({**self.before, **new}, self.put, self.state, vouched=True)


@carrier
class Round:
    """One run of an operation that may ask: what its client can be asked, and has answered.

    `can_wait` says that a stream can be opened for it and kept open.
    """

    purpose: SealedFor
    revision: Revision
    client_capabilities: Mapping[str, Any] = field(default_factory=dict)
    answers: Answers = NONE_YET
    can_wait: bool = False

    def with_answers(self, answers: Answers) -> "Round":
        return replace(self, answers=answers)


def round_of(
    purpose: SealedFor,
    params: Mapping[str, Any],
    revision: Revision,
    capabilities: Mapping[str, Any],
    *,
    can_wait: bool,
) -> Round:
    """The round that a request opens. Raises ProtocolError for a state that does not belong to it.

    Answers come with the request at 2026-07-28 only; before, its params have no such members.
    """
    answers = request_state.read(purpose, params) if revision in MODERN else NONE_YET
    return Round(
        purpose=purpose,
        revision=revision,
        client_capabilities=capabilities,
        answers=answers,
        can_wait=can_wait,
    )


def put(this: Round, asked: InputRequired, waiter: Waiter) -> Reply | Question | None:
    """What is to be done about a question; None where its client cannot be asked at all."""
    needed = input_requests.needed(asked.requests)
    covered = client_capabilities.covers(this.client_capabilities, needed)
    if this.revision in MODERN:
        return _result(this, asked) if covered else errors.missing_capability(needed)
    return _question(this, asked, waiter) if covered and this.can_wait else None


def cannot_ask() -> ToolFailure:
    """What a caller is told that cannot be asked."""
    return IntegrationFailure(CANNOT_ASK)


def _result(this: Round, asked: InputRequired) -> JsonObject:
    requests = input_requests.worded(asked.requests, this.revision)
    state = request_state.seal(this.purpose, this.answers, asked)
    return shapes.input_required_result(requests, state)


def _question(this: Round, asked: InputRequired, waiter: Waiter) -> Question | None:
    try:
        requests = input_requests.worded(asked.requests, this.revision)
    except Unspeakable:
        return None
    put = {**this.answers.put, **digests(asked.requests)}
    return Question(requests, asked.state, this.answers.by_key, put, waiter)
