"""Requests as bytes on the wire of two revisions, made once and sent many times."""

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

HANDSHAKE: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
WIRES: Final = (HANDSHAKE, MODERN)
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Caller:
    """One token at one server, speaking one revision."""

    url: str
    token: str
    wire: str = HANDSHAKE

    def written(self, method: str, **params: Any) -> str:
        """A whole HTTP request, on a connection that stays."""
        body = self._body(method, params)
        given = self._headers(method, params) | {"Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        return f"POST /api/mcp HTTP/1.1\r\n{lines}\r\n{body}"

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send it now; returns the result. Raises what httpx2 does, and KeyError for an error."""
        headers, body = self._headers(method, params), self._body(method, params)
        answer = httpx2.post(f"{self.url}/api/mcp", headers=headers, content=body, timeout=30)
        result: dict[str, Any] = answer.raise_for_status().json()["result"]
        return result

    def _body(self, method: str, params: dict[str, Any]) -> str:
        meta = {"_meta": META} if self.wire == MODERN else {}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | meta}
        return json.dumps(message)

    def _headers(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        usual = {
            "Host": urlsplit(self.url).netloc,
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.wire,
        }
        if self.wire != MODERN:
            return usual
        # What 2026-07-28 repeats of the body (basic/transports/streamable-http).
        named = {"Mcp-Name": params["name"]} if "name" in params else {}
        return usual | {"Mcp-Method": method} | named
