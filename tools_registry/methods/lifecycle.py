"""How a client and this server meet: handshake, discovery, ping."""

import base64
from functools import cache
from typing import Final

from django.conf import settings

from mcp_protocol import handshake_shapes, shapes
from mcp_protocol.capabilities import Server
from mcp_protocol.strict_json import JsonObject
from tools_registry.methods.exchange import Exchange

INSTRUCTIONS: Final = (
    "Tools of one organization. Search the documentation with search_docs and open a page with "
    "read_doc. Tools that change something say so in their annotations; destructive actions are "
    "never available here. A refusal names its reason and the layer that refused."
)


def initialize(exchange: Exchange) -> JsonObject:
    """The handshake; without params the answer is the one the transport document prints."""
    if "protocolVersion" not in exchange.params:
        return handshake_shapes.bare_initialize_result()
    return handshake_shapes.initialize_result(exchange.revision, _server(), INSTRUCTIONS)


def discover(_exchange: Exchange) -> JsonObject:
    return handshake_shapes.discover_result(_server(), INSTRUCTIONS)


def ping(exchange: Exchange) -> JsonObject:
    return shapes.empty_result(exchange.revision)


def _server() -> Server:
    return Server(website_url=settings.HALO_PUBLIC_URL, icons=({**_icon()},))


@cache
def _icon() -> dict[str, object]:
    # In the answer itself: clients take icons from https or data addresses only, and this server
    # may be on http on somebody's computer (MCP 2025-11-25, basic, Icons).
    drawn = (settings.BASE_DIR / "static" / "halo" / "logo.svg").read_bytes()
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"
    return {"src": source, "mimeType": "image/svg+xml", "sizes": ["any"]}
