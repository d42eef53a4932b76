"""One turn as a client sees it, whatever the response mode."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aap_conformance.shapes import EVENTS, JSON_TURN, require_message, require_shape
from aap_conformance.verdicts import Violation
from aap_conformance.wire import ServerAnswer, StreamEvent


@dataclass(frozen=True, slots=True)
class ObservedToolCall:
    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTurn:
    """What the server answered to one request. `events` is empty in the mode without a stream."""

    mode: str
    answer: ServerAnswer
    session_id: str
    stop_reason: str
    text: str
    calls: Sequence[ObservedToolCall]
    # By the id of the call.
    results: Mapping[str, Any]
    events: Sequence[StreamEvent] = ()
    messages: Sequence[Mapping[str, Any]] = ()

    @property
    def names(self) -> list[str]:
        """The names of the events, in their order."""
        return [event.name for event in self.events]

    def event_data(self, *names: str) -> list[Any]:
        """Returns the data of the events with these names."""
        return [event.data for event in self.events if event.name in names]

    def calls_of(self, name: str) -> list[ObservedToolCall]:
        return [call for call in self.calls if call.name == name]

    @property
    def waiting(self) -> list[ObservedToolCall]:
        """The calls without a result."""
        return [call for call in self.calls if call.id not in self.results]


def read(answer: ServerAnswer, mode: str) -> ObservedTurn:
    """Returns the turn in a response. Raises Violation if it is none."""
    return _read_json_turn(answer) if mode == "none" else _read_streamed_turn(answer, mode)


def _read_json_turn(answer: ServerAnswer) -> ObservedTurn:
    body = answer.json()
    require_shape(body, JSON_TURN, answer.request)
    messages = body["messages"]
    for place, message in enumerate(messages):
        require_message(message, f"{answer.request}.messages[{place}]")
    spoken = [message for message in messages if message["role"] == "assistant"]
    return ObservedTurn(
        mode="none",
        answer=answer,
        session_id=body.get("sessionId", ""),
        stop_reason=body["stopReason"],
        text="\n".join(filter(None, map(text_of, spoken))),
        calls=[call for message in spoken for call in calls_of(message)],
        results={one["toolCallId"]: one["content"] for one in messages if one["role"] == "tool"},
        messages=messages,
    )


def _read_streamed_turn(answer: ServerAnswer, mode: str) -> ObservedTurn:
    events = answer.events()
    for event in events:
        if event.name in EVENTS:
            require_shape(event.data, EVENTS[event.name], f"The data of {event.name}")
    stops = [event.data["stopReason"] for event in events if event.name == "turn_stop"]
    if not stops:
        raise Violation(f"The stream of {answer.request} has no turn_stop.")
    started = [event.data["sessionId"] for event in events if event.name == "session_start"]
    return ObservedTurn(
        mode=mode,
        answer=answer,
        session_id=started[0] if started else "",
        stop_reason=stops[-1],
        text="".join(_texts(events)),
        calls=[
            ObservedToolCall(event.data["toolCallId"], event.data["name"], event.data["input"])
            for event in events
            if event.name == "tool_call"
        ],
        results={
            event.data["toolCallId"]: event.data["content"]
            for event in events
            if event.name == "tool_result"
        },
        events=events,
    )


def _texts(events: Sequence[StreamEvent]) -> Iterator[str]:
    for event in events:
        if event.name == "text_delta":
            yield event.data["delta"]
        elif event.name == "text":
            yield event.data["text"]


def calls_of(message: Mapping[str, Any]) -> list[ObservedToolCall]:
    """Returns the calls in an assistant message."""
    content = message["content"]
    blocks = [] if isinstance(content, str) else content
    return [
        ObservedToolCall(block["toolCallId"], block["name"], block["input"])
        for block in blocks
        if block["type"] == "tool_use"
    ]


def text_of(message: Mapping[str, Any]) -> str:
    """Returns the text of a message without its other blocks."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")
