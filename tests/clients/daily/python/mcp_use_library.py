"""mcp-use with the sign-in of the official SDK: mcp_use_library.py MCP_URL CALLBACK_PORT.

Its own sign-in gives a session one access token, and does not refresh it while the session lasts.
"""

import asyncio
import sys

from conversation import answer_lines
from mcp_use import MCPClient
from signing_in import make_provider


async def main(mcp_url: str, port: str) -> None:
    servers = {"halo": {"url": mcp_url, "auth": make_provider("mcp-use", mcp_url, port)}}
    client = MCPClient.from_dict({"mcpServers": servers})
    session = await client.create_session("halo")

    async def list_tools() -> list[str]:
        return [tool.name for tool in await session.list_tools()]

    async def call_tool(name: str, arguments: dict[str, object]) -> str:
        return (await session.call_tool(name, arguments)).content[0].text

    await answer_lines(list_tools, call_tool)
    await client.close_all_sessions()


asyncio.run(main(*sys.argv[1:]))
