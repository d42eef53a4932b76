"""The capabilities and the identity of this server, at each revision.

Source: MCP schema of each revision, ServerCapabilities and Implementation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from mcp_protocol.description import RevisionSerializer, unless_empty
from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, Revision, revisions_since
from mcp_protocol.strict_json import JsonObject

SERVER_NAME: Final = "halo-agents"
SERVER_VERSION: Final = "1.0.0"

# Clients are notified of changes of the list of tools on streams of subscriptions/listen.
_TOOLS_CHANGE: Final[Mapping[Revision, bool]] = dict.fromkeys(HANDSHAKE, False) | dict.fromkeys(
    MODERN, True
)


# The extension Skills (SEP-2640); `mcp_protocol.skill_shapes` has its messages.
SKILLS_EXTENSION: Final = "io.modelcontextprotocol/skills"
# The extensions of the workspace server, and their settings.
_EXTENSIONS: Final[Mapping[str, JsonObject]] = {
    SKILLS_EXTENSION: {"directoryRead": True},
}


def _extensions(_revision: Revision) -> JsonObject:
    return dict(_EXTENSIONS)


def _unchanging(_revision: Revision) -> JsonObject:
    return {"listChanged": False}


def _there(_revision: Revision) -> JsonObject:
    return {}


def _tools(revision: Revision) -> JsonObject:
    return {"listChanged": _TOOLS_CHANGE[revision]}


_CAPABILITIES: Final = RevisionSerializer(
    ("tools", REVISIONS, _tools),
    # Subscriptions are accepted but not advertised: no resource changes.
    ("resources", HANDSHAKE, _unchanging),
    ("prompts", HANDSHAKE, _unchanging),
    ("resources", revisions_since(Revision.V2026_07_28), _there),
    ("prompts", revisions_since(Revision.V2026_07_28), _there),
    ("completions", revisions_since(Revision.V2025_03_26), _there),
    ("logging", REVISIONS, _there),
    ("extensions", MODERN, _extensions),
)


# The extension Tasks (SEP-2663); `mcp_protocol.task_shapes` has its messages.
_TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"


def _task_calls(_revision: Revision) -> JsonObject:
    return {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}


def _tasks_extension(_revision: Revision) -> JsonObject:
    return {_TASKS_EXTENSION: {}}


# A server of nothing but tools.
ONLY_TOOLS: Final = RevisionSerializer(
    ("tools", (Revision.V2024_11_05,), _there),
    ("tools", revisions_since(Revision.V2025_03_26), _tools),
)

# A server of tools whose calls may become tasks.
TOOLS_AND_TASKS: Final = RevisionSerializer(
    ("tools", (Revision.V2024_11_05,), _there),
    ("tools", revisions_since(Revision.V2025_03_26), _tools),
    ("tasks", (Revision.V2025_11_25,), _task_calls),
    ("extensions", MODERN, _tasks_extension),
)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a client may show of this server: its page, and icons in the form of MCP.

    `offers` are its capabilities.
    """

    website_url: str = ""
    icons: Sequence[Mapping[str, Any]] = ()
    name: str = SERVER_NAME
    version: str = SERVER_VERSION
    title: str = "Halo Agents"
    description: str = "The tools, documentation and prompts of one organization."
    offers: RevisionSerializer = _CAPABILITIES


_IMPLEMENTATION: Final = RevisionSerializer(
    ("name", REVISIONS, attrgetter("name")),
    ("title", revisions_since(Revision.V2025_06_18), attrgetter("title")),
    ("version", REVISIONS, attrgetter("version")),
    ("description", revisions_since(Revision.V2025_11_25), attrgetter("description")),
    ("websiteUrl", revisions_since(Revision.V2025_11_25), unless_empty("website_url")),
    ("icons", revisions_since(Revision.V2025_11_25), unless_empty("icons")),
)


def capabilities(server: ServerInfo, revision: Revision) -> JsonObject:
    """Returns the server's capabilities at a revision."""
    return server.offers.serialize(revision, revision)


def bare_capabilities() -> JsonObject:
    """Returns the capabilities of the transport document for `initialize` without params."""
    return {"tools": {"listChanged": False}}


def implementation(server: ServerInfo, revision: Revision) -> JsonObject:
    """Returns the server's Implementation with all members."""
    return _IMPLEMENTATION.serialize(server, revision)


def bare_implementation() -> JsonObject:
    """Returns name and version only, as in the transport document."""
    return {"name": SERVER_NAME, "version": SERVER_VERSION}
