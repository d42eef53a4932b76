"""What happens in a turn, and the events or the body that say so in each response mode.

| happens | delta | message | none |
|---|---|---|---|
| `Began` | turn_start | turn_start | |
| `Piece` | text_delta, thinking_delta | | |
| `Said` | | text, thinking | the message |
| `Called` | tool_call | tool_call | (in the message) |
| `Returned` | tool_result | tool_result | the message |
| `Stopped` | turn_stop | turn_stop | stopReason |
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from agents.protocol.requests import Message, StreamMode
from agents.protocol.resolution import ToolCall
from mcp_protocol.json_writer import dumps

KEEP_ALIVE: Final = b": keep-alive\n\n"


class StopReason(StrEnum):
    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Began:
    """The turn begins; `session_id` is set if the request created the session."""

    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, as the model sends it."""

    kind: Literal["text", "thinking"]
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A whole message of the model, stored."""

    message: Message


@dataclass(frozen=True, slots=True)
class Called:
    """A call of the message before."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool of the agent was run, or denied: its stored message."""

    message: Message


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn is over. `error` is a sentence for the client's developer."""

    reason: StopReason
    error: str = ""


Event: TypeAlias = Began | Piece | Said | Called | Returned | Stopped


def encoded(event: Event, mode: StreamMode) -> bytes:
    """Returns the server-sent events of a streaming mode, which may be none."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (name.encode(), dumps(data))
        for name, data in _named(event, mode)
    )


def _named(event: Event, mode: StreamMode) -> Iterator[tuple[str, dict[str, Any]]]:
    match event:
        case Began(session_id=session_id):
            if session_id:
                yield "session_start", {"sessionId": session_id}
            yield "turn_start", {}
        case Piece(kind=kind, text=text):
            if mode is StreamMode.DELTA:
                yield f"{kind}_delta", {"delta": text}
        case Said(message=message):
            if mode is StreamMode.MESSAGE:
                yield from _texts(message)
        case Called(call=call):
            yield "tool_call", {"toolCallId": call.id, "name": call.name, "input": call.input}
        case Returned(message=message):
            yield (
                "tool_result",
                {"toolCallId": message["toolCallId"], "content": message["content"]},
            )
        case Stopped(reason=reason, error=error):
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
            case Began(session_id=session_id) if session_id:
                found["sessionId"] = session_id
            case Said(message=message) | Returned(message=message):
                messages.append(message)
            case Stopped(reason=reason, error=error):
                found["stopReason"] = reason
                if error:
                    found["error"] = error
    return {**found, "messages": messages}
