"""Messages as a client of each revision writes them; the same bytes for every server."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

PATH: Final = "/api/mcp"
HANDSHAKE: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
REVISIONS: Final = (HANDSHAKE, MODERN)
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
# Values in results of data tools that differ from call to call: the time, and sealed cursors with
# a nonce. In the text of a reply the quotes are escaped. Lengths do not differ.
VARYING: Final = re.compile(rb'"(?:as_of|next_cursor)\\?": ?\\?"([^"\\]+)')


@dataclass(frozen=True)
class Request:
    """A POST: headers but Host and Content-Length, and the body."""

    headers: Mapping[str, str]
    body: bytes


def post(revision: str, method: str, params: Mapping[str, Any], token: str) -> Request:
    """A request at a revision, without a handshake before it."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
        "MCP-Protocol-Version": revision,
    }
    if revision == MODERN:
        params = {**params, "_meta": params.get("_meta", META)}
        headers |= {"Mcp-Method": method}
        headers |= {"Mcp-Name": params["name"]} if "name" in params else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Request(headers, json.dumps(message, separators=(",", ":")).encode())


def call_tool(revision: str, tool: str, arguments: Mapping[str, Any], token: str) -> Request:
    return post(revision, "tools/call", {"name": tool, "arguments": dict(arguments)}, token)


def result_text(body: bytes) -> str | None:
    """The text of a call that succeeded; None for any other reply."""
    try:
        result = json.loads(body)["result"]
        (block,) = result["content"]
    except (ValueError, KeyError, TypeError):
        return None
    return None if result.get("isError") else str(block.get("text"))


def refusal_layer(body: bytes) -> str:
    """The layer of the gate that refused a call; empty when none did."""
    try:
        return str(json.loads(body)["error"]["data"]["layer"])
    except (ValueError, KeyError, TypeError):
        return ""


def without_varying(text: str) -> str:
    """The text of a call without the values that differ from call to call."""
    return VARYING.sub(b"", text.encode()).decode()


@dataclass(frozen=True)
class Reply:
    """The body of a right reply. Every reply is the same but for the bytes of these parts.

    A part is the place of its first byte and the place after its last one.
    """

    body: bytes
    varying: Sequence[tuple[int, int]] = ()

    @classmethod
    def of(cls, body: bytes) -> "Reply":
        return cls(body, [found.span(1) for found in VARYING.finditer(body)])

    @property
    def masked(self) -> bytes:
        """The body with a space in place of every byte that varies."""
        masked = bytearray(self.body)
        for start, end in self.varying:
            masked[start:end] = b" " * (end - start)
        return bytes(masked)

    def fits(self, body: bytes) -> bool:
        """Whether a body is a right reply too."""
        return body == self.body or (
            len(body) == len(self.body) and Reply(body, self.varying).masked == self.masked
        )
