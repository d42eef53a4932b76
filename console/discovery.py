"""Public documents by which programs find the MCP endpoints: server cards, and a catalog of them.

All are made from settings and the address alone, so those of projects and workspaces are the same
whether these exist or not.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from gateway import surface as gateway
from mcp_protocol import server_card
from mcp_protocol.capabilities import ServerInfo
from mcp_protocol.server_card import CARD_SUFFIX, CARD_TYPE, CATALOG_TYPE
from oauth import addresses
from oauth.endpoints import metadata, replies
from people import hosts
from people.mcp import surface as people
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.icons import with_icons

PATHS: Final = ("ai-catalog.json", "mcp/catalog.json")
REGISTRY_PROOF: Final = "mcp-registry-auth"
CACHED: Final = {"Cache-Control": "public, max-age=3600", "Vary": "Host"}
# What a client of a workspace has to send (docs/hr-endpoint.md).
KEY_HEADER: Final[Mapping[str, Any]] = {
    "name": "Authorization",
    "description": "Bearer and an API key, which an admin creates: Bearer hhr_live_...",
    "placeholder": "Bearer hhr_live_...",
    "isRequired": True,
    "isSecret": True,
}


@replies.accepts("GET", "HEAD")
def workspace_card(request: HttpRequest) -> HttpResponse:
    url = addresses.resource_as_reached(request.get_host())
    return _card(request, WORKSPACE_SURFACE.server(), url)


@replies.accepts("GET", "HEAD")
def project_card(request: HttpRequest, project_id: str) -> HttpResponse:
    path = request.path_info.removesuffix(CARD_SUFFIX)
    url = addresses.resource_as_reached(request.get_host(), path)
    return _card(request, with_icons(gateway.SERVER), url, part=project_id)


@replies.accepts("GET", "HEAD")
def hr_card(request: HttpRequest, workspace: str) -> HttpResponse:
    url = hosts.resource(request.get_host(), workspace)
    return _card(request, with_icons(people.SERVER), url, part=workspace, headers=(KEY_HEADER,))


@replies.accepts("GET", "HEAD")
def catalog(request: HttpRequest) -> HttpResponse:
    """Lists the workspace server; projects and workspaces of organizations are not public."""
    url = addresses.resource_as_reached(request.get_host()) + CARD_SUFFIX
    listed = {WORKSPACE_SURFACE.server().name: url}
    return _document(request, server_card.catalog(_host(), listed), CATALOG_TYPE)


@replies.accepts("GET", "HEAD")
def registry_proof(request: HttpRequest) -> HttpResponse:
    """Returns the text of HALO_MCP_REGISTRY_PROOF, by which the MCP Registry verifies the domain.

    Source: registry.modelcontextprotocol.io, HTTP authentication.
    """
    if not settings.HALO_MCP_REGISTRY_PROOF:
        return metadata.not_found(request)
    return HttpResponse(
        f"{settings.HALO_MCP_REGISTRY_PROOF}\n", content_type="text/plain; charset=utf-8"
    )


def _card(request: HttpRequest, server: ServerInfo, url: str, **details: Any) -> HttpResponse:
    return _document(request, server_card.card(server, _host(), url, **details), CARD_TYPE)


def _document(request: HttpRequest, document: Mapping[str, Any], kind: str) -> HttpResponse:
    body = json.dumps(document, indent=2).encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    response = HttpResponse(body, content_type=kind, headers={**CACHED, "ETag": etag})
    return get_conditional_response(request, etag=etag, response=response) or response


def _host() -> str:
    return str(settings.PUBLIC_HOST).strip("[]")
