"""The discovery documents (RFC 8414, RFC 9728) and the list of scopes: public, cached.

Clients request every scope that a discovery document advertises. So these advertise the scopes that
read (MCP 2025-11-25, basic/authorization, Scope Selection Strategy), and all are in a list of our
own.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse

from oauth import addresses, scopes
from oauth.clients.cimd import announcing
from oauth.clients.client_metadata import ALGORITHMS
from oauth.consent import grantable
from oauth.endpoints import replies
from oauth.endpoints.token_endpoint import GRANT_TYPES
from oauth.models import AuthMethod
from oauth.scopes import ADVERTISED, Scope

SCOPES_PATH: Final = "/api/mcp/oauth/scopes"
CACHED: Final = {"Cache-Control": "public, max-age=300"}


@replies.accepts("GET", "HEAD")
def authorization_server(_request: HttpRequest, /, **_from_path: str) -> HttpResponse:
    """Returns the metadata of the server, the same wherever a client looks for it."""
    return JsonResponse(authorization_server_document(), headers=CACHED)


@replies.accepts("GET", "HEAD")
def protected_resource(request: HttpRequest) -> HttpResponse:
    document = protected_resource_document(addresses.resource_as_reached(request.get_host()))
    return JsonResponse(document, headers={**CACHED, "Vary": "Host"})


@replies.accepts("GET", "HEAD")
def project_resource(request: HttpRequest, project_id: str) -> HttpResponse:
    """Returns the metadata of a project's resource, at its address and at its alias.

    Equal for projects that exist and those that do not: the document is public.
    """
    path = request.path_info.replace(addresses.WELL_KNOWN, "")
    resource = addresses.resource_as_reached(request.get_host(), path)
    document = protected_resource_document(
        resource, [str(scopes.for_project(project_id))], "Airlock"
    )
    return JsonResponse(document, headers={**CACHED, "Vary": "Host"})


@replies.accepts("GET", "HEAD")
def all_scopes(_request: HttpRequest) -> HttpResponse:
    """Returns every scope of this server that a client may request, but those of projects."""
    document = {
        "scopes": [_scope_entry(scope) for scope in grantable.everything()],
        "documentation": addresses.url("/docs/scopes"),
    }
    return JsonResponse(document, headers=CACHED)


def _scope_entry(scope: Scope) -> dict[str, Any]:
    words = scopes.describe(scope)
    return {
        "scope": str(scope),
        "title": words.title,
        "description": words.sentence,
        "may_change": scope.may_change,
        "advertised": scope in ADVERTISED.members,
    }


def authorization_server_document() -> dict[str, Any]:
    """Returns the metadata of RFC 8414 section 2, limited to what this server supports."""
    return {
        "issuer": addresses.issuer(),
        "authorization_endpoint": addresses.url("/api/mcp/oauth/authorize"),
        "token_endpoint": addresses.url("/api/mcp/oauth/token"),
        "registration_endpoint": addresses.url("/api/mcp/oauth/register"),
        "revocation_endpoint": addresses.url("/api/mcp/oauth/revoke"),
        # RFC 8414 section 2: a server may choose not to advertise some of its scopes.
        "scopes_supported": [str(scope) for scope in ADVERTISED],
        "scopes_uri": addresses.url(SCOPES_PATH),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        # MCP extension io.modelcontextprotocol/oauth-client-credentials: clients read from these
        # whether they may use client credentials, and with which keys.
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": list(AuthMethod.values),
        "token_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "revocation_endpoint_auth_methods_supported": list(AuthMethod.values),
        "revocation_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": announcing.is_announced(),
        # RFC 9207: every authorization response, error or not, names the issuer.
        "authorization_response_iss_parameter_supported": True,
        "service_documentation": addresses.url("/docs/"),
    }


def protected_resource_document(
    resource: str, supported: Sequence[str] = tuple(map(str, ADVERTISED)), name: str = "Halo MCP"
) -> dict[str, Any]:
    """Returns the metadata of RFC 9728 section 2; by default that of the workspace."""
    return {
        "resource": resource,
        "authorization_servers": [addresses.issuer()],
        "scopes_supported": list(supported),
        "bearer_methods_supported": ["header"],
        "resource_name": name,
        "resource_documentation": addresses.url("/docs/"),
    }


def not_found(_request: HttpRequest, _rest: str = "") -> HttpResponse:
    """Returns a JSON 404 for everything else under /.well-known/, because SDKs parse the body."""
    return JsonResponse({"error": "not_found"}, status=404)
