"""PUT /session."""

from typing import Any, Final

from aap_conformance.checks.reading import require_tools
from aap_conformance.observations import LOOKUP, LOOKUP_TOOL, QUESTION, Observations, says
from aap_conformance.registry import CheckPage
from aap_conformance.turns import text_of
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Endpoints")
QUESTIONS: Final = [says(QUESTION)]


@PAGE.check(
    "7.1",
    "Creates a new session. The server returns a sessionId the client uses for subsequent turns.",
)
def every_session_has_an_id_of_its_own(observed: Observations) -> None:
    observed.second_turn(observed.mode())
    ids = [observed.create(QUESTION).session_id, observed.first_turn(observed.mode()).session_id]
    require(len(set(ids)) == len(ids), f"Two sessions have the same sessionId {ids[0]}.")


@PAGE.check("7.2", "agent — (required) agent configuration.")
def the_agent_is_required(observed: Observations) -> None:
    observed.require_refusal("PUT", "/session", {"messages": QUESTIONS})


@PAGE.check("7.3", "agent.name — agent name to invoke.")
def the_agent_must_exist(observed: Observations) -> None:
    unknown = {"agent": {"name": "no-such-agent-of-this-server"}, "messages": QUESTIONS}
    observed.require_refusal("PUT", "/session", unknown)
    observed.require_refusal("PUT", "/session", {"agent": {}, "messages": QUESTIONS})


@PAGE.check("7.4", "agent.tools — (optional) server-side tools to enable.")
def tools_that_are_not_enabled_are_not_used(observed: Observations) -> None:
    turn = observed.first_turn(observed.mode())
    known = {tool["name"] for tool in observed.agent()["tools"]}
    waiting = [call.name for call in turn.waiting if call.name in known]
    require(not waiting, f"Without agent.tools, a call of {waiting} waits for a permission.")
    observed.create(QUESTION, agent={"tools": []})


@PAGE.check(
    "7.5", "agent.options — (optional) key-value pairs matching the agent's declared options."
)
def options_match_those_that_are_declared(observed: Observations) -> None:
    agent = {"name": observed.agent()["name"], "options": {"no-such-option-of-this-agent": "1"}}
    observed.require_refusal("PUT", "/session", {"agent": agent, "messages": QUESTIONS})


@PAGE.check(
    "7.6",
    'stream — (optional) response mode: "delta", "message", or "none" (default). See Response '
    "Modes.",
)
def none_is_the_default_mode(observed: Observations) -> None:
    observed.require_mode("none")
    media_type = observed.first_turn("none").answer.media_type
    require(media_type == "application/json", f"Without stream, the answer is {media_type!r}.")
    agent = {"name": observed.agent()["name"]}
    body = {"agent": agent, "messages": QUESTIONS, "stream": "no such mode"}
    observed.require_refusal("PUT", "/session", body)


@PAGE.check(
    "7.7",
    "messages — (required) conversation history to seed the session with. The last message must "
    "be a user message, which becomes the first turn.",
)
def a_session_begins_with_its_history(observed: Observations) -> None:
    agent = {"name": observed.agent()["name"]}
    observed.require_refusal("PUT", "/session", {"agent": agent})
    observed.require_refusal("PUT", "/session", {"agent": agent, "messages": []})
    last = {"role": "assistant", "content": "I am the last."}
    observed.require_refusal("PUT", "/session", {"agent": agent, "messages": [*QUESTIONS, last]})
    word, flow = observed.seeded_session()
    if not observed.capability("history", "full"):
        raise NotShown("The agent does not declare history.full.")
    history = [(one["role"], text_of(one)) for one in flow.session["history"]["full"]]
    seed = [
        ("user", f"Remember the word {word}."),
        ("assistant", f"I remember {word}."),
        ("user", QUESTION),
    ]
    require(history[:3] == seed, f"history.full begins with {history[:3]!r}.")
    require(history[3:4] == [("assistant", flow.first.text)], "The first turn is not in history.")


@PAGE.check("7.8", "tools — (optional) application-side tools with full schema.")
def tools_of_the_application_are_called(observed: Observations) -> None:
    flow = observed.client_tool_flow(observed.mode())
    for call in flow.first.calls_of(LOOKUP):
        query = call.input.get("query")
        require(isinstance(query, str), f"{LOOKUP} was called with {dict(call.input)!r}.")
    require_tools(observed, flow.first.session_id, [LOOKUP_TOOL])


@PAGE.check("7.9", "agent.tools: name — server tool name as declared in /meta.")
def tools_are_those_that_are_declared(observed: Observations) -> None:
    agent = {
        "name": observed.agent()["name"],
        "tools": [{"name": "no_such_tool_of_this_agent", "trust": False}],
    }
    observed.require_refusal("PUT", "/session", {"agent": agent, "messages": QUESTIONS})


@PAGE.check(
    "7.10",
    "agent.tools: trust — if true, the server may invoke this tool without requesting client "
    "permission.",
)
def only_trusted_tools_run_without_permission(observed: Observations) -> None:
    flow = observed.permission_flow(observed.mode())
    name = observed.tool()["name"]
    ran = [call.id for call in flow.first.calls_of(name) if call.id in flow.first.results]
    require(not ran, f"{name} ran without permission, though trust is false.")


@PAGE.check(
    "7.11",
    "Returns the sessionId followed by the agent's response stream (or JSON body).",
)
def the_session_is_there_when_its_id_is(observed: Observations) -> None:
    for mode in observed.modes():
        observed.session(observed.first_turn(mode).session_id)


@PAGE.check(
    "7.12",
    'For non-streaming mode: {"sessionId", "stopReason", "messages"}',
)
def the_body_has_the_session_and_the_messages(observed: Observations) -> None:
    turn = observed.first_turn(observed.require_mode("none"))
    require(turn.messages, "messages is empty.")
    roles: list[Any] = [message["role"] for message in turn.messages]
    require(set(roles) <= {"assistant", "tool"}, f"messages has the roles {roles}.")
    require(turn.messages[-1]["role"] == "assistant", f"The last role is {roles[-1]}.")


@PAGE.check(
    "7.13",
    "For SSE modes, sessionId is returned in the session_start event at the beginning of the "
    "stream. See SSE Events.",
)
def a_stream_begins_with_the_session(observed: Observations) -> None:
    for mode in observed.streaming_modes():
        first = observed.first_turn(mode).names[0]
        require(first == "session_start", f"The stream {mode} begins with {first}.")
