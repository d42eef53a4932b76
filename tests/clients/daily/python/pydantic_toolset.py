"""pydantic-ai's MCP toolset with FastMCP's client: pydantic_toolset.py MCP_URL CALLBACK_PORT."""

import asyncio
import json
import sys

from conversation import answer_lines
from fastmcp import Client
from fastmcp_library import make_sign_in
from pydantic_ai.mcp import MCPToolset


async def main(mcp_url: str, port: str) -> None:
    async with MCPToolset(Client(mcp_url, auth=make_sign_in(port))) as toolset:

        async def list_tools() -> list[str]:
            return [tool.name for tool in await toolset.list_tools()]

        async def call_tool(name: str, arguments: dict[str, object]) -> str:
            return json.dumps(await toolset.direct_call_tool(name, arguments), default=str)

        await answer_lines(list_tools, call_tool)


asyncio.run(main(*sys.argv[1:]))
