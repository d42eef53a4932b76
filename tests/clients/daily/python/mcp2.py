"""The official Python SDK 2.x: mcp2.py MCP_URL CALLBACK_PORT."""

import asyncio
import sys

import httpx2
from conversation import answer_lines
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from signing_in import make_provider


async def main(mcp_url: str, port: str) -> None:
    provider = make_provider("Python mcp 2", mcp_url, port)
    async with (
        httpx2.AsyncClient(auth=provider, timeout=60) as http,
        Client(streamable_http_client(mcp_url, http_client=http)) as client,
    ):

        async def list_tools() -> list[str]:
            return [tool.name for tool in (await client.list_tools()).tools]

        async def call_tool(name: str, arguments: dict[str, object]) -> str:
            return (await client.call_tool(name, arguments)).content[0].text

        await answer_lines(list_tools, call_tool)


asyncio.run(main(*sys.argv[1:]))
