"""The requests of an examination. Each is made once, when the first check looks at its answer.

What fails for one check fails with the same sentence for every other check that needs it.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from aap_conformance import turns
from aap_conformance.shapes import META, MODES, SESSION, SESSIONS, require_shape
from aap_conformance.turns import ObservedToolCall, ObservedTurn
from aap_conformance.verdicts import NotShown, Violation, require
from aap_conformance.wire import ExaminedServer, ServerAnswer

T = TypeVar("T")
Message = Mapping[str, Any]

LOOKUP: Final = "conformance_lookup"
LOOKUP_TOOL: Final = {
    "name": LOOKUP,
    "description": "Looks up a word in a glossary. Call it whenever a word is to be looked up.",
    "inputSchema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "The word"}},
        "required": ["query"],
    },
}
THESAURUS: Final = "conformance_thesaurus"
THESAURUS_TOOL: Final = {**LOOKUP_TOOL, "name": THESAURUS}
OWN_TOOLS: Final = (LOOKUP, THESAURUS)
QUESTION: Final = "Answer in one short sentence: what can you do?"
ASKS_LOOKUP: Final = f"Look up the word conformance with the tool {LOOKUP}, and quote the result."
MAX_PAGES: Final = 1_000
MAX_ROUNDS: Final = 5
# Arguments of tools that search.
SEARCHED_BY: Final = ("query", "q", "search", "text")


@dataclass(frozen=True, slots=True)
class ToolFlow:
    """A turn that called tools, the turn that followed, if any, and the session after it."""

    first: ObservedTurn
    second: ObservedTurn | None
    session: Mapping[str, Any]

    @property
    def end(self) -> ObservedTurn:
        return self.second or self.first


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """What the person who runs the suite has chosen; empty for the first that fits."""

    agent: str = ""
    tool: str = ""
    sessions: int = 0


class Observations:
    """What a server answers."""

    def __init__(self, server: ExaminedServer, chosen: SuiteOptions) -> None:
        self.server, self._chosen = server, chosen
        self._made: dict[tuple[Any, ...], Any] = {}
        self.session_ids: list[str] = []

    def _once(self, name: tuple[Any, ...], make: Callable[[], T]) -> T:
        if name not in self._made:
            try:
                self._made[name] = make()
            except (Violation, NotShown) as error:
                self._made[name] = error
        found: T = self._made[name]
        if isinstance(found, (Violation, NotShown)):
            raise found
        return found

    # What the server offers.

    def meta(self) -> Mapping[str, Any]:
        def make() -> Mapping[str, Any]:
            body: Mapping[str, Any] = self.server.send("GET", "/meta").json()
            require_shape(body, META, "GET /meta")
            require(body["agents"], "GET /meta lists no agents.")
            return body

        return self._once(("meta",), make)

    def agents(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.meta()["agents"]
        return found

    def agent(self) -> Mapping[str, Any]:
        """Returns the agent that the turns are run with."""
        named = [one for one in self.agents() if self._chosen.agent in {"", one.get("name")}]
        require(named, f"GET /meta lists no agent {self._chosen.agent!r}.")
        return named[0]

    def capability(self, *path: str) -> bool:
        found: Any = self.agent().get("capabilities", {})
        for part in path:
            found = found.get(part) if isinstance(found, dict) else None
        return found is not None

    def modes(self) -> list[str]:
        """Returns the modes that the agent has: only "none" if it declares no modes."""
        declared = [mode for mode in MODES if self.capability("stream", mode)]
        return declared if self.capability("stream") else ["none"]

    def streaming_modes(self) -> list[str]:
        found = [mode for mode in self.modes() if mode != "none"]
        if not found:
            raise NotShown("The agent declares no streaming mode.")
        return found

    def mode(self) -> str:
        """Returns a mode for turns that are not about modes."""
        return "none" if "none" in self.modes() else self.modes()[0]

    def require_mode(self, mode: str) -> str:
        if mode not in self.modes():
            raise NotShown(f"The agent does not declare the mode {mode!r}.")
        return mode

    def options(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.agent().get("options", [])
        if not found:
            raise NotShown("The agent has no options.")
        return found

    def tool(self) -> Mapping[str, Any]:
        """Returns the server-side tool that is called: the chosen one, or the first that fits."""
        tools = self.agent().get("tools", [])
        named = [one for one in tools if self._chosen.tool in {"", one.get("name")}]
        if not tools or not named:
            raise NotShown(f"The agent has no tool {self._chosen.tool}.".replace(" .", "."))
        searching = [one for one in named if _argument(one) in SEARCHED_BY]
        return next(iter([*searching, *filter(_argument, named), *named]))

    # Sessions.

    def create(self, text: str, *, mode: str = "", **given: Any) -> ObservedTurn:
        """Creates a session and returns its first turn; `agent` adds members to the agent."""
        agent = {"name": self.agent()["name"], **given.pop("agent", {})}
        messages = given.pop("messages", [{"role": "user", "content": text}])
        mode = mode or self.mode()
        stream = {} if mode == "none" else {"stream": mode}
        body = {"agent": agent, "messages": messages, **stream, **given}
        answer = self.server.send("PUT", "/session", body)
        turn = turns.read(answer, mode)
        require(turn.session_id, f"{answer.request} in the mode {mode!r} gave no sessionId.")
        self.session_ids.append(turn.session_id)
        return turn

    def go_on(
        self, session_id: str, *messages: Message, mode: str = "", **given: Any
    ) -> ObservedTurn:
        """Runs the next turn of a session."""
        mode = mode or self.mode()
        body = {"messages": list(messages), "stream": mode, **given}
        turn = turns.read(self.server.send("POST", f"/session/{session_id}", body), mode)
        return turn if turn.session_id else replace(turn, session_id=session_id)

    def session(self, session_id: str) -> Mapping[str, Any]:
        """Returns the session as it is now."""
        body: Mapping[str, Any] = self.server.send("GET", f"/session/{session_id}").json()
        require_shape(body, SESSION, "GET /session/:id")
        return body

    def history(self, session: Mapping[str, Any]) -> list[Message]:
        """Returns the most exact history that the agent declares."""
        for kind in ("full", "compacted"):
            if self.capability("history", kind):
                found: list[Message] = session.get("history", {}).get(kind, [])
                return found
        raise NotShown("The agent declares no history.")

    def first_turn(self, mode: str) -> ObservedTurn:
        """Returns the first turn of a session with a plain question."""
        return self._once(("asked", mode), lambda: self.create(QUESTION, mode=mode))

    def second_turn(self, mode: str) -> ObservedTurn:
        """Returns a second turn of the same session."""

        def make() -> ObservedTurn:
            session_id = self.first_turn(mode).session_id
            return self.go_on(session_id, says("And in one word?"), mode=mode)

        return self._once(("asked again", mode), make)

    def seeded_session(self) -> tuple[str, ToolFlow]:
        """Returns a session that begins with a history, and the word that only it has."""

        def make() -> tuple[str, ToolFlow]:
            word = f"w{secrets.token_hex(6)}"
            messages = [
                says(f"Remember the word {word}."),
                {"role": "assistant", "content": f"I remember {word}."},
                says(QUESTION),
            ]
            turn = self.create("", messages=messages)
            return word, ToolFlow(turn, None, self.session(turn.session_id))

        return self._once(("seeded",), make)

    def settle(self, turn: ObservedTurn) -> None:
        """Answers the calls that wait in a session, until the agent makes no more of them."""
        for _round in range(MAX_ROUNDS):
            if not turn.waiting:
                return
            sent = [
                result(call) if call.name in OWN_TOOLS else permission(call, "Not needed")
                for call in turn.waiting
            ]
            turn = self.go_on(turn.session_id, *sent, mode=turn.mode)
        raise NotShown("The agent goes on to call tools.")

    def first_page(self) -> Mapping[str, Any]:
        return self._page("")

    def pages(self) -> list[Mapping[str, Any]]:
        """Returns every page of the list of sessions."""

        def make() -> list[Mapping[str, Any]]:
            self.first_turn(self.mode())
            for _number in range(self._chosen.sessions - len(self.session_ids)):
                self.create(QUESTION)
            found = [self._page("")]
            while (cursor := found[-1].get("nextCursor")) and len(found) < MAX_PAGES:
                found.append(self._page(f"?after={cursor}"))
            return found

        return self._once(("pages",), make)

    def _page(self, query: str) -> Mapping[str, Any]:
        body: Mapping[str, Any] = self.server.send("GET", f"/sessions{query}").json()
        require_shape(body, SESSIONS, "GET /sessions")
        return body

    # Calls of tools.

    def client_tool_flow(self, mode: str) -> ToolFlow:
        """Returns a turn that called a tool of the client, and the one with its result."""

        def make() -> ToolFlow:
            if not self.capability("application", "tools"):
                raise NotShown("The agent does not declare application.tools.")
            first = self.create(ASKS_LOOKUP, mode=mode, tools=[LOOKUP_TOOL])
            _require_call(first, LOOKUP)
            sent = [result(call) for call in first.waiting]
            return self._complete_flow(first, *sent)

        return self._once(("of client", mode), make)

    def trusted_tool_flow(self, mode: str) -> ToolFlow:
        """Returns a turn that called a trusted tool of the server."""

        def make() -> ToolFlow:
            first = self._calling(mode, is_trusted=True)
            return ToolFlow(first, None, self.session(first.session_id))

        return self._once(("trusted", mode), make)

    def permission_flow(self, mode: str, reason: str | None = None) -> ToolFlow:
        """Returns a turn that called an untrusted tool, and the one with the permission.

        The permission is denied if there is a reason.
        """

        def make() -> ToolFlow:
            first = self._calling(mode, is_trusted=False)
            sent = [permission(call, reason) for call in first.waiting]
            if not sent:
                raise Violation(f"The tool {first.calls[0].name} ran without a permission.")
            return self._complete_flow(first, *sent)

        return self._once(("permitted", mode, reason), make)

    def mixed_tools_flow(self, mode: str) -> ToolFlow:
        """Returns a turn that called a tool of each side, and the one that resolves both."""

        def make() -> ToolFlow:
            name = self.tool()["name"]
            text = f"{ASKS_LOOKUP} At the same time, call the tool {name} for the same word."
            agent = {"tools": [{"name": name, "trust": False}]}
            first = self.create(text, mode=mode, agent=agent, tools=[LOOKUP_TOOL])
            _require_call(first, LOOKUP)
            _require_call(first, name)
            sent = [
                result(call) if call.name == LOOKUP else permission(call, None)
                for call in first.waiting
            ]
            return self._complete_flow(first, *sent)

        return self._once(("mixed", mode), make)

    def _calling(self, mode: str, *, is_trusted: bool) -> ObservedTurn:
        name = self.tool()["name"]
        text = f"Call the tool {name} once, for the word conformance, and quote the result."
        agent = {"tools": [{"name": name, "trust": is_trusted}]}
        turn = self.create(text, mode=mode, agent=agent)
        if not turn.calls_of(name) and self._has_call(turn.session_id, name):
            raise Violation(f"The history has a call of {name}, which the response lacks.")
        _require_call(turn, name)
        return turn

    def _has_call(self, session_id: str, name: str) -> bool:
        spoken = [
            message
            for message in self.history(self.session(session_id))
            if message["role"] == "assistant"
        ]
        return any(call.name == name for message in spoken for call in turns.calls_of(message))

    def _complete_flow(self, first: ObservedTurn, *messages: Message) -> ToolFlow:
        second = self.go_on(first.session_id, *messages, mode=first.mode)
        return ToolFlow(first, second, self.session(first.session_id))

    # Mistakes.

    def require_refusal(
        self, method: str, path: str, body: Any = None, **given: Any
    ) -> ServerAnswer:
        """Returns the answer to a mistake. Raises Violation unless the server refuses it."""
        answer = self.server.send(method, path, body, **given)
        require(answer.is_refusal, f"A mistake was not refused with 4xx: {answer}.")
        return answer

    def delete(self, session_id: str) -> ServerAnswer:
        self.session_ids.remove(session_id)
        return self.server.send("DELETE", f"/session/{session_id}")

    def clean_up(self) -> None:
        """Deletes the sessions of the examination."""
        for session_id in list(self.session_ids):
            self.delete(session_id)


def says(text: str) -> Message:
    return {"role": "user", "content": text}


def result(call: ObservedToolCall) -> Message:
    content = "Conformance: doing what the pages say."
    return {"role": "tool", "toolCallId": call.id, "content": content}


def permission(call: ObservedToolCall, reason: str | None) -> Message:
    decided = {"granted": True} if reason is None else {"granted": False, "reason": reason}
    return {"role": "tool_permission", "toolCallId": call.id, **decided}


def _require_call(turn: ObservedTurn, name: str) -> None:
    if not turn.calls_of(name):
        raise NotShown(f"The agent did not call {name}; it stopped with {turn.stop_reason}.")


def _argument(tool: Mapping[str, Any]) -> str:
    """Returns the only required argument of a tool, if it is a text."""
    schema = tool.get("inputSchema", {})
    required, properties = schema.get("required", []), schema.get("properties", {})
    if len(required) != 1 or properties.get(required[0], {}).get("type") != "string":
        return ""
    return str(required[0])
