"""The MCP surface of a project: one for each, made from the project's id alone.

Whether the project exists is not looked up to make its surface, so that a caller without a valid
token gets the same response for any id. A valid token names its project.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final

from approvals import masked_arguments
from approvals.call_tasks import ApprovalTasks
from gateway import source
from gateway.policies import PROJECT_SURFACES
from gateway.review import describe_task, review
from gateway.source import ProjectSource
from mcp_protocol import errors
from mcp_protocol.capabilities import TOOLS_AND_TASKS, ServerInfo, capabilities
from mcp_protocol.revisions import Revision
from mcp_protocol.strict_json import JsonObject
from oauth import addresses, credentials, mcp_tokens, principal, scopes
from oauth.endpoints.challenges import ResourceChallenges
from tools_registry.endpoint.surface import McpSurface
from tools_registry.icons import with_icons
from tools_registry.pipeline import gate
from tools_registry.registry import Catalogue

PROJECT_ID: Final = re.compile(scopes.PROJECT_ID)
# Ids are taken from paths of strangers too, and a surface takes about two kilobytes.
MAX_CACHED: Final = 1_024

SERVER: Final = ServerInfo(
    name="airlock",
    title="Airlock",
    description="The operations of one API as tools, within the policy of its organization.",
    offers=TOOLS_AND_TASKS,
)


def find_for_project(project_id: str) -> McpSurface | None:
    """Returns the surface of a project; None for an id that no project can have."""
    return get_for_project(project_id) if PROJECT_ID.fullmatch(project_id) else None


def find_by_path(path: str) -> McpSurface | None:
    """Returns the surface at a path: a project's own, or its alias under /api/mcp."""
    match = addresses.PROJECT_PATH.fullmatch(path)
    if match is None:
        return None
    project_id = match[1][1:]
    return get_for_project(project_id) if path == match[1] else get_for_alias(project_id)


@lru_cache(maxsize=MAX_CACHED)
def get_for_project(project_id: str) -> McpSurface:
    """Returns the surface of a project; the same object each time."""
    path, name = f"/{project_id}", PROJECT_SURFACES.name_of(project_id)
    project = ProjectSource(project_id)
    sources = (project,)
    return McpSurface(
        name=name,
        credentials={
            principal.ACCESS_TOKEN: credentials.access_tokens(path),
            mcp_tokens.PREFIX: mcp_tokens.verifier(path),
        },
        catalogue=Catalogue(lambda: sources),
        layers={
            "flag": gate.DEFAULT_LAYERS["flag"],
            source.LAYER: source.availability,
            "scope": gate.DEFAULT_LAYERS["scope"],
        },
        approvable=frozenset(),
        limits={
            "tools_list": "HALO_RATE_GATEWAY_LIST",
            "tools_call": "HALO_RATE_GATEWAY_CALL",
            "other": "HALO_RATE_GATEWAY_OTHER",
        },
        codes=errors.AIRLOCK,
        challenges=_challenges(project_id, path),
        server=lambda: with_icons(SERVER),
        server_name=SERVER.name,
        instructions="",
        descriptor=None,
        bare_initialize=_bare_initialize,
        review=review,
        recorded=masked_arguments.mask_for_audit,
        tasks=ApprovalTasks(name, describe_task, project.list_waiting_tools),
    )


@lru_cache(maxsize=MAX_CACHED)
def get_for_alias(project_id: str) -> McpSurface:
    """Returns the same surface with the challenges of the alias.

    Clients compare the resource in the metadata with the URL they were given (RFC 9728 section
    3.3). Tokens are those of the project's own address.
    """
    path = f"{addresses.MCP_PATH}/{project_id}"
    return replace(get_for_project(project_id), challenges=_challenges(project_id, path))


def _challenges(project_id: str, path: str) -> ResourceChallenges:
    return ResourceChallenges(path, str(scopes.for_project(project_id)))


def _bare_initialize() -> JsonObject:
    revision = Revision.V2024_11_05
    return {
        "protocolVersion": revision.value,
        "capabilities": capabilities(SERVER, revision),
        "serverInfo": {"name": SERVER.name, "version": SERVER.version},
    }
