"""langchain-mcp-adapters, with a session a call: langchain_adapters.py MCP_URL CALLBACK_PORT."""

import asyncio
import sys

from conversation import answer_lines
from langchain_mcp_adapters.client import MultiServerMCPClient
from signing_in import make_provider


async def main(mcp_url: str, port: str) -> None:
    provider = make_provider("LangChain", mcp_url, port)
    server = {"url": mcp_url, "transport": "streamable_http", "auth": provider}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"halo": server}).get_tools()}

    async def list_tools() -> list[str]:
        return list(tools)

    async def call_tool(name: str, arguments: dict[str, object]) -> str:
        said = await tools[name].ainvoke(arguments)
        return said if isinstance(said, str) else said[0]["text"]

    await answer_lines(list_tools, call_tool)


asyncio.run(main(*sys.argv[1:]))
