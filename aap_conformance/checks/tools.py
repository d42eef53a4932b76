"""Calls of tools: of the application, of the server with and without trust, and mixed."""

import json
from typing import Any, Final

from aap_conformance.observations import LOOKUP, LOOKUP_TOOL, Observations, permission, result, says
from aap_conformance.registry import CheckPage
from aap_conformance.turns import ObservedTurn
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Response")
FLOWS: Final = CheckPage("Tool Call Flow")
REASON: Final = "Conformance denies this"


@PAGE.check(
    "13.1",
    "For application-side tools, the client executes the tool and submits the results in a "
    "subsequent POST /session/:id request.",
)
def results_of_the_client_go_on(observed: Observations) -> None:
    for mode in observed.modes():
        flow = observed.client_tool_flow(mode)
        require(flow.second is not None, "The turn did not go on.")
        _require_no_error(flow.end)


@PAGE.check(
    "13.2",
    "For server-side tools where trust: true, the server invokes the tool inline and emits a "
    "tool_result event with the result — no client round-trip needed. The agent continues "
    "streaming without stopping.",
)
def trusted_tools_run_inline(observed: Observations) -> None:
    name = observed.tool()["name"]
    for mode in observed.modes():
        turn = observed.trusted_tool_flow(mode).first
        missing = [call.id for call in turn.calls_of(name) if call.id not in turn.results]
        require(not missing, f"{name} is trusted, and has no result in the mode {mode}.")
        require(turn.stop_reason != "tool_use", f"The turn stopped with {turn.stop_reason}.")


@PAGE.check(
    "13.3",
    "For server-side tools where trust: false, the server stops and the client submits a "
    "permission decision in a subsequent POST /session/:id request.",
)
def untrusted_tools_wait(observed: Observations) -> None:
    for mode in observed.modes():
        turn = observed.permission_flow(mode).first
        require(turn.stop_reason == "tool_use", f"It stopped with {turn.stop_reason}.")
        require(not turn.results, f"Without permission, there are results: {turn.results!r}.")


@PAGE.check(
    "13.4",
    "The agent continues regardless — if denied, the LLM is informed the tool was not permitted.",
)
def a_denial_goes_on(observed: Observations) -> None:
    flow = observed.permission_flow(observed.mode(), REASON)
    require(flow.second is not None, "The turn did not go on.")
    _require_no_error(flow.end)


@PAGE.check(
    "13.5",
    'The agent only emits turn_stop with stopReason: "tool_use" if there is at least one '
    "application-side tool call or one untrusted server-side tool call that requires client "
    "action.",
)
def tool_use_is_for_the_client(observed: Observations) -> None:
    for turn in (
        observed.first_turn(observed.mode()),
        observed.trusted_tool_flow(observed.mode()).first,
    ):
        is_right = turn.stop_reason != "tool_use" or turn.waiting
        require(is_right, "The turn stopped with tool_use, and no call waits for the client.")


@PAGE.check(
    "13.6",
    "The client must collect all application-side tool results and untrusted server-side tool "
    "permissions and submit them together in a single subsequent POST /session/:id request.",
)
def half_of_the_results_is_refused(observed: Observations) -> None:
    name = observed.tool()["name"]
    agent = {"tools": [{"name": name, "trust": False}]}
    text = f"Call the tools {LOOKUP} and {name} at the same time, for the word conformance."
    turn = observed.create(text, agent=agent, tools=[LOOKUP_TOOL])
    if not (turn.calls_of(LOOKUP) and turn.calls_of(name)):
        raise NotShown("The agent did not call both tools at the same time.")
    path, half = f"/session/{turn.session_id}", [result(turn.calls_of(LOOKUP)[0])]
    observed.require_refusal("POST", path, {"messages": half})
    whole = half + [permission(call, None) for call in turn.calls_of(name)]
    again = observed.go_on(turn.session_id, *whole)
    _require_no_error(again)


@PAGE.check(
    "13.7",
    "Tool names must be unique across application tools and agent tools in a single request.",
)
def a_name_on_both_sides_is_refused(observed: Observations) -> None:
    name = observed.tool()["name"]
    agent = {"name": observed.agent()["name"], "tools": [{"name": name, "trust": False}]}
    tools, messages = [{**LOOKUP_TOOL, "name": name}], [says("Hello")]
    observed.require_refusal(
        "PUT", "/session", {"agent": agent, "messages": messages, "tools": tools}
    )


@PAGE.check(
    "13.8",
    "tool_result: (server-side trusted tools only) Emitted after the server executes a trusted "
    "tool inline. The agent continues streaming after this event.",
)
def a_result_follows_its_call(observed: Observations) -> None:
    for mode in observed.streaming_modes():
        turn = observed.trusted_tool_flow(mode).first
        called, returned = turn.names.index("tool_call"), _index(turn, "tool_result")
        require(called < returned, "tool_result came ahead of tool_call.")
        known = {call.id for call in turn.calls}
        unknown = sorted(set(turn.results) - known)
        require(not unknown, f"tool_result has the unknown toolCallId {unknown}.")
        after = turn.names[returned + 1 : -1]
        require(after, "Nothing follows tool_result.")


@PAGE.check(
    "13.9",
    "Tool result message: the agent executes the tool inline, stores the result in history, and "
    "includes it in the returned messages.",
)
def results_of_trusted_tools_are_stored(observed: Observations) -> None:
    flow = observed.trusted_tool_flow(observed.mode())
    _require_stored_results(observed, flow.session, [call.id for call in flow.first.calls])


