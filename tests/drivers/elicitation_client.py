"""A client that answers elicitation, on the stream of a call, over the raw ASGI application."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from audit.models import ActionExecution
from mcp_protocol.revisions import Revision
from tests.drivers.asgi import Wire, judge, open_request, scope_of
from tests.drivers.mcp import BOTH, CLIENT, McpClient, Reply, events_in
from tools_registry.endpoint.asgi import McpApplication

EVERYTHING = {"elicitation": {}, "sampling": {}, "roots": {}}
SESSION = "Mcp-Session-Id"

Message: TypeAlias = dict[str, Any]
T = TypeVar("T")


def accept(**content: Any) -> Message:
    return {"action": "accept", "content": content}


SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}
ROOTED = {"roots": [{"uri": "file:///a"}]}


def start_session(
    client: McpClient, revision: Revision, capabilities: Mapping[str, Any] = EVERYTHING
) -> McpClient:
    """The client after its handshake, which takes events and sends the session id it was given."""
    client = client.with_revision(revision)
    params = {
        "protocolVersion": revision.value,
        "capabilities": dict(capabilities),
        "clientInfo": CLIENT,
    }
    session = client.request("initialize", params).headers.get(SESSION.lower())
    return replace(client, headers={**client.headers, "Accept": BOTH, SESSION: session})


@dataclass
class ElicitationClient:
    """One application and one client of it, in one loop."""

    app: McpApplication
    client: McpClient

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        request_id: int = 9,
        meta: Mapping[str, Any] | None = None,
    ) -> AbstractAsyncContextManager[Wire]:
        """A call whose answer is still coming."""
        params: Message = {"name": tool, "arguments": dict(arguments or {})}
        if meta is not None:
            params["_meta"] = dict(meta)
        return self.request("tools/call", params, request_id=request_id)

    @asynccontextmanager
    async def request(
        self, method: str, params: Mapping[str, Any], *, request_id: int = 9
    ) -> AsyncIterator[Wire]:
        """Any request whose answer is still coming; all that came is judged in the end."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        scope = self._scope(self.client)
        async with open_request(self.app, scope, json.dumps(message).encode()) as wire:
            yield wire
        judge(wire, self.client._usual_headers()["MCP-Protocol-Version"])

    async def post(self, message: Message, client: McpClient | None = None) -> int:
        """Send another message; returns the status."""
        wire = Wire([json.dumps(message).encode()])
        await self.app(self._scope(client or self.client), wire.receive, wire.send)
        assert wire.body == b""
        return wire.status

    async def send_refused(self, message: Message) -> Reply:
        """Send a message that is not accepted; returns what is said to it."""
        wire = Wire([json.dumps(message).encode()])
        await self.app(self._scope(self.client), wire.receive, wire.send)
        return wire.reply

    async def answer(self, request: Message, result: Any, client: McpClient | None = None) -> int:
        return await self.post({"jsonrpc": "2.0", "id": request["id"], "result": result}, client)

    async def refuse(self, request: Message) -> int:
        error = {"code": -1, "message": "User rejected"}
        return await self.post({"jsonrpc": "2.0", "id": request["id"], "error": error})

    async def see(self, look: Callable[[], T]) -> T:
        """What a look at the database finds, from a thread that shares the test's connection."""
        return await self.app._core.submit(look)

    def _scope(self, client: McpClient) -> dict[str, Any]:
        given = {**client._usual_headers(), **client.headers}
        return scope_of("POST", [(k, v) for k, v in given.items() if v is not None])


def start_other_session(
    asked: ElicitationClient, revision: Revision, capabilities: Any = None
) -> ElicitationClient:
    """The same client in a session of another revision, or with other capabilities."""
    given = {} if capabilities is None else {"capabilities": capabilities}
    bare = replace(asked.client, headers={})
    return replace(asked, client=start_session(bare, revision, **given))


def outcomes() -> list[str]:
    """The outcomes of all audit rows, oldest first."""
    return list(ActionExecution.objects.order_by("id").values_list("outcome", flat=True))


def response(wire: Wire) -> Any:
    """The last event of a call's stream, which answers it."""
    last = wire.reply.events[-1]
    assert last["id"] == 9
    return last


def facts(wire: Wire) -> Any:
    """What a call on a stream succeeded with."""
    result = response(wire)["result"]
    assert result["isError"] is False, result
    return json.loads(result["content"][0]["text"])


async def requests_on(wire: Wire, how_many: int = 1) -> list[Message]:
    """What was asked so far, once there are so many questions."""

    def list_requests() -> list[Message]:
        return [event for event in events_in(wire.body) if "id" in event and "method" in event]

    await wire.wait_until(lambda: len(list_requests()) >= how_many or _is_over(wire))
    assert len(list_requests()) >= how_many, wire.body
    return list_requests()


def _is_over(wire: Wire) -> bool:
    return any("id" in event and "method" not in event for event in events_in(wire.body))
