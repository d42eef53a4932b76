"""Rate limits of the keys of REST APIs, and the refusal of a key."""

import math
import time
from collections.abc import Callable, Mapping

from audit import record
from foundation import ids, limits
from foundation.limits import Bucket, Limit, Verdict
from oauth.credentials import BEARER
from rest.errors import ApiError


def read_bearer(authorization: str) -> str:
    """Returns the secret of an Authorization header, empty if it has no bearer (RFC 6750)."""
    presented = BEARER.fullmatch(authorization.strip(" \t"))
    return presented[1] if presented else ""


def key_bucket(api: str, secret: str, limit: Limit) -> Bucket | None:
    """Returns the bucket that the requests of an API with this key are counted in."""
    return Bucket(f"{api}:{ids.sha256_hex(secret)}", limit) if secret else None


def retry_header(verdict: Verdict) -> Mapping[str, str]:
    return {"Retry-After": str(verdict.retry_after)}


def charge_request(
    address: str,
    of_key: Bucket | None,
    to_headers: Callable[[Verdict], Mapping[str, str]] = retry_header,
) -> None:
    """Charges a request to its address and its key. Raises ApiError with these headers."""
    buckets = [limits.address_bucket(address), *([of_key] if of_key else [])]
    verdict = limits.charge_or_share(buckets, record.limits_unavailable)
    if verdict is not None:
        message = "Too many requests. Try again later."
        raise ApiError(429, message, headers=to_headers(verdict))


def limit_headers(of_key: Bucket | None) -> dict[str, str]:
    """Returns what is left of the limit of a key; empty while the store does not answer."""
    state = limits.reading(of_key) if of_key else None
    if state is None:
        return {}
    return {
        "RateLimit-Limit": str(state.limit),
        "RateLimit-Remaining": str(state.remaining),
        "RateLimit-Reset": str(max(0, state.reset_at - math.ceil(time.time()))),
    }


def reject_key(kind: str, *, address: str, detail: str, realm: str, message: str) -> ApiError:
    """Records that a key was refused; returns the refusal (RFC 9110 section 15.5.2)."""
    record.security_event(kind, address=address, detail=detail)
    return ApiError(401, message, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'})
