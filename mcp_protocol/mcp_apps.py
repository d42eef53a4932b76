"""MCP Apps: how a client declares that it shows them, and the members that only such a client gets.

Source: MCP Apps (SEP-1865), specification of 2026-01-26; SEP-2133, Negotiation.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_protocol.revisions import Revision, revisions_since
from mcp_protocol.strict_json import JsonObject

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
URI_SCHEME: Final = "ui://"
DECLARATION: Final[JsonObject] = {EXTENSION: {"mimeTypes": [MIME_TYPE]}}
# Listed tools have no `_meta` before, which is where the app of a tool is named.
REVISIONS: Final = revisions_since(Revision.V2025_06_18)
# Hosts allow nothing that is not listed: the document of an app is all that it loads.
RESOURCE_META: Final[Mapping[str, Any]] = {
    "ui": {
        "csp": {
            "connectDomains": [],
            "resourceDomains": [],
            "frameDomains": [],
            "baseUriDomains": [],
        },
        "prefersBorder": True,
    }
}


def has_declared_apps(client_capabilities: Mapping[str, object]) -> bool:
    """Returns whether a client declared that it shows apps of the type that this server has."""
    extensions = client_capabilities.get("extensions")
    settings = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    types = settings.get("mimeTypes") if isinstance(settings, dict) else None
    return isinstance(types, list) and MIME_TYPE in types


def tool_meta(uri: str) -> JsonObject:
    """Returns the `_meta` of a listed tool whose results the app at this URI shows."""
    return {"ui": {"resourceUri": uri}}


def announce(result: JsonObject) -> JsonObject:
    """Returns the result of initialize or server/discover with the extension announced.

    Hosts read apps as resources, so `resources` is among the capabilities too. What depends on the
    client may not be cached publicly (MCP 2026-07-28, server/utilities/caching).
    """
    capabilities = result["capabilities"]
    extensions = {**capabilities.get("extensions", {}), EXTENSION: {}}
    announced = {"resources": {}, **capabilities, "extensions": extensions}
    scope = {"cacheScope": "private"} if "cacheScope" in result else {}
    return {**result, "capabilities": announced, **scope}
