"""Who calls: the API key of a request, and its limits."""

from typing import Final

from django.conf import settings

from oauth import credentials, server_keys
from oauth.principal import KeyKind, Principal, Unauthenticated
from rest.key_limits import charge_request, key_bucket, read_bearer, reject_key
from tools_registry import registry
from tools_registry.pipeline.invocation import Surface

NAME: Final = "agents"
PREFIX: Final = server_keys.PREFIXES[KeyKind.AGENTS]

# The tools of agents: those of the workspace server, with the same layers of the gate.
SURFACE: Final = Surface(
    name=NAME,
    credentials={PREFIX: server_keys.verifier(KeyKind.AGENTS, None)},
    catalogue=registry.WORKSPACE_CATALOGUE,
)


def charge(authorization: str, address: str) -> None:
    """Charges a request to its address and its key. Raises ApiError."""
    secret = read_bearer(authorization)
    charge_request(address, key_bucket(NAME, secret, settings.HALO_RATE_AGENTS))


def authenticate(authorization: str, address: str) -> Principal:
    """Returns the principal of the key.

    Raises ApiError: unknown and expired keys look alike.
    """
    try:
        return credentials.authenticate(authorization or None, SURFACE.credentials)
    except Unauthenticated:
        raise reject_key(
            "api_key_rejected",
            address=address,
            detail="unknown key" if authorization else "no key",
            realm=NAME,
            message="Send a valid API key for agents as bearer.",
        ) from None


def is_valid(who: Principal) -> bool:
    """Returns whether the key of a principal is still valid."""
    try:
        credentials.recheck(who.credential, who.token_id, SURFACE.credentials)
    except Unauthenticated:
        return False
    return True
