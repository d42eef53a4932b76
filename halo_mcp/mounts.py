"""The mounted surfaces, by host and path, and how the surface of a request is found."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.views.decorators.csrf import csrf_exempt

from foundation.concurrency import page_threads
from gateway import surface as gateway
from gateway.policies import PROJECT_SURFACES
from oauth import addresses
from people import hosts
from people.mcp import surface as people
from tools_registry.endpoint import wsgi_view
from tools_registry.endpoint.surface import WORKSPACE_SURFACE, McpSurface
from tools_registry.endpoint.websocket.handshake import Address
from tools_registry.pipeline import surfaces

# By host and path. A host is a lower-case name without port in which `*` matches any characters,
# or empty for every host.
Mounts: TypeAlias = Mapping[tuple[str, str], McpSurface]

# Where the WebSockets of all projects are (docs/gateway.md).
SOCKET_PATHS: Final = frozenset({"/", "/ws"})

# The end of the host of each workspace of the HR endpoint, which has no other surface.
WORKSPACE_HOST: Final[str] = settings.HALO_PEOPLE_HOST

# What the paths of the Agent Application Protocol begin with.
AGENTS: Final = f"{settings.HALO_AGENTS_PATH}/"

SURFACES: Final[Mounts] = {("", "/api/mcp"): WORKSPACE_SURFACE}


def find(mounts: Mounts, host: str, path: str) -> McpSurface | None:
    """Returns the surface at a path for the value of a Host header, or None.

    One that is mounted for the host comes before one that is mounted for every host, and the
    projects of the gateway and the workspaces of the HR endpoint come last.
    """
    if path.endswith("/"):
        path = addresses.strip_slash(path)
    if WORKSPACE_HOST and WORKSPACE_HOST in host.lower() and hosts.is_for_workspaces(host):
        return people.find_by_host(host, path)
    for (pattern, where), surface in mounts.items():
        if where == path and pattern and fnmatchcase(split_domain_port(host)[0], pattern):
            return surface
    everywhere = mounts.get(("", path))
    return everywhere or gateway.find_by_path(path) or people.find_by_path(path)


def agents_subpath(host: str, path: str) -> str | None:
    """Returns what follows the base path of the agents, or None; workspace hosts have none."""
    if not path.startswith(AGENTS) or hosts.is_for_workspaces(host):
        return None
    return path.removeprefix(AGENTS)


def find_for_socket(address: Address) -> McpSurface | None:
    """Returns the surface of a project for the address of a WebSocket, or None."""
    if address.path not in SOCKET_PATHS:
        return None
    surface = surfaces.find(PROJECT_SURFACES.name_of(address.project_id))
    return surface if isinstance(surface, McpSurface) else None


@page_threads.may_wait
@csrf_exempt  # no cookie counts here: a bearer is the only way in
def view(request: HttpRequest, **_from_path: str) -> HttpResponse:
    """The surface of a request behind WSGI. Raises Http404."""
    surface = find(SURFACES, request.headers.get("Host", ""), request.path_info)
    if surface is None:
        raise Http404
    return wsgi_view.mcp(request, surface)
