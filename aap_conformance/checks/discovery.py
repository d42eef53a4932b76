"""What GET /meta lists: agents, tools, options and capabilities."""

import re
from collections.abc import Mapping
from typing import Any, Final

from aap_conformance.observations import LOOKUP_TOOL, QUESTION, Observations
from aap_conformance.registry import CheckPage
from aap_conformance.shapes import AGENT, CAPABILITIES, OPTION, TOOL, require_schema, require_shape
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Endpoints")
# The pattern that semver.org gives.
SEMANTIC_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


@PAGE.check("3.1", "Returns the protocol version and the list of agents available on this server.")
def version_and_agents(observed: Observations) -> None:
    for agent in observed.agents():
        require_shape(agent, AGENT, f"The agent {agent.get('name')!r}")


@PAGE.check("3.2", "name — unique identifier for the agent on this server.")
def names_of_agents_are_unique(observed: Observations) -> None:
    _require_unique([agent["name"] for agent in observed.agents()], "agents")


@PAGE.check("3.3", "title — (optional) human-readable display name.")
def titles_are_texts(observed: Observations) -> None:
    _require_texts(observed.agents(), "title", "agent")


@PAGE.check("3.4", "version — semantic version of the agent.")
def versions_are_semantic(observed: Observations) -> None:
    for agent in observed.agents():
        version = agent["version"]
        is_semantic = isinstance(version, str) and SEMANTIC_VERSION.fullmatch(version)
        require(is_semantic, f"The agent {agent['name']} has the version {version!r}.")


@PAGE.check("3.5", "description — (optional) human-readable description of what the agent does.")
def descriptions_are_texts(observed: Observations) -> None:
    _require_texts(observed.agents(), "description", "agent")


@PAGE.check(
    "3.6",
    "tools — server-side tools this agent can invoke. The client references them by name in "
    "requests.",
)
def tools_have_a_name_and_a_schema(observed: Observations) -> None:
    for agent in observed.agents():
        for tool in agent["tools"]:
            what = f"The tool {tool.get('name')!r} of {agent['name']}"
            require_shape(tool, TOOL, what)
            require_schema(tool["inputSchema"], f"The inputSchema of {what}")
        _require_unique([tool["name"] for tool in agent["tools"]], f"tools of {agent['name']}")
    enabled = {"tools": [{"name": observed.tool()["name"], "trust": False}]}
    observed.create(QUESTION, agent=enabled)


PAGE.note(
    "3.7",
    "This list may be a subset of the agent's actual tools — agents may choose not to expose all "
    "tools.",
)


@PAGE.check("3.8", "options — configurable options the client may set per request.")
def options_are_accepted(observed: Observations) -> None:
    option = observed.options()[0]
    given = {"options": {option["name"]: _example_value(option)}}
    turn = observed.create(QUESTION, agent=given)
    observed.go_on(turn.session_id, {"role": "user", "content": QUESTION}, agent=given)


@PAGE.check(
    "3.9",
    "capabilities — (optional) declares what the agent supports. Individual capability fields may "
    "be omitted; clients should treat missing fields as unsupported.",
)
def capabilities_are_objects(observed: Observations) -> None:
    for agent in observed.agents():
        found = agent.get("capabilities", {})
        require_shape(found, CAPABILITIES, f"The capabilities of {agent['name']}")


@PAGE.check(
    "3.10",
    "history.compacted — if present, the server can return compacted history in GET /session/:id.",
)
def compacted_history_is_returned(observed: Observations) -> None:
    _require_history(observed, "compacted")


@PAGE.check(
    "3.11",
    "history.full — if present, the server can return full uncompacted history in GET "
    "/session/:id.",
)
def full_history_is_returned(observed: Observations) -> None:
    _require_history(observed, "full")


@PAGE.check(
    "3.12",
    "stream — declares which stream modes the agent supports. If omitted, clients should assume "
    'only "none" is supported.',
)
def some_mode_works(observed: Observations) -> None:
    require(observed.modes(), "The agent declares stream, and no mode in it.")
    observed.first_turn(observed.mode())


