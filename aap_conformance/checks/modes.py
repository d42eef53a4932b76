"""Response modes."""

from typing import Any, Final

from aap_conformance.observations import Observations
from aap_conformance.registry import CheckPage
from aap_conformance.turns import ObservedTurn
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Response")


@PAGE.check(
    "10.1",
    'stream: "delta": Content-Type: text/event-stream. The server streams SSE events as they are '
    "produced. Text is sent as incremental text_delta events; thinking is sent as incremental "
    "thinking_delta events.",
)
def delta_sends_pieces(observed: Observations) -> None:
    turn = observed.first_turn(observed.require_mode("delta"))
    _require_names(turn, lacks=("text", "thinking"), has="text_delta")


@PAGE.check(
    "10.2",
    'stream: "message": Content-Type: text/event-stream. The server streams SSE events, but text '
    "is sent as a single complete text/thinking event per message rather than incremental deltas.",
)
def message_sends_whole_texts(observed: Observations) -> None:
    turn = observed.first_turn(observed.require_mode("message"))
    _require_names(turn, lacks=("text_delta", "thinking_delta"), has="text")
    texts = len(turn.event_data("text"))
    require(texts == 1, f"One message was sent in {texts} text events.")


@PAGE.check("10.3", "Tool call events still arrive as they happen.")
def message_sends_calls(observed: Observations) -> None:
    flow = observed.trusted_tool_flow(observed.require_mode("message"))
    require("tool_call" in flow.first.names, "The stream has no tool_call.")


@PAGE.check(
    "10.4",
    'stream: "none" (default): Content-Type: application/json. The server returns a single JSON '
    "response after the agent finishes.",
)
def none_sends_one_body(observed: Observations) -> None:
    turn = observed.second_turn(observed.require_mode("none"))
    require(turn.text, "The response has no text.")


@PAGE.check(
    "10.5",
    "If the agent needs a client-side tool result, it returns a tool_use stop reason in the JSON "
    "body and the client re-submits with results — same flow as SSE, just without streaming.",
)
def none_stops_for_the_client(observed: Observations) -> None:
    flow = observed.client_tool_flow(observed.require_mode("none"))
    require(flow.first.stop_reason == "tool_use", f"It stopped with {flow.first.stop_reason}.")


@PAGE.check("10.6", "PUT /session additionally includes sessionId")
def only_put_has_the_session(observed: Observations) -> None:
    mode = observed.require_mode("none")
    require(observed.first_turn(mode).session_id, "The body of PUT has no sessionId.")
    # A server may repeat it in later turns.
    again = observed.second_turn(mode).session_id
    same = again in {"", observed.first_turn(mode).session_id}
    require(same, f"The body of POST has another sessionId: {again}.")


@PAGE.check(
    "10.7",
    "When an application-side tool is needed, or an untrusted server-side tool requires "
    "permission: [the last message has the tool_use blocks]",
)
def a_body_ends_with_the_calls_that_wait(observed: Observations) -> None:
    turn = observed.client_tool_flow(observed.require_mode("none")).first
    _require_ends_with(turn.messages, "assistant")
    blocks: Any = turn.messages[-1]["content"]
    has_call = not isinstance(blocks, str) and any(one["type"] == "tool_use" for one in blocks)
    require(has_call, f"The last message has no tool_use block: {blocks!r}.")


@PAGE.check(
    "10.8",
    "When a trusted server-side tool was called inline, the full exchange is included in the "
    "returned messages.",
)
def a_body_has_the_whole_exchange(observed: Observations) -> None:
    turn = observed.trusted_tool_flow(observed.require_mode("none")).first
    if turn.stop_reason != "end_turn":
        raise NotShown(f"The turn stopped with {turn.stop_reason}.")
    roles = [message["role"] for message in turn.messages]
    is_whole = roles[0] == "assistant" and "tool" in roles and roles[-1] == "assistant"
    require(is_whole, f"The messages have the roles {roles}.")
    missing = [call.id for call in turn.calls if call.id not in turn.results]
    require(not missing, f"The results of {missing} are not included.")


def _require_names(turn: ObservedTurn, *, lacks: tuple[str, ...], has: str) -> None:
    wrong = sorted(set(turn.names) & set(lacks))
    require(not wrong, f"The stream {turn.mode} has {', '.join(wrong)}.")
    require(has in turn.names, f"The stream {turn.mode} has no {has}.")


def _require_ends_with(messages: Any, role: str) -> None:
    last = messages[-1]["role"] if messages else "nothing"
    require(last == role, f"The last message is of {last}.")
