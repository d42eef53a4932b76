"""The MCP server class of the OpenAI Agents SDK: openai_agents.py MCP_URL CALLBACK_PORT."""

import asyncio
import sys

from agents.mcp import MCPServerStreamableHttp
from conversation import answer_lines
from signing_in import make_provider


async def main(mcp_url: str, port: str) -> None:
    provider = make_provider("OpenAI Agents", mcp_url, port)
    server = MCPServerStreamableHttp(
        params={"url": mcp_url, "auth": provider}, client_session_timeout_seconds=60
    )
    async with server:

        async def list_tools() -> list[str]:
            return [tool.name for tool in await server.list_tools()]

        async def call_tool(name: str, arguments: dict[str, object]) -> str:
            return (await server.call_tool(name, arguments)).content[0].text

        await answer_lines(list_tools, call_tool)


asyncio.run(main(*sys.argv[1:]))
