"""An application that talks to agents, written from the protocol's pages alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from audit.models import ActionExecution
from oauth import server_keys
from oauth.models import KeyKind, ServerKey
from tests.drivers import in_process_server
from workspace.models import Organization

BASE = "/aap"


@dataclass(frozen=True)
class AgentAnswer:
    """A response: JSON, or events in the order in which they came."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> str:
        assert self.json.keys() == {"error"}
        return str(self.json["error"])

    @property
    def events(self) -> list[tuple[str, Any]]:
        assert self.headers["content-type"] == "text/event-stream"
        found = []
        for block in self.text.split("\n\n")[:-1]:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
        return found

    @property
    def names(self) -> list[str]:
        return [name for name, _data in self.events]

    @property
    def session_id(self) -> str:
        """Of an answer to PUT, in any mode."""
        if self.text.startswith("{"):
            return str(self.json["sessionId"])
        return str(self.events[0][1]["sessionId"])

    @property
    def stop_reason(self) -> str:
        if self.text.startswith("{"):
            return str(self.json["stopReason"])
        return str(self.events[-1][1]["stopReason"])


@dataclass(frozen=True)
class Application:
    """An HTTP client with one key."""

    organization: Organization
    row: ServerKey
    secret: str = field(repr=False)

    def send(
        self, method: str, path: str, body: Any = None, *, query: str = "", **headers: str
    ) -> AgentAnswer:
        own = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        given = (
            {"Host": "testserver"}
            | own
            | {name.replace("_", "-"): value for name, value in headers.items()}
        )
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        listed = [(name, value) for name, value in given.items() if value]
        status, got, sent = in_process_server.request(method, BASE + path, listed, raw, query)
        return AgentAnswer(status, got, sent.decode())

    def create(self, text: str = "How do scopes work?", **given: Any) -> AgentAnswer:
        agent = {"name": given.pop("agent", "documentation")}
        agent |= {name: given.pop(name) for name in ("options",) if name in given}
        if "server_tools" in given:
            agent["tools"] = [
                {"name": name, "trust": trust} for name, trust in given.pop("server_tools").items()
            ]
        body = {"agent": agent, "messages": [{"role": "user", "content": text}]} | given
        return self.send("PUT", "/session", body)

    def turn(self, session_id: str, *messages: Any, **given: Any) -> AgentAnswer:
        return self.send("POST", f"/session/{session_id}", {"messages": list(messages)} | given)

    def history(self, session_id: str) -> Any:
        return self.send("GET", f"/session/{session_id}").json["history"]["full"]


def tool_rows() -> QuerySet[ActionExecution]:
    """The rows of calls of tools in the audit log; turns have rows too."""
    return ActionExecution.objects.filter(method="tools/call")


def with_key(organization: Organization, *scopes: str) -> Application:
    wanted = scopes or ("docs:read", "setup:read", "data:read")
    row = server_keys.build_row(organization, "Application", wanted, 1, KeyKind.AGENTS)
    secret = server_keys.issue(row, user=None, address="").secret
    return Application(organization, row, secret)


def says(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def result(call_id: str, content: Any = "Sunny") -> dict[str, Any]:
    return {"role": "tool", "toolCallId": call_id, "content": content}


def permission(call_id: str, *, granted: bool = True, reason: str = "") -> dict[str, Any]:
    more = {"reason": reason} if reason else {}
    return {"role": "tool_permission", "toolCallId": call_id, "granted": granted, **more}
