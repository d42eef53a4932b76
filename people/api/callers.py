"""Who calls the HR API: the key of the request, and the organization whose records it sees."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from foundation.limits import Bucket
from oauth import server_keys
from oauth.principal import KeyKind, Unauthenticated
from oauth.server_keys import KeyPrincipal
from people import sandboxes
from rest.key_limits import key_bucket, reject_key


@dataclass(frozen=True, slots=True)
class ApiCaller:
    """The key of a request; `records_of` is the organization or its sandbox."""

    key: KeyPrincipal
    records_of: UUID


def bucket_of(secret: str) -> Bucket | None:
    """Returns the bucket that requests with this key are counted in."""
    return key_bucket("hr", secret, settings.HALO_RATE_HR_API)


def authenticate(secret: str, workspace: str, address: str) -> ApiCaller:
    """Returns the caller of a key at the address of a workspace. Raises ApiError.

    A key of another organization is refused as an unknown one.
    """
    try:
        key = server_keys.authenticate(secret, server_keys.HR_KINDS)
    except Unauthenticated:
        key = None
    if key is None or key.workspace != workspace:
        raise reject_key(
            "api_key_rejected",
            address=address,
            detail="unknown key" if secret else "no key",
            realm="hr-api",
            message="Send a valid API key of this organization as bearer.",
        )
    return ApiCaller(key, records_of(key))


def records_of(key: KeyPrincipal) -> UUID:
    """Returns the organization whose records a key sees: its own, or the sandbox of it."""
    is_test = key.kind == KeyKind.TEST
    return sandboxes.get_or_create(key.organization_id) if is_test else key.organization_id
