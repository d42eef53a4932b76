"""A small server of the protocol, in memory. Its methods are what a broken server does wrong.

Its model calls each offered tool that the last question names, and quotes what came back.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

KEY = "the-key"
Message = dict[str, Any]
Named = tuple[str, dict[str, Any]]
AGENT: dict[str, Any] = {
    "name": "reference",
    "title": "Reference",
    "version": "1.0.0",
    "description": "Quotes what it finds.",
    "tools": [
        {
            "name": "web_search",
            "title": "Search",
            "description": "Searches",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            },
        }
    ],
    "options": [
        {"name": "size", "type": "select", "options": ["small", "large"], "default": "small"},
        {"name": "language", "title": "Language", "type": "text", "default": "English"},
        {"name": "token", "type": "secret", "default": ""},
    ],
    "capabilities": {
        "history": {"compacted": {}, "full": {}},
        "stream": {"delta": {}, "message": {}, "none": {}},
        "application": {"tools": {}},
    },
}


class Mistake(Exception):
    """The client is refused, with this status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class ReferenceSession:
    id: str
    tools: list[Any]
    options: dict[str, str]
    client_tools: list[Any]
    history: list[Message] = field(default_factory=list)

    def waiting(self) -> list[dict[str, Any]]:
        """The calls of the last assistant message that have no result."""
        answered = {one["toolCallId"] for one in self.history if one["role"] == "tool"}
        spoken = [one for one in self.history if one["role"] == "assistant"]
        made = calls_of(spoken[-1]) if spoken else []
        return [call for call in made if call["toolCallId"] not in answered]


def calls_of(message: Message) -> list[dict[str, Any]]:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return [block for block in blocks if block["type"] == "tool_use"]


def require(condition: object, message: str, status: int = 400) -> None:
    if not condition:
        raise Mistake(status, message)


class Reference:
    """The protocol without HTTP."""

    page_size = 5

    def __init__(self) -> None:
        self.sessions: dict[str, ReferenceSession] = {}

    # What is read.

    def is_allowed(self, key: str, path: str) -> bool:
        return key == KEY or path == "/meta"

    def meta(self) -> Any:
        return {"version": 1, "agents": [AGENT]}

    def list_sessions(self, after: str) -> Any:
        ids = sorted(self.sessions)
        rest = [one for one in ids if one > after]
        page = rest[: self.page_size]
        more = {"nextCursor": page[-1]} if len(rest) > len(page) else {}
        return {"sessions": page, **more}

    def read(self, session: ReferenceSession) -> Any:
        options = session.options | ({"token": "***"} if session.options.get("token") else {})
        return {
            "sessionId": session.id,
            "agent": {"name": "reference", "tools": session.tools, "options": options},
            "tools": session.client_tools,
            "history": {"compacted": session.history, "full": session.history},
        }

    def delete(self, session_id: str) -> int:
        del self.sessions[session_id]
        return 204

    # Turns.

    def check(self, body: Any, server_tools: list[Any]) -> None:
        """Refuses what fits no session. `server_tools` are those that the session has."""
        agent, messages = body.get("agent", {}), body.get("messages")
        require(isinstance(messages, list) and messages, "messages is required")
        require(body.get("stream", "none") in {"delta", "message", "none"}, "No such mode")
        known = {tool["name"] for tool in AGENT["tools"]}
        chosen = agent.get("tools", server_tools)
        require(all(one["name"] in known for one in chosen), "No such tool")
        names = {one["name"] for one in body.get("tools", [])}
        require(not names & known, "A tool has the name of another")
        options = {option["name"]: option for option in AGENT["options"]}
        for name, value in agent.get("options", {}).items():
            require(name in options, "No such option")
            require(value in options[name].get("options", [value]), "No such value")

    def create(self, body: Any) -> ReferenceSession:
        require(body.get("agent", {}).get("name") == "reference", "No such agent")
        self.check(body, [])
        require(body["messages"][-1]["role"] == "user", "The last message must be a user message")
        session = ReferenceSession(
            f"sess_{len(self.sessions):03}_{uuid4().hex}", [], self.defaults(), []
        )
        self.override(session, body)
        session.history += body["messages"]
        self.sessions[session.id] = session
        return session

    def defaults(self) -> dict[str, str]:
        return {option["name"]: option["default"] for option in AGENT["options"]}

    def override(self, session: ReferenceSession, body: Any) -> None:
        session.tools = body.get("agent", {}).get("tools", session.tools)
        session.options = session.options | body.get("agent", {}).get("options", {})
        session.client_tools = body.get("tools", session.client_tools)

    def go_on(self, session: ReferenceSession, body: Any) -> list[Message]:
        """Stores what the client sends; returns the results of what it has permitted."""
        self.check(body, session.tools)
        waiting = {call["toolCallId"]: call for call in session.waiting()}
        sent = {one.get("toolCallId", ""): one for one in body["messages"]}
        require(waiting.keys() == sent.keys() - {""}, "Send all results and permissions together")
        require(not waiting or "" not in sent, "Calls wait for results")
        self.override(session, body)
        returned = []
        for call_id, message in sent.items():
            if message["role"] == "tool_permission":
                returned.append(self.apply_permission(waiting[call_id], message))
            else:
                session.history.append(message)
        session.history += returned
        return returned

    def apply_permission(self, call: Any, permission: Message) -> Message:
        if permission["granted"]:
            return self.result(call)
        return self.result(call, f"Tool call denied: {permission.get('reason', '')}")

    def result(self, call: Any, text: str = "") -> Message:
        found = text or f"Found {call['input']['query']}"
        return {"role": "tool", "toolCallId": call["toolCallId"], "content": found}

    def respond(self, session: ReferenceSession) -> Message:
        """The next message of the model."""
        results = []
        for message in reversed(session.history):
            if message["role"] == "user":
                break
            if message["role"] == "tool":
                results.append(str(message["content"]))
        question = next(one for one in reversed(session.history) if one["role"] == "user")
        offered = [tool["name"] for tool in (*session.tools, *session.client_tools)]
        named = [name for name in offered if name in str(question["content"])]
        if named and not results:
            blocks = [
                {
                    "type": "tool_use",
                    "toolCallId": f"call_{uuid4().hex}",
                    "name": name,
                    "input": {"query": "conformance"},
                }
                for name in named
            ]
            return {"role": "assistant", "content": blocks}
        return {"role": "assistant", "content": " ".join(results) or "I can search."}

    def is_trusted(self, session: ReferenceSession, name: str) -> bool:
        return {"name": name, "trust": True} in session.tools

    def run(self, session: ReferenceSession) -> tuple[list[Message], str]:
        """Returns what is said and returned in a turn, and why it stops."""
        log: list[Message] = []
        while True:
            said = self.respond(session)
            session.history.append(said)
            log.append(said)
            for call in calls_of(said):
                if self.is_trusted(session, call["name"]):
                    log.append(self.result(call))
                    session.history.append(log[-1])
            if session.waiting():
                return log, "tool_use"
            if not calls_of(said):
                return log, "end_turn"

    # What is answered.

    def body(
        self, session: ReferenceSession, log: list[Message], stop: str, *, is_new: bool
    ) -> Any:
        started = {"sessionId": session.id} if is_new else {}
        return {**started, "stopReason": stop, "messages": log}

    def events(
        self, session: ReferenceSession, log: list[Message], stop: str, mode: str, *, is_new: bool
    ) -> list[Named]:
        found: list[Named] = [("session_start", {"sessionId": session.id})] if is_new else []
        found.append(("turn_start", {}))
        for message in log:
            found += self.events_of(message, mode)
        return [*found, ("turn_stop", {"stopReason": stop})]

    def events_of(self, message: Message, mode: str) -> list[Named]:
        if message["role"] == "tool":
            name, content = message["toolCallId"], message["content"]
            return [("tool_result", {"toolCallId": name, "content": content})]
        if calls := calls_of(message):
            members = ("toolCallId", "name", "input")
            return [("tool_call", {name: call[name] for name in members}) for call in calls]
        text = message["content"]
        return self.events_of_text(text, mode)

    def events_of_text(self, text: str, mode: str) -> list[Named]:
        if mode == "message":
            return [("text", {"text": text})]
        middle = len(text) // 2
        return [("text_delta", {"delta": part}) for part in (text[:middle], text[middle:])]

    def encode_events(self, events: Sequence[Named]) -> bytes:
        return "".join(
            f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events
        ).encode()

    def created_status(self, mode: str) -> int:
        return 201 if mode == "none" else 200


