"""Rate limits: per authorization, person and group of methods, organization, action and address.

Counted per authorization, so that a refreshed token starts no new budget, and per person, so that
another token gives little more. When the store of the
counters does not answer, this process allows its part of each limit
(`foundation/limits/charging.py`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from time import time
from typing import Final, get_args

from django.conf import settings

from audit import record
from foundation import ids, limits
from foundation.limits import Bucket, Limit, Verdict
from foundation.limits.window import MAX_COUNT
from mcp_protocol import methods
from mcp_protocol.errors import ErrorCodes, ProtocolError
from mcp_protocol.methods import RateBucket
from mcp_protocol.revisions import Revision
from oauth.principal import Principal
from tools_registry.endpoint import caller_slots
from tools_registry.endpoint.surface import McpSurface
from tools_registry.pipeline import calls
from workspace import caps

# What the record calls the limit that refused, by the beginning of its bucket's key.
PERSON: Final = "person"
ORGANIZATION: Final = "organization"
CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(get_args(RateBucket), "token"),
    **{kind: kind for kind in (limits.ADDRESS, PERSON, ORGANIZATION, calls.ACTION_CAP)},
}


# What clients send around a call if each has a session of its own, and how many of its group come
# with one call at most: they are counted as a part of the call (see `_spend_around_calls`).
AROUND_A_CALL: Final[Mapping[str, int]] = {
    "tools/list": 2,
    "initialize": 3,
    "notifications/initialized": 3,
    "server/discover": 3,
}
AROUND: Final = "around"


class RateLimitError(ProtocolError):
    """A 429; `limit` is what the record calls the limit that refused."""

    def __init__(
        self,
        limit: str,
        revision: Revision,
        codes: ErrorCodes,
        headers: Iterable[tuple[str, str]],
        message: str = "Too many requests. Try again later.",
    ) -> None:
        super().__init__(
            codes.forbidden[revision],
            message,
            data={"reason": "rate_limited", "layer": "rate_limit"},
            http_status=429,
            headers=headers,
        )
        self.limit = limit


def buckets(
    principal: Principal, surface: McpSurface, method: str, address: str
) -> Sequence[Bucket]:
    """What a message is charged to; the bucket of its address is the last.

    Before it: the buckets of the token family and of its person for the group of the method (a
    message without a method, or with an unknown one, has them too), and what all connections of the
    organization share, if it has a cap on calls.
    """
    group = methods.RATE_BUCKETS.get(method, methods.OTHER)
    own = _connection_bucket(principal, surface, group)
    charged = [own]
    if principal.user_id:
        charged.append(Bucket(f"{PERSON}:{group}:{principal.party}", _person_limit(own.limit)))
    if group == "tools_call":
        charged += organization_buckets(principal)
    return [*charged, limits.address_bucket(address)]


def _connection_bucket(principal: Principal, surface: McpSurface, group: RateBucket) -> Bucket:
    key = f"{group}:{ids.text(principal.authorization_id)}"
    return Bucket(key, getattr(settings, surface.limits[group]))


@lru_cache(maxsize=64)
def _person_limit(limit: Limit) -> Limit:
    """What all connections of a person share, of the limit of one."""
    return Limit(min(limit.count * caller_slots.OF_PERSON, MAX_COUNT), limit.seconds)


def organization_buckets(principal: Principal) -> Sequence[Bucket]:
    """What all calls in the organization share; nothing if it has no cap."""
    if principal.calls_per_minute is None:
        return ()
    cap = caps.limit(principal.calls_per_minute)
    return (Bucket(f"{ORGANIZATION}:{principal.organization_id}", cap),)


def spend(principal: Principal, surface: McpSurface, method: str, address: str) -> Verdict | None:
    """Charge one message to all that it counts for; returns the verdict that refuses it."""
    charged = buckets(principal, surface, method, address)
    origin = charged[-1]
    verdict = limits.charge_or_share(charged, record.limits_unavailable)
    if verdict is not None and method in AROUND_A_CALL:
        verdict = _spend_around_calls(principal, surface, method, verdict, origin)
    if verdict is not None and verdict.bucket.key != origin.key:
        # Every refusal is recorded, and a refused charge counts nowhere: without this a spent
        # token could write audit rows as fast as it can ask.
        limits.charge_or_share([origin], record.limits_unavailable)
    return verdict


def _spend_around_calls(
    principal: Principal, surface: McpSurface, method: str, refused: Verdict, origin: Bucket
) -> Verdict | None:
    """Charge a message that belongs to calls and whose group has no room.

    Some clients open a session for each call, so that they would reach the limits of other groups
    long before that of calls. Each call in the window beyond a quarter of the group's limit brings
    a few of these messages with it, and none does without calls. Returns the verdict that refuses.
    """
    group = methods.RATE_BUCKETS.get(method, methods.OTHER)
    if refused.bucket.key.partition(":")[0] not in {group, PERSON}:
        return refused
    calls = _connection_bucket(principal, surface, "tools_call")
    own, each = _connection_bucket(principal, surface, group), AROUND_A_CALL[method]
    if calls.limit.seconds != own.limit.seconds:
        # The calls of a longer or a shorter time say nothing of this limit.
        return refused
    most = Limit(min(calls.limit.count * each, MAX_COUNT), calls.limit.seconds)
    around = Bucket(f"{AROUND}_{own.key}", most)
    states = limits.readings([calls, around])
    if states is None:
        return refused
    made, used = (state.limit - state.remaining for state in states)
    if used >= each * (made - math.ceil(own.limit.count / 4)):
        return refused
    verdict = limits.charge_or_share([around, origin], record.limits_unavailable)
    return refused if verdict and verdict.bucket.key == around.key else verdict


def spend_address(address: str) -> Verdict | None:
    """Charge a stranger's request to its address; returns the verdict that refuses it."""
    return limits.charge_or_share([limits.address_bucket(address)], record.limits_unavailable)


def known_refusal(address: str) -> Verdict | None:
    """The refusal that this process knows an address to meet, without asking anybody."""
    bucket = limits.address_bucket(address)
    return limits.still_refused(bucket) or limits.still_refused_a_part(bucket)


def refusal(verdict: Verdict, revision: Revision, codes: ErrorCodes) -> RateLimitError:
    """The 429, with Retry-After and X-RateLimit-* (transport document, Rate limits)."""
    limit = CALLED[verdict.bucket.key.partition(":")[0]]
    return RateLimitError(limit, revision, codes, verdict.headers().items())


def slot_limit_error(
    message: str, *, most: int, wait: int, revision: Revision, codes: ErrorCodes
) -> RateLimitError:
    """The 429 of a caller that has all the slots it may have; `wait` in seconds."""
    headers = {
        "X-RateLimit-Limit": str(most),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(time()) + wait),
        "Retry-After": str(wait),
    }
    return RateLimitError("streams", revision, codes, headers.items(), message)
