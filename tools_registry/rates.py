"""How often a caller may ask: per chain and method, per organization and action, per address.

Counted per chain, so that a refreshed token starts no new budget. When the store of the counters
does not answer, this process allows its part of each limit (`foundation/limits/shares.py`).
"""

from collections.abc import Iterable, Mapping
from time import time
from typing import Final

from django.conf import settings

from audit import record
from foundation import ids, limits, peer
from foundation.limits import Bucket, Verdict
from mcp_protocol import methods
from mcp_protocol.errors import ProtocolError, forbidden_code
from mcp_protocol.methods import RateBucket
from mcp_protocol.revisions import Revision
from oauth.principal import Principal
from workspace import caps

RATES: Final[Mapping[RateBucket, str]] = {
    "tools_list": "HALO_RATE_TOOLS_LIST",
    "tools_call": "HALO_RATE_TOOLS_CALL",
    "other": "HALO_RATE_OTHER",
}
# What the record calls the limit that refused, by the beginning of its bucket's key.
ADDRESS: Final = "ip"
ORGANIZATION: Final = "organization"
ACTION: Final = "action"
CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(RATES, "token"),
    **{kind: kind for kind in (ADDRESS, ORGANIZATION, ACTION)},
}


class RateLimited(ProtocolError):
    """A 429; `limit` is what the record calls the limit that refused."""

    def __init__(
        self,
        limit: str,
        revision: Revision,
        headers: Iterable[tuple[str, str]],
        message: str = "Too many requests. Try again later.",
    ) -> None:
        super().__init__(
            forbidden_code(revision),
            message,
            data={"reason": "rate_limited", "layer": "rate_limit"},
            http_status=429,
            headers=headers,
        )
        self.limit = limit


def of_address(address: str) -> Bucket:
    return Bucket(f"{ADDRESS}:{peer.rate_key(address)}", settings.HALO_RATE_IP)


def of_chain(principal: Principal, method: str) -> Bucket:
    """The bucket of a method; a message without a method, or with an unknown one, has one too."""
    name = methods.rate_bucket(method)
    return Bucket(f"{name}:{ids.text(principal.authorization_id)}", getattr(settings, RATES[name]))


def of_organization(principal: Principal, method: str) -> list[Bucket]:
    """The bucket that all connections of an organization share, if it has a cap on calls."""
    if principal.calls_per_minute is None or methods.rate_bucket(method) != "tools_call":
        return []
    most = caps.limit(principal.calls_per_minute)
    return [Bucket(f"{ORGANIZATION}:{principal.organization_id}", most)]


def spend_action(
    principal: Principal, integration: str, action: str, calls_per_minute: int
) -> Verdict | None:
    """Charge a call to its action's cap; returns the verdict that refuses it."""
    key = f"{ACTION}:{principal.organization_id}:{integration}.{action}"
    return _charged(Bucket(key, caps.limit(calls_per_minute)))


def spend(principal: Principal, method: str, address: str) -> Verdict | None:
    """Charge one message to all that it counts for; returns the verdict that refuses it."""
    origin = of_address(address)
    callers = [of_chain(principal, method), *of_organization(principal, method)]
    verdict = _charged(*callers, origin)
    if verdict is not None and verdict.bucket.key != origin.key:
        # Every refusal is recorded, and a refused charge counts nowhere: without this a spent
        # token could write audit rows as fast as it can ask.
        _charged(origin)
    return verdict


def spend_address(address: str) -> Verdict | None:
    """Charge a stranger's request to its address; returns the verdict that refuses it."""
    return _charged(of_address(address))


def known_refusal(address: str) -> Verdict | None:
    """The refusal that this process knows an address to meet, without asking anybody."""
    if not limits.refusals_are_known():
        return None
    bucket = of_address(address)
    return limits.still_refused(bucket) or limits.still_refused_a_part(bucket)


def refusal(verdict: Verdict, revision: Revision) -> RateLimited:
    """The 429, with Retry-After and X-RateLimit-* (transport document, Rate limits)."""
    limit = CALLED[verdict.bucket.key.partition(":")[0]]
    return RateLimited(limit, revision, verdict.headers().items())


def crowded(message: str, *, most: int, wait: int, revision: Revision) -> RateLimited:
    """The 429 of a caller that has all the places it may have; `wait` in seconds."""
    headers = {
        "X-RateLimit-Limit": str(most),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(time()) + wait),
        "Retry-After": str(wait),
    }
    return RateLimited("streams", revision, headers.items(), message)


def _charged(*buckets: Bucket) -> Verdict | None:
    return limits.charge_or_share(buckets, _tell_of_an_outage)


def _tell_of_an_outage() -> None:
    record.security_event("limits_unavailable", address=peer.UNKNOWN)