@PAGE.check("13.10", "content may be a string or an array of content blocks.")
def content_may_be_blocks(observed: Observations) -> None:
    blocks = [{"type": "text", "text": "Answer in one word: "}, {"type": "text", "text": "ready?"}]
    turn = observed.create("", messages=[{"role": "user", "content": blocks}])
    _require_no_error(turn)
    history = observed.history(observed.session(turn.session_id))
    require(history[0]["role"] == "user", f"The history begins with {history[0]!r}.")


@PAGE.check(
    "13.11",
    "Tool permission message: These messages are never stored in session history.",
)
def permissions_are_not_stored(observed: Observations) -> None:
    for flow in (
        observed.permission_flow(observed.mode()),
        observed.permission_flow(observed.mode(), REASON),
    ):
        roles = {one["role"] for one in observed.history(flow.session)}
        require("tool_permission" not in roles, "The history has a tool_permission message.")


@PAGE.check(
    "13.12",
    "When granted: true, the agent executes the tool and stores the tool result in history.",
)
def a_granted_tool_runs(observed: Observations) -> None:
    flow = observed.permission_flow(observed.mode())
    name = observed.tool()["name"]
    ids = [call.id for call in flow.first.calls_of(name)]
    _require_stored_results(observed, flow.session, ids)


@PAGE.check(
    "13.13",
    "When granted: false, the agent stores a message in history indicating the tool was denied by "
    "the user. The client may include an optional reason string that the agent will relay to the "
    "LLM.",
)
def a_denial_is_stored(observed: Observations) -> None:
    flow = observed.permission_flow(observed.mode(), REASON)
    ids = [call.id for call in flow.first.calls]
    stored = _require_stored_results(observed, flow.session, ids)
    said = json.dumps(stored).lower()
    is_denial = "den" in said or "not permitted" in said or "refus" in said
    require(is_denial, f"The history does not say that the call was denied: {stored!r}.")
    require(REASON.lower() in said, f"The history lacks the reason: {stored!r}.")


@FLOWS.check(
    "14.1",
    'Application-side tool: tool_call, turn_stop (stopReason: "tool_use"), POST with the tool '
    'result, text, turn_stop (stopReason: "end_turn")',
)
def the_flow_of_a_client_tool(observed: Observations) -> None:
    for mode in observed.modes():
        flow = observed.client_tool_flow(mode)
        require(flow.first.stop_reason == "tool_use", f"It stopped with {flow.first.stop_reason}.")
        require(flow.end.stop_reason == "end_turn", f"It ended with {flow.end.stop_reason}.")
        require(flow.end.text, "There is no text after the result.")


@FLOWS.check(
    "14.2",
    "Server-side tool (trusted, inline): tool_call, tool_result, text, turn_stop (stopReason: "
    '"end_turn")',
)
def the_flow_of_a_trusted_tool(observed: Observations) -> None:
    for mode in observed.modes():
        turn = observed.trusted_tool_flow(mode).first
        require(turn.stop_reason == "end_turn", f"It ended with {turn.stop_reason}.")
        require(turn.text, "There is no text after the result.")


@FLOWS.check(
    "14.3",
    'Server-side tool (permission required): tool_call, turn_stop (stopReason: "tool_use"), POST '
    'with the tool_permission, tool_result, text, turn_stop (stopReason: "end_turn")',
)
def the_flow_of_an_untrusted_tool(observed: Observations) -> None:
    for mode in observed.modes():
        flow = observed.permission_flow(mode)
        require(flow.end.stop_reason == "end_turn", f"It ended with {flow.end.stop_reason}.")
        require(flow.end.text, "There is no text after the permission.")


@FLOWS.check(
    "14.4",
    "The server may emit multiple tool_call events. The client should handle all of them — "
    "execute application-side tools and respond to untrusted server tool permissions — then "
    "re-submit all results and permissions together in a single POST /session/:id.",
)
def both_sides_in_one_request(observed: Observations) -> None:
    flow = observed.mixed_tools_flow(observed.mode())
    _require_no_error(flow.end)
    ids = [call.id for call in flow.first.calls]
    require(len(set(ids)) == len(ids), f"Two calls have the same toolCallId: {ids}.")
    _require_stored_results(observed, flow.session, ids)


@FLOWS.check(
    "14.5",
    "Trusted server-side tools are handled inline by the server and do not require client action.",
)
def a_trusted_tool_needs_no_client(observed: Observations) -> None:
    turn = observed.trusted_tool_flow(observed.mode()).first
    name = observed.tool()["name"]
    waiting = [call.name for call in turn.waiting if call.name == name]
    require(not waiting, f"A call of the trusted tool {name} waits.")


def _require_no_error(turn: ObservedTurn) -> None:
    require(turn.stop_reason != "error", f"The turn stopped with error: {turn.answer}.")


def _index(turn: ObservedTurn, name: str) -> int:
    require(name in turn.names, f"The stream {turn.mode} has no {name}.")
    return turn.names.index(name)


def _require_stored_results(observed: Observations, session: Any, ids: list[str]) -> list[Any]:
    history = observed.history(session)
    found = [one for one in history if one["role"] == "tool" and one["toolCallId"] in ids]
    stored = [one["toolCallId"] for one in found]
    require(sorted(stored) == sorted(ids), f"The history has results of {stored}, not of {ids}.")
    return found
