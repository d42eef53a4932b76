"""WWW-Authenticate challenges of MCP endpoints (RFC 6750 section 3, RFC 9728 section 5.1)."""

from dataclasses import dataclass

from django.conf import settings

from oauth import addresses


def unauthorized_challenge(error: str | None = None, *, host: str) -> str:
    """Returns the 401 challenge: the URL of the metadata, and a narrow scope to request.

    `host` is the one the request came to: SDKs compare the resource with the URL they were given.
    """
    return _challenge(error=error, scope=settings.HALO_DEFAULT_SCOPE, host=host)


def insufficient_scope(scope: str, *, host: str) -> str:
    """Returns the 403 challenge, with all scopes that the operation needs."""
    return _challenge(error="insufficient_scope", scope=scope, host=host)


@dataclass(frozen=True, slots=True)
class ResourceChallenges:
    """The challenges of another resource than the workspace's, by its path and default scope."""

    path: str
    scope: str

    def unauthorized_challenge(self, error: str | None = None, *, host: str) -> str:
        return _challenge(error=error, scope=self.scope, host=host, path=self.path)

    def insufficient_scope(self, scope: str, *, host: str) -> str:
        return _challenge(error="insufficient_scope", scope=scope, host=host, path=self.path)


def _challenge(*, error: str | None, scope: str, host: str, path: str = addresses.MCP_PATH) -> str:
    members = {
        "realm": "halo-mcp",
        "resource_metadata": addresses.metadata_as_reached(host, path),
        "as_uri": addresses.url("/.well-known/oauth-authorization-server"),
        "scope": scope,
        **({"error": error} if error else {}),
    }
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in members.items())
