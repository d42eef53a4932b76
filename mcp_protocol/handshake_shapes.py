"""The responses that a client reads first: handshake, discovery and the descriptor.

Source: transport document, Discovery URLs and JSON-RPC methods; MCP schema of each revision.
"""

from typing import Final

from mcp_protocol import meta_keys
from mcp_protocol.capabilities import (
    SERVER_NAME,
    SERVER_VERSION,
    ServerInfo,
    bare_capabilities,
    bare_implementation,
    capabilities,
    implementation,
)
from mcp_protocol.revisions import MODERN, REVISIONS, UNDECLARED, Revision
from mcp_protocol.shapes import complete
from mcp_protocol.strict_json import JsonObject

ENDPOINT_PATH: Final = "/api/mcp"

# A discovery response is the same for all clients, so it may be cached publicly for an hour (MCP
# 2026-07-28, server/utilities/caching).
_DISCOVER_CACHE: Final[JsonObject] = {"ttlMs": 3_600_000, "cacheScope": "public"}


def bare_initialize_result() -> JsonObject:
    """Returns the response to `initialize` without params, byte for byte as in the document."""
    return {
        "protocolVersion": UNDECLARED.value,
        "serverInfo": bare_implementation(),
        "capabilities": bare_capabilities(),
    }


def initialize_result(revision: Revision, server: ServerInfo, instructions: str = "") -> JsonObject:
    """Returns the response to `initialize` with params, for the negotiated revision."""
    return {
        "protocolVersion": revision.value,
        "capabilities": capabilities(server, revision),
        "serverInfo": implementation(server, revision),
        **({"instructions": instructions} if instructions else {}),
    }


def discover_result(server: ServerInfo, instructions: str = "") -> JsonObject:
    """Returns the response to server/discover, newest version first.

    The response is cached publicly, so instructions must not depend on the client. Only this result
    has the full Implementation of the server; every other one has its name and version. Source: MCP
    2026-07-28, server/discover.
    """
    revision = MODERN[-1]
    result: JsonObject = {
        "supportedVersions": [revision.value for revision in reversed(REVISIONS)],
        "capabilities": capabilities(server, revision),
        **({"instructions": instructions} if instructions else {}),
        **_DISCOVER_CACHE,
    }
    whole = complete(result, revision)
    return whole | {meta_keys.META: {meta_keys.SERVER_INFO: implementation(server, revision)}}


def descriptor(public_url: str) -> JsonObject:
    """Returns the body of GET /api/mcp for a public origin such as https://app.haloagents.ai.

    The keys and their order are those of the transport document (Discovery URLs).
    """
    origin = public_url.rstrip("/")
    return {
        "name": SERVER_NAME,
        "version": SERVER_VERSION,
        "protocolVersion": UNDECLARED.value,
        "transport": "http+jsonrpc",
        "methods": ["initialize", "ping", "tools/list", "tools/call"],
        "authentication": {
            "type": "oauth2",
            "authorization_server": f"{origin}/.well-known/oauth-authorization-server",
            "protected_resource_metadata": f"{origin}/.well-known/oauth-protected-resource",
        },
        "mcp_url": f"{origin}{ENDPOINT_PATH}",
    }
