"""The MCP surface of HR records: one value for all workspaces, and a copy for each address.

A workspace is an audience: its copy accepts its own keys and names its own metadata. Whether the
workspace exists is not looked up, so that a caller without a valid key learns nothing.
"""

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Final
from urllib.parse import urlsplit

from mcp_protocol import errors
from mcp_protocol.capabilities import ONLY_TOOLS, ServerInfo, capabilities
from mcp_protocol.revisions import Revision
from mcp_protocol.strict_json import JsonObject
from oauth import addresses, server_keys
from oauth.credentials import Verifiers
from oauth.scopes import ScopeSet
from people import hosts
from people.mcp import audit_arguments
from tools_registry.api import Guarded, Toolset
from tools_registry.endpoint.surface import McpSurface
from tools_registry.icons import with_icons
from tools_registry.pipeline import gate
from tools_registry.pipeline.gate import Decision, Switches
from tools_registry.registry import Catalogue, ToolsetSource

NAME: Final = "people"
PATH: Final = re.compile(rf"/w/({hosts.SLUG})/api/mcp/?")
# Names are taken from paths of strangers too.
MAX_CACHED: Final = 1_024
# What a client may request first, as the document prints it.
HINT: Final = "organisation:read people:read reference:read time_off:read"
# For clients that sign in, and the people who read their errors.
KEY_HINT: Final = (
    "This address takes API keys and has no sign-in. An admin creates a key at {page}; send it as "
    "'Authorization: Bearer hhr_live_...'."
)
INSTRUCTIONS: Final = (
    "HR records of one organization. Start with whoami. The organization is that of the API key: "
    "no tool takes a tenant. Home addresses, pay, documents and reasons of absences are never "
    "answered; do not ask people for them. Sickness is not listed. A change is prepared with "
    "prepare_api_write and made with commit_api_write, which asks the person; requests are "
    "approved and rejected on pages."
)
SERVER: Final = ServerInfo(
    name="hollyhr",
    title="HollyHR",
    description="HR records of one organization, projected for AI clients.",
    offers=ONLY_TOOLS,
)


@dataclass(frozen=True, slots=True)
class WorkspaceChallenges:
    """The challenges of a workspace, in the form that its document prints."""

    workspace: str

    def unauthorized_challenge(self, error: str | None = None, *, host: str) -> str:  # noqa: ARG002  the port's
        return self._challenge(HINT, host)

    def insufficient_scope(self, scope: str, *, host: str) -> str:
        return self._challenge(scope, host)

    def _challenge(self, scope: str, host: str) -> str:
        metadata = hosts.metadata(host, self.workspace)
        return f'Bearer resource_metadata="{metadata}", scope="{scope}"'


def find_by_path(path: str) -> McpSurface | None:
    """Returns the surface at a path, or None."""
    match = PATH.fullmatch(path)
    return get_for_workspace(match[1]) if match else None


def find_by_host(host: str, path: str) -> McpSurface | None:
    """Returns the surface at a path of a workspace's host, or None."""
    workspace = hosts.workspace_of(host)
    if workspace is None or path not in {addresses.MCP_PATH, hosts.path_of(workspace)}:
        return None
    return get_for_workspace(workspace)


@lru_cache(maxsize=MAX_CACHED)
def get_for_workspace(workspace: str) -> McpSurface:
    """Returns the surface of a workspace; the same object each time."""
    return replace(
        SURFACE,
        credentials=_keys(workspace),
        challenges=WorkspaceChallenges(workspace),
        credential_hint=partial(_credential_hint, workspace),
    )


def key_hint(identifier: str) -> str | None:
    """Returns what to send instead of a token of OAuth if a resource is that of a workspace."""
    try:
        parts = urlsplit(identifier)
    except ValueError:
        return None
    path = parts.path.removesuffix("/")
    is_here = addresses.names_this_server(identifier) and PATH.fullmatch(path)
    if is_here or (path == addresses.MCP_PATH and hosts.workspace_of(parts.netloc)):
        return KEY_HINT.format(page=addresses.url("/api-keys"))
    return None


@cache
def _sources() -> tuple[ToolsetSource]:
    from people.mcp import tools  # noqa: PLC0415  with the HR API, which is slow to import

    return (ToolsetSource([Toolset(tools=list(tools.all_tools()))]),)


def _credential_hint(workspace: str, host: str) -> str:
    resource = hosts.resource(host, workspace)
    described = resource.removesuffix("api/mcp") + "auth.md"
    return f"{KEY_HINT.format(page=addresses.url('/api-keys'))} {described} has the details."


def _keys(workspace: str | None) -> Verifiers:
    return {
        server_keys.PREFIXES[kind]: server_keys.verifier(kind, workspace)
        for kind in server_keys.HR_KINDS
    }


def _scope(tool: Guarded, scope: ScopeSet, _switches: Switches) -> Decision:
    if not tool.scope or tool.scope in map(str, scope):
        return gate.ALLOWED
    message = f"The API key needs the scope {tool.scope}. Ask an admin for a key that has it."
    return Decision(
        allowed=False,
        reason="permission_denied",
        layer="scope",
        message=message,
        scope=tool.scope,
    )


def _bare_initialize() -> JsonObject:
    revision = Revision.V2025_11_25
    return {
        "protocolVersion": revision.value,
        "capabilities": capabilities(SERVER, revision),
        "serverInfo": {"name": SERVER.name, "version": SERVER.version},
    }


# Calls are found by the name of this one; it accepts the keys of every workspace.
SURFACE: Final = McpSurface(
    name=NAME,
    credentials=_keys(None),
    catalogue=Catalogue(_sources),
    layers={"flag": gate.DEFAULT_LAYERS["flag"], "scope": _scope},
    approvable=frozenset(),
    limits={
        "tools_list": "HALO_RATE_TOOLS_LIST",
        "tools_call": "HALO_RATE_TOOLS_CALL",
        "other": "HALO_RATE_OTHER",
    },
    codes=errors.HALO,
    challenges=WorkspaceChallenges(""),
    server=lambda: with_icons(SERVER),
    server_name=SERVER.name,
    instructions=INSTRUCTIONS,
    descriptor=None,
    bare_initialize=_bare_initialize,
    refused_as_results=frozenset({"scope"}),
    recorded=audit_arguments.redact_arguments,
)