class _ReferenceHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two packets, the second of which would wait for the client otherwise.
    disable_nagle_algorithm = True
    reference: Reference

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        try:
            status, media_type, content = self._answer(raw)
        except Mistake as mistake:
            error = json.dumps({"error": str(mistake)}).encode()
            status, media_type, content = mistake.status, "application/json", error
        self.send_response(status)
        if content:
            self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = _do  # noqa: N815  the names that the class calls

    def _answer(self, raw: bytes) -> tuple[int, str, bytes]:
        parts, server = urlsplit(self.path), self.reference
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        require(server.is_allowed(key, parts.path), "Send a valid API key", 401)
        first, _slash, session_id = parts.path.strip("/").partition("/")
        body = json.loads(raw) if raw else None
        if first == "session" and self.command == "PUT":
            session, returned = server.create(body), list[Message]()
        elif first == "session":
            require(session_id in server.sessions, "Session not found", 404)
            session = server.sessions[session_id]
            if self.command == "GET":
                return _json(200, server.read(session))
            if self.command == "DELETE":
                return server.delete(session_id), "", b""
            returned = server.go_on(session, body)
        else:
            query = parse_qs(parts.query)
            after = query.get("after", [""])[0]
            return _json(200, server.meta() if first == "meta" else server.list_sessions(after))
        mode, is_new = body.get("stream", "none"), self.command == "PUT"
        log, stop = server.run(session)
        log = returned + log
        if mode == "none":
            status = server.created_status(mode) if is_new else 200
            return _json(status, server.body(session, log, stop, is_new=is_new))
        events = server.events(session, log, stop, mode, is_new=is_new)
        return 200, "text/event-stream", server.encode_events(events)

    def log_message(self, *_given: Any) -> None:
        """Nothing is logged."""


def _json(status: int, value: Any) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps(value).encode()


@contextmanager
def serving(reference: Reference) -> Iterator[str]:
    """Yields the base URL of a server."""
    handler = type("Handler", (_ReferenceHandler,), {"reference": reference})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
