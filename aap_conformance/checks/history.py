"""Who keeps the history."""

from typing import Final

from aap_conformance.observations import Observations
from aap_conformance.registry import CheckPage
from aap_conformance.turns import calls_of, text_of
from aap_conformance.verdicts import require

PAGE: Final = CheckPage("History Management")


@PAGE.check(
    "15.1",
    "The server owns the conversation history for each session. The client never re-sends prior "
    "messages — it only sends new turns via POST /session/:id.",
)
def the_server_keeps_what_was_said(observed: Observations) -> None:
    for mode in observed.modes():
        observed.second_turn(mode)
        session = observed.session(observed.first_turn(mode).session_id)
        asked = [text_of(one) for one in observed.history(session) if one["role"] == "user"]
        require(asked[-1:] == ["And in one word?"], f"The history has the questions {asked!r}.")


@PAGE.check(
    "15.2",
    "The server must persist at minimum a compacted history: a representation of the conversation "
    "sufficient for the LLM to continue coherently.",
)
def the_modes_keep_the_same(observed: Observations) -> None:
    """What a stream sent is what the history has."""
    for mode in observed.modes():
        flow = observed.client_tool_flow(mode)
        history = observed.history(flow.session)
        spoken = [one for one in history if one["role"] == "assistant"]
        stored = [call.id for message in spoken for call in calls_of(message)]
        sent = [call.id for call in flow.first.calls]
        require(stored[: len(sent)] == sent, f"The history has the calls {stored}, not {sent}.")
        last = text_of(spoken[-1])
        require(last == flow.end.text, f"The history ends with {last!r}, not {flow.end.text!r}.")


PAGE.note(
    "15.3",
    "The compaction strategy is agent-specific — the server may summarize, truncate, or drop "
    "content (e.g. old tool results) as it sees fit. The client is never notified of compaction.",
)
PAGE.note(
    "15.4",
    "Agents may choose not to expose compacted history in GET /session/:id to protect proprietary "
    "compaction logic.",
)
PAGE.note(
    "15.5",
    "The server may additionally persist the full uncompacted history for use cases such as audit "
    "trails, history replay, or user-facing conversation display. This is optional and "
    "implementation-defined.",
)


@PAGE.check(
    "15.6",
    "Each agent declares its history persistence capabilities in GET /meta via "
    "capabilities.history.",
)
def undeclared_histories_are_not_returned(observed: Observations) -> None:
    session = observed.session(observed.first_turn(observed.mode()).session_id)
    found = session.get("history", {}).keys()
    undeclared = sorted(kind for kind in found if not observed.capability("history", kind))
    require(not undeclared, f"The session has the undeclared history {undeclared}.")