@PAGE.check("3.13", 'stream.delta — if present, the agent supports "delta" streaming.')
def delta_works(observed: Observations) -> None:
    observed.first_turn(observed.require_mode("delta"))


@PAGE.check("3.14", 'stream.message — if present, the agent supports "message" streaming.')
def message_works(observed: Observations) -> None:
    observed.first_turn(observed.require_mode("message"))


@PAGE.check(
    "3.15", 'stream.none — if present, the agent supports non-streaming ("none") responses.'
)
def none_works(observed: Observations) -> None:
    observed.first_turn(observed.require_mode("none"))


@PAGE.check(
    "3.16",
    "application.tools — if present, the agent accepts application-side tools in requests.",
)
def tools_of_applications_are_accepted(observed: Observations) -> None:
    if not observed.capability("application", "tools"):
        raise NotShown("The agent does not declare application.tools.")
    observed.create(QUESTION, tools=[LOOKUP_TOOL])


@PAGE.check("4.1", "name — identifier used as the key in the request options object.")
def names_of_options_are_unique(observed: Observations) -> None:
    for option in observed.options():
        require_shape(option, OPTION, "An option")
    _require_unique([option["name"] for option in observed.options()], "options")


@PAGE.check("4.2", "title — (optional) human-readable display name.")
def titles_of_options_are_texts(observed: Observations) -> None:
    _require_texts(observed.options(), "title", "option")


@PAGE.check("4.3", "description — (optional) explains what this option does.")
def descriptions_of_options_are_texts(observed: Observations) -> None:
    _require_texts(observed.options(), "description", "option")


@PAGE.check(
    "4.4",
    'type — "text" for free-form string input, "select" for a fixed list of choices, "secret" for '
    "sensitive values (e.g. API keys) that should be masked in the UI.",
)
def options_have_one_of_three_types(observed: Observations) -> None:
    for option in observed.options():
        known = option["type"] in {"text", "select", "secret"}
        require(known, f"The option {option['name']} has the type {option['type']!r}.")


@PAGE.check("4.5", "options — (required for select) list of allowed values.")
def a_select_lists_its_values(observed: Observations) -> None:
    selects = [option for option in observed.options() if option["type"] == "select"]
    if not selects:
        raise NotShown("The agent has no option of the type select.")
    for option in selects:
        values = option.get("options")
        are_texts = isinstance(values, list) and all(isinstance(one, str) for one in values)
        require(values and are_texts, f"The option {option['name']} lists {values!r}.")
        outside = {"name": observed.agent()["name"], "options": {option["name"]: "no such value"}}
        body = {"agent": outside, "messages": [{"role": "user", "content": QUESTION}]}
        observed.require_refusal("PUT", "/session", body)


@PAGE.check("4.6", "default — default value used if the client omits this option.")
def defaults_are_used(observed: Observations) -> None:
    session = observed.session(observed.first_turn(observed.mode()).session_id)
    used = session["agent"].get("options", {})
    for option in observed.options():
        name, default = option["name"], option["default"]
        require(isinstance(default, str), f"The default of {name} is {default!r}.")
        if option["type"] == "select":
            listed = default in option["options"]
            require(listed, f"The default of {name}, {default!r}, is not one of its values.")
        # A session may leave out what the client left out, and masks secrets.
        is_used = option["type"] == "secret" or used.get(name, default) == default
        require(is_used, f"{name} is {used.get(name)!r} and not its default {default!r}.")


def _example_value(option: Mapping[str, Any]) -> str:
    values: list[str] = option.get("options") or ["English"]
    return values[-1]


def _require_history(observed: Observations, kind: str) -> None:
    if not observed.capability("history", kind):
        raise NotShown(f"The agent does not declare history.{kind}.")
    session = observed.session(observed.first_turn(observed.mode()).session_id)
    history = session.get("history", {}).get(kind)
    require(isinstance(history, list) and history, f"history.{kind} is {history!r}.")


def _require_unique(names: list[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    require(not twice, f"Names of {what} are not unique: {', '.join(twice)}.")


def _require_texts(found: Any, member: str, what: str) -> None:
    for one in found:
        value = one.get(member, "")
        require(isinstance(value, str), f"The {member} of the {what} {one['name']} is {value!r}.")
