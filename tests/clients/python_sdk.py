"""The official Python client, `mcp`.

    python -m tests.clients.python_sdk legacy|auto|REVISION MCP_URL CALLBACK_PORT

It writes the address to open on its standard error, waits for the browser on the callback, and says
at the end what it found: {"tools": [names], "answer": text}.
"""

import asyncio
import json
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from tests.clients.real_client_flow import QUESTION
from tests.clients.token_storage import MemoryTokenStorage


class SdkCallback:
    """Where the browser comes back to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/callback"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        async with await asyncio.start_server(self._on_visit, "127.0.0.1", self.port):
            yield

    async def _on_visit(self, reader: StreamReader, writer: StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        self.answer.set_result(target)

    async def redirect(self, url: str) -> None:
        sys.stderr.write(f"Open {url}\n")
        sys.stderr.flush()

    async def wait_for_answer(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(await self.answer).query)))


async def travel(mode: str, mcp_url: str, callback: SdkCallback) -> dict[str, object]:
    sign_in = OAuthClientProvider(
        mcp_url,
        OAuthClientMetadata(
            client_name="Python mcp",
            redirect_uris=[callback.address],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",
        ),
        MemoryTokenStorage(),
        redirect_handler=callback.redirect,
        callback_handler=callback.wait_for_answer,
    )
    async with httpx2.AsyncClient(auth=sign_in, timeout=30) as http:
        transport = streamable_http_client(mcp_url, http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = await client.list_tools()
            found = await client.call_tool("search_docs", {"query": QUESTION})
    return {"tools": [tool.name for tool in tools.tools], "answer": found.content[0].text}


async def main(mode: str, mcp_url: str, port: str) -> None:
    callback = SdkCallback(int(port))
    async with callback.listening():
        sys.stdout.write(json.dumps(await travel(mode, mcp_url, callback)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
