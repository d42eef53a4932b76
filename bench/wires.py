"""One tools/call as a client of each revision writes it; the same bytes for every server."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PATH: Final = "/api/mcp"
HANDSHAKE: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
WIRES: Final = (HANDSHAKE, MODERN)
CLIENT: Final = {"name": "bench", "version": "1.0"}


@dataclass(frozen=True)
class Request:
    """What is posted: headers but Host and Content-Length, and the body."""

    headers: Mapping[str, str]
    body: bytes


def call(wire: str, tool: str, arguments: Mapping[str, str], token: str) -> Request:
    """A tools/call at a revision, without a handshake before it."""
    params: dict[str, Any] = {"name": tool, "arguments": dict(arguments)}
    mirrored: dict[str, str] = {}
    if wire == MODERN:
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": wire,
            "io.modelcontextprotocol/clientInfo": CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        mirrored = {"Mcp-Method": "tools/call", "Mcp-Name": tool}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
        "MCP-Protocol-Version": wire,
        **mirrored,
    }
    return Request(headers, json.dumps(message, separators=(",", ":")).encode())


def said(body: bytes) -> str | None:
    """The text of a call that succeeded; None for any other reply."""
    try:
        result = json.loads(body)["result"]
        (block,) = result["content"]
    except (ValueError, KeyError, TypeError):
        return None
    return None if result.get("isError") else str(block.get("text"))


def refused_by(body: bytes) -> str:
    """The layer of the gate that refused a call; empty when none did."""
    try:
        return str(json.loads(body)["error"]["data"]["layer"])
    except (ValueError, KeyError, TypeError):
        return ""
