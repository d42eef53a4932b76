"""Servers that each break one sentence, and the number of the check that has to see it."""

import copy
from typing import Any

from tests.aap_conformance.reference_server import (
    KEY,
    Message,
    Named,
    Reference,
    ReferenceSession,
    require,
)

BROKEN: dict[str, tuple[type[Reference], str]] = {}


def breaks(number: str) -> Any:
    """Declares a server that the check with this number must fail."""

    def declare(server: type[Reference]) -> type[Reference]:
        BROKEN[server.__name__] = (server, number)
        return server

    return declare


class _OtherMeta(Reference):
    """A server whose agent is listed otherwise."""

    def change(self, meta: Any) -> None:
        raise NotImplementedError

    def meta(self) -> Any:
        meta = copy.deepcopy(super().meta())
        self.change(meta)
        return meta


@breaks("1.1")
class AnotherVersion(_OtherMeta):
    def change(self, meta: Any) -> None:
        meta["version"] = 3


@breaks("2.1")
class AnyKey(Reference):
    def is_allowed(self, key: str, path: str) -> bool:
        return bool(key) or path == "/meta"


@breaks("2.2")
class NoKey(Reference):
    def is_allowed(self, key: str, path: str) -> bool:
        return key in {"", KEY} or path == "/meta"


@breaks("3.2")
class TwoAgentsOfOneName(_OtherMeta):
    def change(self, meta: Any) -> None:
        meta["agents"] *= 2


@breaks("3.4")
class VersionOfTwoNumbers(_OtherMeta):
    def change(self, meta: Any) -> None:
        meta["agents"][0]["version"] = "1.0"


@breaks("3.6")
class ToolsWithParameters(_OtherMeta):
    def change(self, meta: Any) -> None:
        tool = meta["agents"][0]["tools"][0]
        tool["parameters"] = tool.pop("inputSchema")


@breaks("3.9")
class CapabilitiesThatAreTrue(_OtherMeta):
    def change(self, meta: Any) -> None:
        meta["agents"][0]["capabilities"]["stream"]["delta"] = True


@breaks("4.4")
class OptionOfAnotherType(_OtherMeta):
    def change(self, meta: Any) -> None:
        meta["agents"][0]["options"][1]["type"] = "number"


@breaks("4.5")
class SelectWithoutValues(_OtherMeta):
    def change(self, meta: Any) -> None:
        del meta["agents"][0]["options"][0]["options"]


@breaks("4.6")
class DefaultOutsideOfTheValues(_OtherMeta):
    def change(self, meta: Any) -> None:
        meta["agents"][0]["options"][0]["default"] = "huge"


@breaks("5.1")
class SomeSessionsAreNotListed(Reference):
    def list_sessions(self, after: str) -> Any:
        return {"sessions": super().list_sessions(after)["sessions"][1:]}


@breaks("5.2")
class CursorIsIgnored(Reference):
    def list_sessions(self, after: str) -> Any:
        found = super().list_sessions("")
        return {"sessions": found["sessions"]} if after else found


@breaks("5.4")
class LastPageHasACursor(Reference):
    def list_sessions(self, after: str) -> Any:
        return (
            {"nextCursor": "zzz"} | super().list_sessions(after)
            if after != "zzz"
            else {"sessions": []}
        )


@breaks("6.2")
class AnotherSessionId(Reference):
    def read(self, session: ReferenceSession) -> Any:
        return super().read(session) | {"sessionId": "sess_other"}


@breaks("6.3")
class TrustIsLost(Reference):
    def read(self, session: ReferenceSession) -> Any:
        found = super().read(session)
        tools = [{"name": tool["name"], "trust": False} for tool in session.tools]
        return found | {"agent": found["agent"] | {"tools": tools}}


@breaks("6.5")
class FullHistoryIsNotReturned(Reference):
    def read(self, session: ReferenceSession) -> Any:
        return super().read(session) | {"history": {"compacted": session.history}}


