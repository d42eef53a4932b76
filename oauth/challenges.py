"""WWW-Authenticate challenges of the MCP endpoint (RFC 6750 section 3, RFC 9728 section 5.1)."""

from django.conf import settings

from oauth import addresses


def unauthorized(error: str | None = None, *, host: str) -> str:
    """The 401 challenge: where to learn how to sign in, and a narrow scope to ask for.

    `host` is the one the request came to: SDKs compare the resource with the URL they were given.
    """
    return _challenge(error=error, scope=settings.HALO_DEFAULT_SCOPE, host=host)


def insufficient_scope(scope: str, *, host: str) -> str:
    """The 403 challenge: all scopes that the operation needs."""
    return _challenge(error="insufficient_scope", scope=scope, host=host)


def _challenge(*, error: str | None, scope: str, host: str) -> str:
    members = {
        "realm": "halo-mcp",
        "resource_metadata": addresses.metadata_as_reached(host),
        "as_uri": addresses.url("/.well-known/oauth-authorization-server"),
        "scope": scope,
        **({"error": error} if error else {}),
    }
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in members.items())
