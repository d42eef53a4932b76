"""What happens in a turn, and the events or the body that say so in each response mode.

| happens | delta | message | none |
|---|---|---|---|
| `TurnStartEvent` | turn_start | turn_start | |
| `DeltaEvent` | text_delta, thinking_delta | | |
| `Said` | | text, thinking | the message |
| `ToolCallEvent` | tool_call | tool_call | (in the message) |
| `ToolResultEvent` | tool_result | tool_result | the message |
| `TurnStopEvent` | turn_stop | turn_stop | stopReason |
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from agents.protocol.requests import Message, StreamMode
from agents.protocol.resolution import ToolCall
from foundation.json_text import dumps

KEEP_ALIVE: Final = b": keep-alive\n\n"


class StopReason(StrEnum):
    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TurnStartEvent:
    """The turn begins; `session_id` is set if the request created the session."""

    session_id: str = ""


@dataclass(frozen=True, slots=True)
class DeltaEvent:
    """A part of a text, as the model sends it."""

    kind: Literal["text", "thinking"]
    text: str


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A whole message of the model, stored."""

    message: Message


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A call of the message before."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolResultEvent:
    """A tool of the agent was run, or denied: its stored message."""

    message: Message


@dataclass(frozen=True, slots=True)
class TurnStopEvent:
    """The turn is over. `error` is a sentence for the client's developer."""

    reason: StopReason
    error: str = ""


Event: TypeAlias = (
    TurnStartEvent | DeltaEvent | MessageEvent | ToolCallEvent | ToolResultEvent | TurnStopEvent
)


def encode(event: Event, mode: StreamMode) -> bytes:
    """Returns the server-sent events of a streaming mode, which may be none."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (name.encode(), dumps(data))
        for name, data in _to_sse_events(event, mode)
    )


def _to_sse_events(event: Event, mode: StreamMode) -> Iterator[tuple[str, dict[str, Any]]]:
    match event:
        case TurnStartEvent(session_id=session_id):
            if session_id:
                yield "session_start", {"sessionId": session_id}
            yield "turn_start", {}
        case DeltaEvent(kind=kind, text=text):
            if mode is StreamMode.DELTA:
                yield f"{kind}_delta", {"delta": text}
        case MessageEvent(message=message):
            if mode is StreamMode.MESSAGE:
                yield from _texts(message)
        case ToolCallEvent(call=call):
            yield "tool_call", {"toolCallId": call.id, "name": call.name, "input": call.input}
        case ToolResultEvent(message=message):
            yield (
                "tool_result",
                {"toolCallId": message["toolCallId"], "content": message["content"]},
            )
        case TurnStopEvent(reason=reason, error=error):
            yield "turn_stop", {"stopReason": reason, **({"error": error} if error else {})}


def _texts(message: Message) -> Iterator[tuple[str, dict[str, Any]]]:
    content = message["content"]
    if isinstance(content, str):
        yield "text", {"text": content}
        return
    for block in content:
        if block["type"] in {"text", "thinking"}:
            yield block["type"], {block["type"]: block[block["type"]]}


def body(events: Sequence[Event]) -> dict[str, Any]:
    """Returns the response of a turn that is over, in the mode without a stream."""
    found: dict[str, Any] = {}
    messages: list[Message] = []
    for event in events:
        match event:
            case TurnStartEvent(session_id=session_id) if session_id:
                found["sessionId"] = session_id
            case MessageEvent(message=message) | ToolResultEvent(message=message):
                messages.append(message)
            case TurnStopEvent(reason=reason, error=error):
                found["stopReason"] = reason
                if error:
                    found["error"] = error
    return {**found, "messages": messages}
