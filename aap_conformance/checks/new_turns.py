"""POST /session/:id."""

from typing import Any, Final

from aap_conformance.checks.reading import require_tools
from aap_conformance.observations import LOOKUP_TOOL, QUESTION, THESAURUS_TOOL, Observations, says
from aap_conformance.registry import CheckPage
from aap_conformance.turns import text_of
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Endpoints")
AGAIN: Final = says("And now?")


@PAGE.check(
    "8.1",
    "Send a new user turn or tool calling results to an existing session. The server appends the "
    "message to its history, runs the agent, and streams or returns the response.",
)
def the_message_and_the_response_are_appended(observed: Observations) -> None:
    for mode in observed.modes():
        turn = observed.second_turn(mode)
        session_id = observed.first_turn(mode).session_id
        history = observed.history(observed.session(session_id))
        last = [(one["role"], text_of(one)) for one in history[-2:]]
        wanted = [("user", "And in one word?"), ("assistant", turn.text)]
        require(last == wanted, f"In the mode {mode}, the history ends with {last!r}.")
    unknown = f"/session/{observed.first_turn(observed.mode()).session_id}-of-nobody"
    observed.require_refusal("POST", unknown, {"messages": [AGAIN]})


@PAGE.check(
    "8.2",
    "agent — (optional) session-level agent overrides. The server must persist these for the "
    "lifetime of the session.",
)
def overrides_of_the_agent_last(observed: Observations) -> None:
    name = observed.tool()["name"]
    turn = observed.create(QUESTION, agent={"tools": [{"name": name, "trust": False}]})
    observed.settle(turn)
    observed.go_on(turn.session_id, AGAIN, agent={"tools": []})
    _require_chosen(observed, turn.session_id, [])
    observed.go_on(turn.session_id, AGAIN)
    _require_chosen(observed, turn.session_id, [])


@PAGE.check(
    "8.3",
    "agent.tools — (optional) server-side tools. Overrides agent.tools declared at session "
    "creation.",
)
def tools_of_the_agent_are_replaced(observed: Observations) -> None:
    name = observed.tool()["name"]
    before, after = ([{"name": name, "trust": trust}] for trust in (False, True))
    turn = observed.create(QUESTION, agent={"tools": before})
    observed.settle(turn)
    observed.go_on(turn.session_id, AGAIN, agent={"tools": after})
    _require_chosen(observed, turn.session_id, after)


@PAGE.check(
    "8.4",
    "agent.options — (optional) key-value option overrides. Overrides agent.options declared at "
    "session creation.",
)
def options_are_replaced_and_last(observed: Observations) -> None:
    option = next((one for one in observed.options() if one["type"] != "secret"), None)
    if option is None:
        raise NotShown("The agent has no option that is read back.")
    name, values = option["name"], option.get("options") or ["English", "Japanese"]
    turn = observed.create(QUESTION, agent={"options": {name: values[0]}})
    _require_option(observed, turn.session_id, name, values[0])
    observed.go_on(turn.session_id, AGAIN, agent={"options": {name: values[-1]}})
    _require_option(observed, turn.session_id, name, values[-1])
    observed.go_on(turn.session_id, AGAIN)
    _require_option(observed, turn.session_id, name, values[-1])


@PAGE.check("8.5", "stream — (optional) response mode. See Response Modes.")
def the_mode_is_that_of_the_request(observed: Observations) -> None:
    session_id = observed.create(QUESTION).session_id
    for mode in observed.modes():
        turn = observed.go_on(session_id, AGAIN, mode=mode)
        require(turn.stop_reason, "The turn has no stop reason.")
    observed.require_mode("none")
    answer = observed.server.send("POST", f"/session/{session_id}", {"messages": [AGAIN]})
    media_type = answer.media_type
    require(media_type == "application/json", f"Without stream, the answer is {media_type!r}.")


@PAGE.check(
    "8.6",
    "messages — (required) the new turn(s) to append. Typically a single user message, but may "
    "also be tool results or tool permissions when re-submitting after a tool_use stop.",
)
def messages_are_required_and_fit(observed: Observations) -> None:
    path = f"/session/{observed.create(QUESTION).session_id}"
    observed.require_refusal("POST", path, {})
    observed.require_refusal("POST", path, {"messages": []})
    stray = {"role": "tool", "toolCallId": "no-such-call", "content": "A result"}
    observed.require_refusal("POST", path, {"messages": [stray]})


@PAGE.check(
    "8.7",
    "tools — (optional) application-side tools. Overrides tools declared at session creation. The "
    "server must persist these for the lifetime of the session.",
)
def tools_of_the_application_are_replaced_and_last(observed: Observations) -> None:
    if not observed.capability("application", "tools"):
        raise NotShown("The agent does not declare application.tools.")
    turn = observed.create(QUESTION, tools=[LOOKUP_TOOL])
    observed.settle(turn)
    replaced = observed.go_on(turn.session_id, AGAIN, tools=[THESAURUS_TOOL])
    require_tools(observed, turn.session_id, [THESAURUS_TOOL])
    observed.settle(replaced)
    observed.go_on(turn.session_id, AGAIN)
    require_tools(observed, turn.session_id, [THESAURUS_TOOL])


def _require_chosen(observed: Observations, session_id: str, wanted: list[Any]) -> None:
    found = observed.session(session_id)["agent"].get("tools", [])
    require(found == wanted, f"agent.tools is {found!r} and not {wanted!r}.")


def _require_option(observed: Observations, session_id: str, name: str, wanted: str) -> None:
    found = observed.session(session_id)["agent"].get("options", {}).get(name)
    require(found == wanted, f"agent.options.{name} is {found!r} and not {wanted!r}.")
