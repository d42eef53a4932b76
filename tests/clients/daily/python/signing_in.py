"""The sign-in of the official Python SDK, 1.x and 2.x, with a file for what it stores."""

import asyncio
import json
import os
import sys
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.shared import auth as shared
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken


class FileTokenStorage(TokenStorage):
    """Stores the tokens and the registration in the home folder."""

    def __init__(self) -> None:
        self.path = Path(os.environ["HOME"]) / "tokens.json"

    def _read(self, name: str) -> object:
        return json.loads(self.path.read_text()).get(name) if self.path.exists() else None

    def _write(self, name: str, value: object) -> None:
        stored = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.path.write_text(json.dumps({**stored, name: value}))

    async def get_tokens(self) -> OAuthToken | None:
        stored = self._read("tokens")
        return OAuthToken.model_validate(stored) if stored else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._write("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        stored = self._read("client")
        return OAuthClientInformationFull.model_validate(stored) if stored else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._write("client", client_info.model_dump(mode="json", exclude_none=True))


class SignInCallback:
    """Listens for the browser while the person signs in."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}/callback"

    async def redirect(self, url: str) -> None:
        self.visit: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.server = await asyncio.start_server(self._on_visit, "127.0.0.1", self.port)
        sys.stderr.write(f"Open {url}\n")
        sys.stderr.flush()

    async def _on_visit(self, reader: StreamReader, writer: StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        self.visit.set_result(target)

    async def wait_for_answer(self) -> object:
        query = dict(parse_qsl(urlsplit(await self.visit).query))
        self.server.close()
        # 1.x takes a pair, 2.x the whole answer.
        if result := getattr(shared, "AuthorizationCodeResult", None):
            return result(**query)
        return query["code"], query.get("state")


def make_provider(name: str, mcp_url: str, port: str) -> OAuthClientProvider:
    callback = SignInCallback(int(port))
    metadata = OAuthClientMetadata(
        client_name=name,
        redirect_uris=[callback.address],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(
        mcp_url,
        metadata,
        FileTokenStorage(),
        redirect_handler=callback.redirect,
        callback_handler=callback.wait_for_answer,
    )
