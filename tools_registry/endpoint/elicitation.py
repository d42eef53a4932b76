"""How a tool's question reaches the client, by revision.

At 2026-07-28 the question is the result, and the client calls again with the answers. At handshake
revisions it goes out on the call's own stream, which waits. Either way the tool has ended, and runs
again from its start. Why: docs/decisions/0017-elicitation.md.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings

from mcp_protocol import errors, input_requests, shapes
from mcp_protocol.errors import ProtocolError
from mcp_protocol.input_requests import UnsupportedAtRevision
from mcp_protocol.revisions import Revision
from mcp_protocol.strict_json import JsonObject
from tools_registry.api import IntegrationFailure
from tools_registry.api.answers import Answers, digests
from tools_registry.endpoint import request_state
from tools_registry.endpoint.request_state import SealedFor
from tools_registry.pipeline.invocation import NeedsInput, PreparedCall

MINUTES_FROM: Final = 120
CANNOT_ASK: Final = "This tool needs your input, and this client or call does not support that."


@dataclass(frozen=True, slots=True)
class StreamQuestion:
    """Requests that are to be sent on a stream, as its revision writes them.

    `answered` has the answers of earlier questions, `digests` the digests of all questions so far.
    """

    call: PreparedCall
    requests: Mapping[str, JsonObject]
    state: Any
    earlier: Mapping[str, Any] = field(repr=False)
    digests: Mapping[str, str] = field(repr=False)

    def answers(self, new: Mapping[str, Any]) -> Answers:
        """The answers to this question together with the earlier ones."""
        return Answers({**self.earlier, **new}, self.digests, self.state, verified=True)


def as_result(asked: NeedsInput, revision: Revision) -> JsonObject | ProtocolError:
    """The question as the result of a call, for revisions that answer by calling again."""
    if asked.missing:
        return errors.missing_capability(asked.missing)
    invocation = asked.call.invocation
    ends = invocation.answers.ends or time.time() + settings.HALO_ASK_SECONDS
    requests = _with_deadlines(
        asked.requests, input_requests.serialize(asked.requests, revision), ends
    )
    state = request_state.seal(
        _purpose_of(asked.call), invocation.answers, asked.requests, asked.state
    )
    return shapes.input_required_result(requests, state)


def on_stream(asked: NeedsInput, revision: Revision, *, can_wait: bool) -> StreamQuestion | None:
    """The question as it is sent on a stream; None if this client or request cannot be asked."""
    if asked.missing or not can_wait:
        return None
    try:
        requests = input_requests.serialize(asked.requests, revision)
    except UnsupportedAtRevision:
        return None
    ends = time.time() + settings.HALO_ASK_SECONDS
    requests = _with_deadlines(asked.requests, requests, ends)
    before = asked.call.invocation.answers
    sent = {**before.put, **digests(asked.requests)}
    return StreamQuestion(asked.call, requests, asked.state, before.by_key, sent)


def _with_deadlines(
    asked: Mapping[str, Any], requests: Mapping[str, JsonObject], ends: float
) -> dict[str, JsonObject]:
    """The requests, where those that a person reads say how long they can be answered.

    `ends` is Unix time; a request of the tool may end earlier (`ToolContext.ask_form`).
    """
    return {
        key: _with_deadline(request, min(ends, asked[key].get("ends", ends)))
        for key, request in requests.items()
    }


def _with_deadline(request: JsonObject, ends: float) -> JsonObject:
    if request["method"] != input_requests.ELICIT:
        return request
    params = request["params"]
    message = f"{params['message']}\n\nAnswer within {duration(ends - time.time())}."
    return {**request, "params": {**params, "message": message}}


def duration(seconds: float) -> str:
    """Returns a time as people read it: whole minutes from two on, else seconds."""
    whole = max(round(seconds), 1)
    if whole >= MINUTES_FROM:
        return f"{whole // 60} minutes"
    return f"{whole} second{'s' if whole > 1 else ''}"


def cannot_ask() -> IntegrationFailure:
    """The failure of a call whose client cannot be asked."""
    return IntegrationFailure(CANNOT_ASK)


def _purpose_of(call: PreparedCall) -> SealedFor:
    """What a state is sealed for, and the only request that it can be opened for."""
    invocation = call.invocation
    return SealedFor(
        call.principal.authorization_id,
        invocation.kind.method,
        invocation.name,
        invocation.arguments,
        binding=invocation.binding,
    )
