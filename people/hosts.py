"""The host of a workspace, such as `acme.localhost`, where its HR addresses have short paths.

They are the addresses below `/w/{workspace}` of every host, which is what resolves them.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port

from oauth import addresses
from oauth.addresses import MCP_PATH, WELL_KNOWN

SLUG: Final = r"[-a-zA-Z0-9_]{1,63}"
NAME: Final = re.compile(SLUG)
PATH: Final = re.compile(
    r"/api/mcp/?|/api/mcp/(?:\.well-known/.+|server-card/?)|/api/v1/.*|/auth\.md"
)


def workspace_of(host: str) -> str | None:
    """Returns the workspace that a Host header names, or None. It need not exist."""
    if not is_for_workspaces(host):
        return None
    found = split_domain_port(host)[0].removesuffix(settings.HALO_PEOPLE_HOST)
    return found if NAME.fullmatch(found) else None


def is_for_workspaces(host: str) -> bool:
    """Returns whether a Host header names a host that only a workspace can have."""
    name, suffix = split_domain_port(host)[0], settings.HALO_PEOPLE_HOST
    return bool(suffix) and name.endswith(suffix) and name != settings.PUBLIC_HOST


def resource(host: str, workspace: str) -> str:
    """Returns the address of the MCP endpoint of a workspace, in the form that was requested."""
    if workspace_of(host) == workspace:
        return f"{_origin(host)}{MCP_PATH}"
    return addresses.resource_as_reached(host, path_of(workspace))


def metadata(host: str, workspace: str) -> str:
    """Returns the address of the endpoint's metadata (RFC 9728 3.1), in the form requested."""
    if workspace_of(host) == workspace:
        return f"{_origin(host)}{WELL_KNOWN}{MCP_PATH}"
    return addresses.metadata_as_reached(host, path_of(workspace))


def path_of(workspace: str) -> str:
    """Returns the path of the MCP endpoint of a workspace on every host."""
    return f"/w/{workspace}{MCP_PATH}"


def path_on_every_host(workspace: str, path: str) -> str | None:
    """Returns where a path of a workspace's host is on every host; None if it is nowhere."""
    if path in {WELL_KNOWN, f"{WELL_KNOWN}{MCP_PATH}"}:
        return f"{WELL_KNOWN}{path_of(workspace)}"
    return f"/w/{workspace}{path}" if PATH.fullmatch(path) else None


class WorkspaceHosts:
    """Middleware: resolves requests to the host of a workspace, which has no other pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        host = request.headers.get("Host", "")
        if is_for_workspaces(host):
            workspace = workspace_of(host)
            path = path_on_every_host(workspace, request.path_info) if workspace else None
            if path is None:
                raise Http404
            request.path = request.path_info = path
        return self.get_response(request)


def _origin(host: str) -> str:
    return f"{urlsplit(addresses.issuer()).scheme}://{host}"
