"""The list of sessions, and one session."""

from itertools import pairwise
from typing import Any, Final

from aap_conformance.observations import LOOKUP_TOOL, QUESTION, Observations
from aap_conformance.registry import CheckPage
from aap_conformance.shapes import CHOSEN_TOOL, require_message, require_shape
from aap_conformance.turns import text_of
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Endpoints")
NOT_FOUND: Final = 404


@PAGE.check("5.1", "Returns a paginated list of session IDs.")
def every_session_is_listed_once(observed: Observations) -> None:
    created = list(observed.session_ids)
    listed = [one for page in observed.pages() for one in page["sessions"]]
    twice = sorted({one for one in listed if listed.count(one) > 1})
    require(not twice, f"Sessions are listed twice: {', '.join(twice)}.")
    missing = [one for one in created if one not in listed]
    require(not missing, f"Sessions are not listed: {', '.join(missing)}.")


@PAGE.check(
    "5.2",
    "after — (optional) pagination cursor. Pass the nextCursor value from the previous response "
    "to get the next page.",
)
def a_cursor_leads_to_the_next_page(observed: Observations) -> None:
    pages = observed.pages()
    if len(pages) == 1:
        raise NotShown("All sessions are on one page; --sessions creates more of them.")
    first, second = set(pages[0]["sessions"]), set(pages[1]["sessions"])
    require(second, "The page after nextCursor has no sessions.")
    require(not first & second, "The page after nextCursor repeats sessions.")


@PAGE.check("5.3", "sessions — array of session IDs.")
def sessions_are_ids(observed: Observations) -> None:
    for page in observed.pages():
        for session_id in page["sessions"][:1]:
            require(observed.session(session_id), f"The listed session {session_id} is not there.")


@PAGE.check(
    "5.4",
    "nextCursor — (optional) opaque cursor string; pass as after to retrieve the next page. "
    "Absent when there are no more results.",
)
def the_last_page_has_no_cursor(observed: Observations) -> None:
    for before, page in pairwise(observed.pages()):
        cursor = before["nextCursor"]
        require(page["sessions"], f"nextCursor {cursor!r} leads to a page without sessions.")


@PAGE.check("6.1", "Returns the full session object for the given session ID.")
def an_unknown_session_is_not_found(observed: Observations) -> None:
    session_id = observed.first_turn(observed.mode()).session_id
    observed.session(session_id)
    answer = observed.server.send("GET", f"/session/{session_id}-of-nobody")
    require(answer.status == NOT_FOUND, f"A session that nobody has: {answer}.")


@PAGE.check("6.2", "sessionId — the session identifier.")
def the_session_has_its_id(observed: Observations) -> None:
    session_id = observed.first_turn(observed.mode()).session_id
    found = observed.session(session_id)["sessionId"]
    require(found == session_id, f"GET /session/{session_id} has the sessionId {found}.")


@PAGE.check("6.3", "agent — the agent configuration for this session.")
def the_session_has_its_agent(observed: Observations) -> None:
    name = observed.tool()["name"]
    chosen = {"tools": [{"name": name, "trust": True}]}
    session = observed.session(observed.create(QUESTION, agent=chosen).session_id)
    agent = session["agent"]
    require(agent["name"] == observed.agent()["name"], f"agent.name is {agent['name']!r}.")
    for tool in agent.get("tools", []):
        require_shape(tool, CHOSEN_TOOL, "agent.tools")
    require(
        agent.get("tools") == [{"name": name, "trust": True}],
        f"agent.tools is {agent.get('tools')!r}.",
    )


@PAGE.check("6.4", "tools — application-side tools declared for this session.")
def the_session_has_the_tools_of_the_application(observed: Observations) -> None:
    if not observed.capability("application", "tools"):
        raise NotShown("The agent does not declare application.tools.")
    turn = observed.create(QUESTION, tools=[LOOKUP_TOOL])
    require_tools(observed, turn.session_id, [LOOKUP_TOOL])


@PAGE.check(
    "6.5",
    "history — (optional) conversation history. If the agent declared "
    "capabilities.history.compacted or capabilities.history.full in GET /meta, the server must "
    "return the corresponding field(s).",
)
def declared_histories_are_returned(observed: Observations) -> None:
    declared = {kind for kind in ("compacted", "full") if observed.capability("history", kind)}
    if not declared:
        raise NotShown("The agent declares no history.")
    session = observed.session(observed.first_turn(observed.mode()).session_id)
    missing = sorted(declared - session.get("history", {}).keys())
    require(not missing, f"The session lacks history.{', history.'.join(missing)}.")


PAGE.note("6.6", "Otherwise the server may omit them.")


@PAGE.check("6.7", "compacted — the server's compacted conversation history.")
def compacted_history_has_messages(observed: Observations) -> None:
    _require_messages(observed, "compacted")


@PAGE.check("6.8", "full — the full uncompacted conversation history.")
def full_history_is_exact(observed: Observations) -> None:
    _require_messages(observed, "full")
    turn = observed.second_turn(observed.mode())
    history = observed.session(turn.session_id)["history"]["full"]
    spoken = [(one["role"], text_of(one)) for one in history]
    wanted = [
        ("user", QUESTION),
        ("assistant", observed.first_turn(observed.mode()).text),
        ("user", "And in one word?"),
        ("assistant", turn.text),
    ]
    require(spoken == wanted, f"history.full has {spoken!r} and not {wanted!r}.")


def require_tools(observed: Observations, session_id: str, wanted: list[Any]) -> None:
    """Raises Violation unless these are the application-side tools of a session."""
    found = observed.session(session_id).get("tools", [])
    same = [(one["name"], one["description"], one["inputSchema"]) for one in found] == [
        (one["name"], one["description"], one["inputSchema"]) for one in wanted
    ]
    require(same, f"tools is {[one['name'] for one in found]}.")


def _require_messages(observed: Observations, kind: str) -> list[Any]:
    if not observed.capability("history", kind):
        raise NotShown(f"The agent does not declare history.{kind}.")
    session = observed.session(observed.second_turn(observed.mode()).session_id)
    history: list[Any] = session["history"][kind]
    require(history, f"history.{kind} is empty after two turns.")
    for place, message in enumerate(history):
        require_message(message, f"history.{kind}[{place}]")
    return history