@breaks("6.8")
class FullHistoryIsCut(Reference):
    def read(self, session: ReferenceSession) -> Any:
        history = {"compacted": session.history, "full": session.history[-2:]}
        return super().read(session) | {"history": history}


class _Lenient(Reference):
    """A server that accepts some mistakes."""

    def create(self, body: Any) -> ReferenceSession:
        return super().create(self.correct_body(body))

    def correct_body(self, body: Any) -> Any:
        raise NotImplementedError


@breaks("7.2")
class AgentIsOptional(_Lenient):
    def correct_body(self, body: Any) -> Any:
        return {"agent": {"name": "reference"}} | body


@breaks("7.3")
class AnyAgent(_Lenient):
    def correct_body(self, body: Any) -> Any:
        require("agent" in body, "agent is required")
        return body | {"agent": body["agent"] | {"name": "reference"}}


@breaks("7.5")
class AnyOption(Reference):
    def check(self, body: Any, server_tools: list[Any]) -> None:
        agent = {name: one for name, one in body.get("agent", {}).items() if name != "options"}
        super().check(body | {"agent": agent}, server_tools)


@breaks("7.6")
class AnyMode(_Lenient):
    def correct_body(self, body: Any) -> Any:
        known = body.get("stream", "none") in {"delta", "message", "none"}
        if not known:
            body["stream"] = "none"
        return body


@breaks("7.7")
class AssistantMayBeLast(_Lenient):
    def correct_body(self, body: Any) -> Any:
        messages = body.get("messages") or [{"role": "user", "content": ""}]
        return body | {"messages": [*messages, {"role": "user", "content": "Hello"}]}


@breaks("7.9")
class AnyTool(Reference):
    def check(self, body: Any, server_tools: list[Any]) -> None:
        agent = {name: one for name, one in body.get("agent", {}).items() if name != "tools"}
        super().check(body | {"agent": agent}, server_tools[:0])


@breaks("8.2")
class OverridesEndWithTheTurn(Reference):
    def go_on(self, session: ReferenceSession, body: Any) -> list[Message]:
        before = session.tools
        returned = super().go_on(session, body)
        if before and not session.tools:
            session.tools = before
        return returned


@breaks("8.4")
class OptionsAreFixed(Reference):
    def override(self, session: ReferenceSession, body: Any) -> None:
        is_new = not session.history
        before = session.options
        super().override(session, body)
        if not is_new:
            session.options = before


@breaks("8.6")
class StrayResultsAreStored(Reference):
    def go_on(self, session: ReferenceSession, body: Any) -> list[Message]:
        messages = body.get("messages") or []
        if not session.waiting() and messages and messages[0]["role"] == "tool":
            session.history += messages
            return []
        return super().go_on(session, body)


@breaks("8.7")
class ToolsOfTheApplicationAreFixed(Reference):
    def override(self, session: ReferenceSession, body: Any) -> None:
        before, is_new = session.client_tools, not session.history
        super().override(session, body)
        session.client_tools = session.client_tools if is_new else before


@breaks("9.1")
class NothingIsDeleted(Reference):
    def delete(self, session_id: str) -> int:
        assert session_id in self.sessions
        return 204


@breaks("9.2")
class DeletionAnswers200(Reference):
    def delete(self, session_id: str) -> int:
        super().delete(session_id)
        return 200


@breaks("10.1")
class DeltaSendsWholeTexts(Reference):
    def events_of_text(self, text: str, mode: str) -> list[Named]:
        assert mode
        return super().events_of_text(text, "message")


@breaks("10.2")
class MessageSendsPieces(Reference):
    def events_of_text(self, text: str, mode: str) -> list[Named]:
        assert mode
        return super().events_of_text(text, "delta")


@breaks("10.8")
class OnlyTheLastMessage(Reference):
    def body(
        self, session: ReferenceSession, log: list[Message], stop: str, *, is_new: bool
    ) -> Any:
        return super().body(session, log[-1:], stop, is_new=is_new)


