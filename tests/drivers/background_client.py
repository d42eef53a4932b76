"""The official client, connected and subscribed, in a thread with an event loop of its own.

A browser's test runs in a thread whose loop is taken, so the client lives in another one.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import Subscription
from mcp.types import CallToolResult

MODE = "2026-07-28"
TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class BackgroundClient:
    """One client with one stream of `subscriptions/listen`; every method waits for its answer."""

    portal: BlockingPortal
    client: Client
    subscription: Subscription

    def tools(self) -> set[str]:
        """Return the tool names that the client has fetched; it fetches again when notified."""
        return self.portal.call(self._tools)

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """What the tool says, as the JSON value in its one text block."""
        (block,) = self.portal.call(self._call, tool, arguments).content
        assert block.type == "text"
        return json.loads(block.text)

    def refusal(self, tool: str, arguments: dict[str, Any]) -> str:
        """The reason for which a call is refused."""
        try:
            answer = self.call(tool, arguments)
        except MCPError as error:
            answer = error.data
        reason: str = answer["reason"]
        return reason

    def waits_until_it_has(self, wanted: set[str]) -> None:
        """Wait for word of a change until the list is exactly this."""
        self.portal.call(self._wait_for_tools, wanted)

    async def _tools(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def _wait_for_tools(self, wanted: set[str]) -> None:
        found = set[str]()
        with anyio.move_on_after(TIMEOUT_SECONDS):
            async for _change in self.subscription:
                found = await self._tools()
                if found == wanted:
                    return
        raise AssertionError(f"the list is not what was wanted, but by {sorted(found ^ wanted)}")


@contextmanager
def listening(mcp_url: str, token: str) -> Iterator[BackgroundClient]:
    """Connect with a token and open the stream; both end with the block."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_connect(mcp_url, token)) as (client, subscription),
    ):
        yield BackgroundClient(portal, client, subscription)


@asynccontextmanager
async def _connect(mcp_url: str, token: str) -> AsyncIterator[tuple[Client, Subscription]]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(mcp_url, http_client=http)
        async with (
            Client(transport, mode=MODE) as client,
            client.listen(tools_list_changed=True) as subscription,
        ):
            yield client, subscription
