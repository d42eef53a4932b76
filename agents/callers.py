"""Who calls: the API key of a request, and its limits."""

from typing import Final

from django.conf import settings

from agents.protocol.replies import AgentApiError
from audit import record
from foundation import ids, limits
from foundation.limits import Bucket
from oauth import credentials, server_keys
from oauth.principal import KeyKind, Principal, Unauthenticated
from tools_registry import registry
from tools_registry.pipeline.invocation import Surface

NAME: Final = "agents"
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="agents"'}
PREFIX: Final = server_keys.PREFIXES[KeyKind.AGENTS]

# The tools of agents: those of the workspace server, with the same layers of the gate.
SURFACE: Final = Surface(
    name=NAME,
    credentials={PREFIX: server_keys.verifier(KeyKind.AGENTS, None)},
    catalogue=registry.WORKSPACE_CATALOGUE,
)


def charge(authorization: str, address: str) -> None:
    """Charges a request to its address and its key. Raises AgentApiError."""
    buckets = [limits.address_bucket(address)]
    if secret := _secret(authorization):
        key = f"agents:{ids.sha256_hex(secret)}"
        buckets.append(Bucket(key, settings.HALO_RATE_AGENTS))
    verdict = limits.charge_or_share(buckets, record.limits_unavailable)
    if verdict is not None:
        headers = {"Retry-After": str(verdict.retry_after)}
        raise AgentApiError(429, "Too many requests. Try again later.", headers)


def authenticate(authorization: str, address: str) -> Principal:
    """Returns the principal of the key.

    Raises AgentApiError: unknown and expired keys look alike.
    """
    try:
        return credentials.authenticate(authorization or None, SURFACE.credentials)
    except Unauthenticated:
        detail = "unknown key" if authorization else "no key"
        record.security_event("api_key_rejected", address=address, detail=detail)
        message = "Send a valid API key for agents as bearer."
        raise AgentApiError(401, message, CHALLENGE) from None


def _secret(authorization: str) -> str:
    presented = credentials.BEARER.fullmatch(authorization.strip(" \t"))
    return presented[1] if presented else ""
