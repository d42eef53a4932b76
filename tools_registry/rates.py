"""How often a caller may ask: per chain and method, and per address.

Counted per chain, so that a refreshed token starts no new budget.
"""

from collections.abc import Mapping
from typing import Final

import structlog
from django.conf import settings

from foundation import limits, peer
from foundation.limits import Bucket, LimitStoreDown, Verdict
from mcp_protocol import failures, methods
from mcp_protocol.errors import INTERNAL_ERROR, ProtocolError
from mcp_protocol.methods import RateBucket
from mcp_protocol.revisions import Revision
from oauth.principal import Principal

log = structlog.get_logger(__name__)

RATES: Final[Mapping[RateBucket, str]] = {
    "tools_list": "HALO_RATE_TOOLS_LIST",
    "tools_call": "HALO_RATE_TOOLS_CALL",
    "other": "HALO_RATE_OTHER",
}


def of_address(address: str) -> Bucket:
    return Bucket(f"ip:{peer.rate_key(address)}", settings.HALO_RATE_IP)


def of_chain(principal: Principal, method: str) -> Bucket:
    """The bucket of a method; a message without a method, or with an unknown one, has one too."""
    name = methods.rate_bucket(method)
    return Bucket(f"{name}:{principal.authorization_id}", getattr(settings, RATES[name]))


def spend(principal: Principal, method: str, address: str) -> Verdict | None:
    """Charge one message to its chain and its address; returns the verdict that refuses it.

    Raises ProtocolError (503) when the store of the counters does not answer.
    """
    chain, origin = of_chain(principal, method), of_address(address)
    verdict = _charged(chain, origin)
    if verdict.allowed:
        return None
    if verdict.bucket == chain:
        # Every refusal is recorded, and a refused charge counts nowhere: without this a spent
        # token could write audit rows as fast as it can ask.
        _charged(origin)
    return verdict


def refusal(verdict: Verdict, revision: Revision) -> ProtocolError:
    """The 429, with Retry-After and X-RateLimit-* (transport document, Rate limits)."""
    return failures.refusal(
        "rate_limited",
        "rate_limit",
        "Too many requests. Try again later.",
        revision,
        http_status=429,
        headers=verdict.headers().items(),
    )


def _charged(*buckets: Bucket) -> Verdict:
    try:
        return limits.charge(buckets)
    except LimitStoreDown as down:
        log.error("limit_store_down")  # noqa: TRY400  the traceback names the store's address
        raise ProtocolError(
            INTERNAL_ERROR,
            "Rate limits cannot be checked right now. Try again soon.",
            data={"reason": "limits_unavailable", "layer": "limit_store"},
            http_status=503,
            headers=[("Retry-After", "1")],
        ) from down
