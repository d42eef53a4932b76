"""FastMCP's client, with its own sign-in and its own callback server.

    python -m tests.clients.fastmcp_client MCP_URL CALLBACK_PORT

All that is taken from it is the opening of a browser: the address goes to standard error instead.
At the end it says what it found: {"tools": [names], "answer": text}.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth

from tests.clients.real_client_flow import QUESTION


class SignIn(OAuth):
    async def redirect_handler(self, authorization_url: str) -> None:
        sys.stderr.write(f"Open {authorization_url}\n")
        sys.stderr.flush()


async def main(mcp_url: str, port: str) -> None:
    sign_in = SignIn(client_name="FastMCP", callback_port=int(port), callback_host="127.0.0.1")
    async with Client(mcp_url, auth=sign_in) as client:
        tools = await client.list_tools()
        found = await client.call_tool("search_docs", {"query": QUESTION})
    names = [tool.name for tool in tools]
    sys.stdout.write(json.dumps({"tools": names, "answer": found.content[0].text}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
