"""Which calls of a history wait for the client, and whether what it sends resolves them.

A call waits if it is in the last assistant message and has no `tool` message. All of them are
resolved in one request: calls of the client's tools by results, calls of the agent's tools by
permissions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agents.protocol.requests import InvalidAgentRequest, Message

# The results of calls that were interrupted, and of those that were not made.
UNKNOWN_RESULT: Final = "The result is unknown: the call was interrupted."
NOT_MADE: Final = "The call was not made: the turn had reached its limit."


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether the client lets a tool of the agent run, and why not."""

    is_granted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A waiting call with the `tool` message of the client, or with its permission."""

    call: ToolCall
    result: Message | None = None
    permission: Permission | None = None


def calls_of(message: Message) -> list[ToolCall]:
    """Returns the calls of an assistant message, in their order."""
    content = message["content"]
    if isinstance(content, str):
        return []
    return [
        ToolCall(block["toolCallId"], block["name"], block["input"])
        for block in content
        if block["type"] == "tool_use"
    ]


def pending(history: Sequence[Message]) -> list[ToolCall]:
    """Returns the calls of a history that have no result yet, in their order."""
    answered = set()
    for message in reversed(history):
        match message["role"]:
            case "tool":
                answered.add(message["toolCallId"])
            case "assistant":
                return [call for call in calls_of(message) if call.id not in answered]
            case _:
                return []
    return []


def resolve(
    waiting: Sequence[ToolCall],
    sent: Sequence[Message],
    is_of_client: Callable[[str], bool],
) -> list[Resolved]:
    """Returns each waiting call with what the client has sent for it, in the order of the calls.

    Without waiting calls the client may send user messages only, and the answer is empty. Raises
    InvalidAgentRequest.
    """
    by_id = _index_by_call(sent)
    if not waiting:
        if by_id:
            raise InvalidAgentRequest(f"No call waits for a result: {_join_ids(by_id)}.")
        return []
    if len(by_id) < len(sent):
        if by_id:
            message = "Send results and permissions alone, and user messages in a later request."
            raise InvalidAgentRequest(message)
        ids = _join_ids(call.id for call in waiting)
        raise InvalidAgentRequest(f"These calls wait for a result or a permission: {ids}.")
    known = {call.id for call in waiting}
    if missing := [call.id for call in waiting if call.id not in by_id]:
        raise InvalidAgentRequest(
            f"Send results and permissions together; missing: {_join_ids(missing)}."
        )
    if unknown := [one for one in by_id if one not in known]:
        raise InvalidAgentRequest(f"No such call waits: {_join_ids(unknown)}.")
    return [
        _resolve_call(call, by_id[call.id], of_client=is_of_client(call.name)) for call in waiting
    ]


def _index_by_call(sent: Sequence[Message]) -> dict[str, Message]:
    found: dict[str, Message] = {}
    for message in sent:
        if message["role"] == "user":
            continue
        call_id = message["toolCallId"]
        if call_id in found:
            raise InvalidAgentRequest(f"The call {call_id} is resolved twice.")
        found[call_id] = message
    return found


def _resolve_call(call: ToolCall, message: Message, *, of_client: bool) -> Resolved:
    """A result for a tool of the agent is forged; a tool of the client needs no permission."""
    is_result = message["role"] == "tool"
    if of_client and not is_result:
        raise InvalidAgentRequest(f"The call {call.id} is of a tool of yours: send its result.")
    if not of_client and is_result:
        raise InvalidAgentRequest(
            f"The call {call.id} is of a tool of the agent: send a permission."
        )
    if is_result:
        return Resolved(call, result=message)
    return Resolved(call, permission=Permission(message["granted"], message.get("reason", "")))


def _join_ids(ids: Any) -> str:
    return ", ".join(map(str, ids))
