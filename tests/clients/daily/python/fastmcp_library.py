"""FastMCP with its own sign-in and token store: fastmcp_library.py MCP_URL CALLBACK_PORT."""

import asyncio
import os
import sys
from pathlib import Path

from conversation import answer_lines
from fastmcp import Client
from fastmcp.client.auth import OAuth
from key_value.aio.stores.filetree import (
    FileTreeStore,
    FileTreeV1CollectionSanitizationStrategy,
    FileTreeV1KeySanitizationStrategy,
)


def make_sign_in(port: str) -> OAuth:
    folder = Path(os.environ["HOME"]) / "tokens"
    folder.mkdir(exist_ok=True)
    store = FileTreeStore(
        data_directory=folder,
        key_sanitization_strategy=FileTreeV1KeySanitizationStrategy(folder),
        collection_sanitization_strategy=FileTreeV1CollectionSanitizationStrategy(folder),
    )
    return OAuth(client_name="FastMCP", callback_port=int(port), token_storage=store)


async def main(mcp_url: str, port: str) -> None:
    async with Client(mcp_url, auth=make_sign_in(port)) as client:

        async def list_tools() -> list[str]:
            return [tool.name for tool in await client.list_tools()]

        async def call_tool(name: str, arguments: dict[str, object]) -> str:
            return (await client.call_tool(name, arguments)).content[0].text

        await answer_lines(list_tools, call_tool)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
