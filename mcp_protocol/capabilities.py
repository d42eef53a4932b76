"""What this server says it can do, and who it says it is, at each revision.

Source: MCP schema of each revision, ServerCapabilities and Implementation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from mcp_protocol.description import Description, unless_empty
from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, Revision, since
from mcp_protocol.strict_json import JsonObject

SERVER_NAME: Final = "halo-agents"
SERVER_VERSION: Final = "1.0.0"

# Whether clients are told when the list of tools changes: on streams of subscriptions/listen.
_TOOLS_CHANGE: Final[Mapping[Revision, bool]] = dict.fromkeys(HANDSHAKE, False) | dict.fromkeys(
    MODERN, True
)


def _unchanging(_revision: Revision) -> JsonObject:
    return {"listChanged": False}


def _there(_revision: Revision) -> JsonObject:
    return {}


def _tools(revision: Revision) -> JsonObject:
    return {"listChanged": _TOOLS_CHANGE[revision]}


_CAPABILITIES: Final = Description(
    ("tools", REVISIONS, _tools),
    # Subscribing is answered and never advertised: nothing here tells of a changed resource.
    ("resources", HANDSHAKE, _unchanging),
    ("prompts", HANDSHAKE, _unchanging),
    ("resources", since(Revision.V2026_07_28), _there),
    ("prompts", since(Revision.V2026_07_28), _there),
    ("completions", since(Revision.V2025_03_26), _there),
    ("logging", REVISIONS, _there),
)


@dataclass(frozen=True, slots=True)
class Server:
    """What a client may show of this server: its page, and icons as MCP shapes them."""

    website_url: str = ""
    icons: Sequence[Mapping[str, Any]] = ()
    name: str = SERVER_NAME
    version: str = SERVER_VERSION
    title: str = "Halo Agents"
    description: str = "The tools, documentation and prompts of one organization."


_IMPLEMENTATION: Final = Description(
    ("name", REVISIONS, attrgetter("name")),
    ("title", since(Revision.V2025_06_18), attrgetter("title")),
    ("version", REVISIONS, attrgetter("version")),
    ("description", since(Revision.V2025_11_25), attrgetter("description")),
    ("websiteUrl", since(Revision.V2025_11_25), unless_empty("website_url")),
    ("icons", since(Revision.V2025_11_25), unless_empty("icons")),
)


def capabilities(revision: Revision) -> JsonObject:
    """Return what the server can do at a revision."""
    return _CAPABILITIES.of(revision, revision)


def bare_capabilities() -> JsonObject:
    """Return what the transport document prints for `initialize` without params."""
    return {"tools": {"listChanged": False}}


def implementation(server: Server, revision: Revision) -> JsonObject:
    """Return who the server is, in full."""
    return _IMPLEMENTATION.of(server, revision)


def bare_implementation() -> JsonObject:
    """Return name and version alone, as the transport document prints them."""
    return {"name": SERVER_NAME, "version": SERVER_VERSION}
