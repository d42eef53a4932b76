"""Charging buckets in the store that settings.HALO_LIMIT_STORE names."""

import threading
from collections.abc import Iterable, Sequence

from django.conf import settings

from foundation.limits.in_memory import MemoryStore
from foundation.limits.in_postgresql import PostgresqlStore
from foundation.limits.in_redis import RedisStore
from foundation.limits.limit import Bucket, Limit, Verdict
from foundation.limits.refusals import Refusals
from foundation.limits.window import Store

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")

_refusals = Refusals()
_choosing = threading.Lock()
_chosen: list[Store] = []


def charge(buckets: Sequence[Bucket]) -> Verdict | None:
    """Charge all buckets their cost if all have room, or none; what is returned refuses them.

    One round trip to the store, none if a bucket is known to be refused still. A bucket named
    twice is charged the sum. Raises LimitStoreDown when the store does not answer, and ValueError
    without buckets.
    """
    if not buckets:
        raise ValueError("A charge names at least one bucket.")
    merged = _merged(buckets)
    return _tightest(filter(None, map(still_refused, merged))) or _take(merged)


def give_back(buckets: Sequence[Bucket]) -> None:
    """Take an allowed charge back, for what is counted only when it fails.

    If the window has moved on since, the newer one is relieved. Raises LimitStoreDown.
    """
    _store().give_back(_merged(buckets))


def still_refused(bucket: Bucket) -> Verdict | None:
    """Return the refusal this process knows a charge of the bucket to meet, without asking.

    None means unknown, not allowed.
    """
    return _refusals.recall(bucket)


def remembers_refusals() -> bool:
    """Whether a charge of any bucket is known to be refused."""
    return _refusals.is_any_known()


def build_store(url: str) -> Store:
    """Return the store for "memory", "postgresql" or a redis://, rediss:// or unix:// URL.

    Connects to nothing yet; raises ValueError for anything else.
    """
    if url == "memory":
        return MemoryStore()
    if url == "postgresql":
        return PostgresqlStore()
    if url.startswith(REDIS_SCHEMES):
        return RedisStore(url)
    # The URL stays out of the message: it may hold a password.
    raise ValueError(
        'A limit store is "memory", "postgresql" or a redis://, rediss://, unix:// URL.'
    )


def reset_store() -> None:
    """Forget the store and the remembered refusals, so that the setting is read anew; for tests."""
    with _choosing:
        while _chosen:
            _chosen.pop().close()
    _refusals.clear()


def _store() -> Store:
    if _chosen:
        return _chosen[0]
    # Locked: two threads with a memory store each would allow twice the limit.
    with _choosing:
        if not _chosen:
            _chosen.append(build_store(settings.HALO_LIMIT_STORE))
        return _chosen[0]


def _take(buckets: Sequence[Bucket]) -> Verdict | None:
    reading = _store().take(buckets)
    if reading.allowed:
        return None
    standings = reading.standings(buckets)
    refused = [_refusals.remember(standing) for standing in standings if standing.wait]
    return max(refused, key=_wait)


def _tightest(verdicts: Iterable[Verdict]) -> Verdict | None:
    return max(verdicts, key=_wait, default=None)


def _wait(verdict: Verdict) -> int:
    return verdict.retry_after


def _merged(buckets: Sequence[Bucket]) -> Sequence[Bucket]:
    if len({bucket.key for bucket in buckets}) == len(buckets):
        return buckets
    costs: dict[tuple[str, Limit], int] = {}
    for bucket in buckets:
        costs[bucket.key, bucket.limit] = costs.get((bucket.key, bucket.limit), 0) + bucket.cost
    return [Bucket(key, limit, cost) for (key, limit), cost in costs.items()]
