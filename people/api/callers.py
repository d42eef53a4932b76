"""Who calls the HR API: the key of the request, and the organization whose records it sees."""

import re
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest

from audit import record
from foundation import ids, limits
from foundation.limits import Bucket
from oauth import server_keys
from oauth.principal import KeyKind, Unauthenticated
from oauth.server_keys import KeyPrincipal
from people import sandboxes
from people.api.errors import HrApiError, rate_limited

BEARER: Final = re.compile(r"bearer +(\S+)", re.IGNORECASE)
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="hr-api"'}


@dataclass(frozen=True, slots=True)
class ApiCaller:
    """The key of a request; `records_of` is the organization or its sandbox."""

    key: KeyPrincipal
    records_of: UUID


def secret_of(request: HttpRequest) -> str:
    """Returns the bearer of a request, empty if it has none."""
    presented = BEARER.fullmatch(request.headers.get("Authorization", "").strip(" \t"))
    return presented[1] if presented else ""


def bucket_of(secret: str) -> Bucket:
    """Returns the bucket that requests with this key are counted in."""
    return Bucket(f"hr:{ids.sha256_hex(secret)}", settings.HALO_RATE_HR_API)


def charge(secret: str, address: str) -> None:
    """Charges a request to its address and its key. Raises HrApiError."""
    buckets = [limits.address_bucket(address)]
    if secret:
        buckets.append(bucket_of(secret))
    verdict = limits.charge_or_share(buckets, record.limits_unavailable)
    if verdict is not None:
        raise rate_limited(verdict)


def authenticate(secret: str, workspace: str, address: str) -> ApiCaller:
    """Returns the caller of a key at the address of a workspace. Raises HrApiError.

    A key of another organization is refused as an unknown one.
    """
    try:
        key = server_keys.authenticate(secret, server_keys.HR_KINDS)
    except Unauthenticated:
        key = None
    if key is None or key.workspace != workspace:
        record.security_event(
            "api_key_rejected", address=address, detail="unknown key" if secret else "no key"
        )
        raise unknown()
    return ApiCaller(key, records_of(key))


def records_of(key: KeyPrincipal) -> UUID:
    """Returns the organization whose records a key sees: its own, or the sandbox of it."""
    is_test = key.kind == KeyKind.TEST
    return sandboxes.get_or_create(key.organization_id) if is_test else key.organization_id


def unknown() -> HrApiError:
    message = "Send a valid API key of this workspace as bearer."
    return HrApiError("authentication_required", message, headers=CHALLENGE)
