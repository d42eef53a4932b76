"""The official Python SDK 1.x: mcp1.py MCP_URL CALLBACK_PORT."""

import asyncio
import sys

from conversation import answer_lines
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from signing_in import make_provider


async def main(mcp_url: str, port: str) -> None:
    provider = make_provider("Python mcp 1", mcp_url, port)
    async with (
        streamablehttp_client(mcp_url, auth=provider) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def list_tools() -> list[str]:
            return [tool.name for tool in (await session.list_tools()).tools]

        async def call_tool(name: str, arguments: dict[str, object]) -> str:
            return (await session.call_tool(name, arguments)).content[0].text

        await answer_lines(list_tools, call_tool)


asyncio.run(main(*sys.argv[1:]))