class _OtherEvents(Reference):
    """A server whose streams are changed."""

    def change_events(self, events: list[Named], *, is_new: bool) -> list[Named]:
        raise NotImplementedError

    def events(
        self, session: ReferenceSession, log: list[Message], stop: str, mode: str, *, is_new: bool
    ) -> list[Named]:
        found = super().events(session, log, stop, mode, is_new=is_new)
        return self.change_events(found, is_new=is_new)


@breaks("11.2")
class AnEventOfItsOwn(_OtherEvents):
    def change_events(self, events: list[Named], *, is_new: bool) -> list[Named]:
        assert is_new in {True, False}
        return [*events[:-1], ("usage", {}), events[-1]]


@breaks("11.3")
class PostStartsASession(_OtherEvents):
    def change_events(self, events: list[Named], *, is_new: bool) -> list[Named]:
        return events if is_new else [("session_start", {"sessionId": "sess_1"}), *events]


@breaks("11.4")
class TheTurnStartsLate(_OtherEvents):
    def change_events(self, events: list[Named], *, is_new: bool) -> list[Named]:
        return events if is_new or len(events) == 2 else [events[1], events[0], *events[2:]]


@breaks("11.6")
class TwoStops(_OtherEvents):
    def change_events(self, events: list[Named], *, is_new: bool) -> list[Named]:
        assert is_new in {True, False}
        return [*events, events[-1]]


@breaks("1.5")
class AStreamWithoutAnEnd(_OtherEvents):
    def change_events(self, events: list[Named], *, is_new: bool) -> list[Named]:
        return events if is_new else events[:-1]

    def meta(self) -> Any:
        meta = copy.deepcopy(super().meta())
        del meta["agents"][0]["capabilities"]["stream"]["none"]
        return meta


@breaks("13.2")
class TrustIsIgnored(Reference):
    def is_trusted(self, session: ReferenceSession, name: str) -> bool:
        assert session
        assert name
        return False


@breaks("13.3")
class EveryToolIsTrusted(Reference):
    def is_trusted(self, session: ReferenceSession, name: str) -> bool:
        return any(one["name"] == name for one in session.tools)


@breaks("13.6")
class HalfIsEnough(Reference):
    def go_on(self, session: ReferenceSession, body: Any) -> list[Message]:
        sent = {one.get("toolCallId") for one in body["messages"]}
        waiting = session.waiting()
        if any(call["toolCallId"] in sent for call in waiting):
            for call in waiting:
                if call["toolCallId"] not in sent:
                    session.history.append(self.result(call, "Nothing"))
        return super().go_on(session, body)


@breaks("13.7")
class SharedNames(Reference):
    def check(self, body: Any, server_tools: list[Any]) -> None:
        super().check({name: one for name, one in body.items() if name != "tools"}, server_tools)


@breaks("13.11")
class PermissionsAreStored(Reference):
    def go_on(self, session: ReferenceSession, body: Any) -> list[Message]:
        returned = super().go_on(session, body)
        permissions = [one for one in body["messages"] if one["role"] == "tool_permission"]
        session.history += permissions
        return returned


@breaks("13.12")
class GrantedToolsDoNotRun(Reference):
    def go_on(self, session: ReferenceSession, body: Any) -> list[Message]:
        returned = super().go_on(session, body)
        for message in returned:
            session.history.remove(message)
        session.history += [{"role": "user", "content": "Granted"}] if returned else []
        return []


@breaks("13.13")
class DenialsAreNotExplained(Reference):
    def apply_permission(self, call: Any, permission: Message) -> Message:
        if permission["granted"]:
            return self.result(call)
        return self.result(call, "Nothing was found.")


@breaks("15.6")
class AnUndeclaredHistory(_OtherMeta):
    def change(self, meta: Any) -> None:
        del meta["agents"][0]["capabilities"]["history"]["compacted"]
