"""The stream of a `subscriptions/listen` request, read while it is open."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from django.test import TestCase

from mcp_protocol.revisions import Revision
from tests.drivers.asgi import Wire, open_request, scope_of
from tests.drivers.mcp import BOTH, HOST, McpClient
from tests.drivers.schemas import conforms
from tools_registry.endpoint.asgi import McpApplication

MODERN = Revision.V2026_07_28
METHOD = "subscriptions/listen"
ID = "io.modelcontextprotocol/subscriptionId"
TOOLS: Mapping[str, Any] = {"toolsListChanged": True}
SHAPES = {
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    None: "SubscriptionsListenResultResponse",
}


def request_of(
    client: McpClient, notifications: object = TOOLS, *, request_id: object = 7
) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a request to listen."""
    client = client.with_revision(MODERN)
    params = client.params({"notifications": notifications})
    headers = {
        "Host": HOST,
        "Accept": BOTH,
        "Content-Type": "application/json",
        "Authorization": f"Bearer {client.token}",
        "MCP-Protocol-Version": MODERN.value,
        "Mcp-Method": METHOD,
    }
    message = {"jsonrpc": "2.0", "id": request_id, "method": METHOD, "params": params}
    return headers, json.dumps(message).encode()


def check_events(events: list[Any]) -> list[str]:
    """What came, by method, each message of the published shape; the response is "ended"."""
    for event in events:
        conforms(event, MODERN, SHAPES[event.get("method")])
    return [event.get("method", "ended").rpartition("/")[2] for event in events]


@dataclass(frozen=True)
class OpenSubscription:
    """One open stream in process."""

    app: McpApplication
    wire: Wire

    @property
    def received_methods(self) -> list[str]:
        return check_events(self.wire.reply.events)

    async def receives(self, *wanted: str) -> None:
        """Wait until exactly this has come, in this order."""
        await self.wire.wait_until(lambda: len(self.received_methods) >= len(wanted))
        assert self.received_methods == list(wanted)

    async def run_and_commit(self, act: Callable[[], object]) -> None:
        """Do something in a thread of the application and have its transaction committed."""

        def commit() -> None:
            with TestCase.captureOnCommitCallbacks(execute=True):
                act()

        await self.app._core.submit(commit)


@asynccontextmanager
async def listening(
    app: McpApplication,
    client: McpClient,
    notifications: object = TOOLS,
    *,
    request_id: object = 7,
) -> AsyncIterator[OpenSubscription]:
    """A stream that has been acknowledged; the client hangs up on leaving."""
    headers, body = request_of(client, notifications, request_id=request_id)
    async with open_request(app, scope_of("POST", headers.items()), body) as wire:
        subscription = OpenSubscription(app, wire)
        await wire.wait_until(lambda: bool(wire.reply.events) or wire.status >= 400)
        try:
            yield subscription
        finally:
            wire.gone.set()
