"""Documents by which programs find a server: server card, catalog, and entry of a registry.

Source: MCP extension Server Cards (SEP-2127, modelcontextprotocol/experimental-ext-server-card,
docs/discovery.md and schema.ts), and the MCP Registry's server.json, schema 2025-12-11.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcp_protocol.capabilities import ServerInfo
from mcp_protocol.revisions import REVISIONS
from mcp_protocol.strict_json import JsonObject

CARD_TYPE: Final = "application/mcp-server-card+json"
CATALOG_TYPE: Final = "application/ai-catalog+json"
# Behind the address of an endpoint.
CARD_SUFFIX: Final = "/server-card"
_CARD_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_ENTRY_SCHEMA: Final = (
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
)
_NO_LABEL: Final = re.compile(r"[^a-zA-Z0-9.-]")


def card(
    server: ServerInfo, host: str, url: str, *, part: str = "", headers: Sequence[JsonObject] = ()
) -> JsonObject:
    """Returns the card of the endpoint at `url`, with the values of server/discover.

    `host` is the one of the deployment. `part` tells an endpoint from others of the same server,
    such as the id of a project. `headers` describe what a client has to send.
    """
    remote: JsonObject = {
        "type": "streamable-http",
        "url": url,
        **({"headers": list(headers)} if headers else {}),
        "supportedProtocolVersions": [revision.value for revision in reversed(REVISIONS)],
    }
    return {
        "$schema": _CARD_SCHEMA,
        **_identity(server, _name(server, host, part)),
        **({"icons": list(server.icons)} if server.icons else {}),
        "remotes": [remote],
    }


def catalog(host: str, cards: Mapping[str, str]) -> JsonObject:
    """Returns the catalog of a host, from the names of its servers to the URLs of their cards."""
    entries = [
        {"identifier": f"urn:air:{host}:mcp:{name}", "type": CARD_TYPE, "url": url}
        for name, url in cards.items()
    ]
    return {"specVersion": "1.0", "entries": entries}


def registry_entry(
    server: ServerInfo, name: str, url: str, icons: Sequence[Mapping[str, Any]] = ()
) -> JsonObject:
    """Returns the server.json of the endpoint at `url`, published under `name`."""
    return {
        "$schema": _ENTRY_SCHEMA,
        **_identity(server, name),
        **({"icons": list(icons)} if icons else {}),
        "remotes": [{"type": "streamable-http", "url": url}],
    }


def namespace(host: str) -> str:
    """Returns a host name with its labels reversed, such as com.example; an address as it is."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return ".".join(reversed(host.split(".")))
    return _NO_LABEL.sub("-", host.strip("[]"))


def _identity(server: ServerInfo, name: str) -> JsonObject:
    return {
        "name": name,
        "title": server.title,
        "description": server.description,
        "version": server.version,
        **({"websiteUrl": server.website_url} if server.website_url else {}),
    }


def _name(server: ServerInfo, host: str, part: str) -> str:
    return f"{namespace(host)}/{server.name}" + (f".{part}" if part else "")
