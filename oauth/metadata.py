"""The discovery documents (RFC 8414, RFC 9728): public, cached for five minutes."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from oauth import addresses, replies
from oauth.models import AuthMethod
from oauth.scopes import SUPPORTED

CACHED = {"Cache-Control": "public, max-age=300"}


@replies.accepts("GET", "HEAD")
def authorization_server(_request: HttpRequest) -> HttpResponse:
    return JsonResponse(authorization_server_document(), headers=CACHED)


@replies.accepts("GET", "HEAD")
def protected_resource(request: HttpRequest) -> HttpResponse:
    document = protected_resource_document(addresses.resource_as_reached(request.get_host()))
    return JsonResponse(document, headers={**CACHED, "Vary": "Host"})


def authorization_server_document() -> dict[str, Any]:
    """The metadata of RFC 8414 section 2, and nothing that is not served."""
    return {
        "issuer": addresses.issuer(),
        "authorization_endpoint": addresses.url("/api/mcp/oauth/authorize"),
        "token_endpoint": addresses.url("/api/mcp/oauth/token"),
        "registration_endpoint": addresses.url("/api/mcp/oauth/register"),
        "revocation_endpoint": addresses.url("/api/mcp/oauth/revoke"),
        "scopes_supported": [str(scope) for scope in SUPPORTED],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": list(AuthMethod.values),
        "revocation_endpoint_auth_methods_supported": list(AuthMethod.values),
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": settings.HALO_CIMD,
        # RFC 9207: every authorization response, error or not, names the issuer.
        "authorization_response_iss_parameter_supported": True,
        "service_documentation": addresses.url("/docs/"),
    }


def protected_resource_document(resource: str) -> dict[str, Any]:
    """The metadata of RFC 9728 section 2."""
    return {
        "resource": resource,
        "authorization_servers": [addresses.issuer()],
        "scopes_supported": [str(scope) for scope in SUPPORTED],
        "bearer_methods_supported": ["header"],
        "resource_name": "Halo MCP",
        "resource_documentation": addresses.url("/docs/"),
    }


def not_found(_request: HttpRequest, _rest: str = "") -> HttpResponse:
    """Everything else under /.well-known/: SDKs parse what they get, so never a page with 200."""
    return JsonResponse({"error": "not_found"}, status=404)
