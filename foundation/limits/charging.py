"""Charges buckets in the store of settings.HALO_LIMIT_STORE, or in this process without it.

While the store does not answer, each of the HALO_PROCESSES has an equal part of every limit, at
least one call, so that together they allow about as much as the store. Earlier counts of the store
are unknown then. Counts of this process are kept, so that a store with repeated outages does not
allow a part twice.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import structlog
from django.conf import settings

from foundation import peer
from foundation.limits.in_memory import MemoryStore
from foundation.limits.in_postgresql import PostgresqlStore
from foundation.limits.refusals import Refusals
from foundation.limits.window import (
    MAX_COST,
    Bucket,
    Limit,
    LimitStoreDown,
    Reading,
    Store,
    Verdict,
    refusal,
)
from foundation.outage import Outage

# What keys of buckets of addresses begin with.
ADDRESS: Final = "ip"
REDIS_SCHEMES = ("redis://", "rediss://", "unix://")

log = structlog.get_logger(__name__)

outage: Final = Outage()
_refusals = Refusals()
# The counts and refusals of this process during outages of the store.
_share_counts = MemoryStore()
_share_refusals = Refusals()
_choosing = threading.Lock()
_chosen: list[Store] = []


def address_bucket(address: str) -> Bucket:
    """Returns the bucket that requests from an address are charged to, whatever they are for."""
    return Bucket(f"{ADDRESS}:{peer.rate_key(address)}", settings.HALO_RATE_IP)


def charge(buckets: Sequence[Bucket]) -> Verdict | None:
    """Charges all buckets their cost if all have room, or none; returns the refusal, or None.

    Takes one round trip to the store, or none if this process still remembers a refusal of a
    bucket. A bucket named twice is charged the sum. Raises LimitStoreDown if the store does not
    answer or failed less than a second ago, and ValueError without buckets.
    """
    if not buckets:
        raise ValueError("A charge names at least one bucket.")
    if outage.retry_at is not None and outage.skips_store():
        raise LimitStoreDown("The limit store failed a moment ago.")
    is_distinct = len({bucket.key for bucket in buckets}) == len(buckets)
    merged = buckets if is_distinct else _merge_buckets(buckets)
    if _refusals.by_digest:
        refused = list(filter(None, map(_refusals.recall, merged)))
        if refused:
            return _tightest(refused)
    try:
        reading = (_chosen[0] if _chosen else _store()).take(merged)
    except LimitStoreDown:
        outage.record_failure()
        raise
    if outage.retry_at is not None and outage.record_success():
        log.info("limit_store_up")
    return None if reading is None else _build_refusal(reading, merged, _refusals)


def charge_or_share(buckets: Sequence[Bucket], on_outage: Callable[[], None]) -> Verdict | None:
    """Charges as `charge` does, or charges this process's part of each limit if the store is down.

    Never raises LimitStoreDown. `on_outage` is called once a minute during the outage. The refusal
    of a part names a bucket with the limit of the part and the key of the whole.
    """
    try:
        return charge(buckets)
    except LimitStoreDown:
        if outage.is_report_due():
            # Without a traceback, which would name the address of the store.
            log.error("limit_store_down", processes=settings.HALO_PROCESSES)  # noqa: TRY400  as said
            on_outage()
    parts = [_part(bucket) for bucket in buckets]
    reading = _share_counts.take(parts)
    return None if reading is None else _build_refusal(reading, parts, _share_refusals)


def give_back(buckets: Sequence[Bucket]) -> None:
    """Refunds an allowed charge, for operations that count only when they fail.

    If a new window has started since, its count is reduced. This process forgets its refusals of
    the buckets. Raises LimitStoreDown.
    """
    if outage.is_known():
        raise LimitStoreDown("The limit store failed a moment ago.")
    _store().give_back(_merge_buckets(buckets))
    if _refusals.by_digest:
        for bucket in buckets:
            _refusals.forget(bucket)


def reading(bucket: Bucket) -> Verdict | None:
    """Returns the state of a bucket without charging it; None while the store does not answer."""
    states = readings([bucket])
    return None if states is None else states[0]


def readings(buckets: Sequence[Bucket]) -> Sequence[Verdict] | None:
    """Returns the states of buckets as `reading` does, in one round trip."""
    # No window has room for these, so nothing is charged.
    probes = [replace(bucket, cost=MAX_COST) for bucket in buckets]
    try:
        found = None if outage.is_known() else _store().take(probes)
    except LimitStoreDown:
        found = None
    return None if found is None else [refusal(state) for state in found.states(buckets)]


def still_refused(bucket: Bucket) -> Verdict | None:
    """Returns the remembered refusal that a charge of the bucket would meet, without a round trip.

    None means unknown, not allowed.
    """
    return _refusals.recall(bucket)


def still_refused_a_part(bucket: Bucket) -> Verdict | None:
    """Returns the remembered refusal of the bucket's part while the store is down."""
    return _share_refusals.recall(_part(bucket)) if outage.is_known() else None


def refusals_are_known() -> bool:
    """Returns whether this process may remember the refusal of a bucket, which is rare."""
    return bool(_refusals.by_digest) or outage.retry_at is not None


def build_store(url: str) -> Store:
    """Returns the store for "memory", "postgresql" or a redis://, rediss:// or unix:// URL.

    Does not connect yet. Raises ValueError for anything else.
    """
    if url == "memory":
        return MemoryStore()
    if url == "postgresql":
        return PostgresqlStore()
    if url.startswith(REDIS_SCHEMES):
        from foundation.limits.in_redis import RedisStore  # noqa: PLC0415  slow to import

        return RedisStore(url)
    # The message leaves out the URL, which may hold a password.
    raise ValueError(
        'A limit store is "memory", "postgresql" or a redis://, rediss://, unix:// URL.'
    )


def reset_store() -> None:
    """Drops the store and the remembered refusals, so that the setting is read again; for tests."""
    with _choosing:
        while _chosen:
            _chosen.pop().close()
    _refusals.clear()
    outage.forget()


def _store() -> Store:
    if _chosen:
        return _chosen[0]
    # Locked: two threads with a memory store each would allow twice the limit.
    with _choosing:
        if not _chosen:
            _chosen.append(build_store(settings.HALO_LIMIT_STORE))
        return _chosen[0]


def reset_shares() -> None:
    """Drops the outage and the counts made during it; for tests."""
    outage.forget()
    _share_counts.close()
    _share_refusals.clear()


def _build_refusal(reading: Reading, buckets: Sequence[Bucket], memory: Refusals) -> Verdict:
    states = reading.states(buckets)
    return _tightest([memory.remember(state) for state in states if state.wait])


def _tightest(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=lambda verdict: verdict.retry_after)


def _part(bucket: Bucket) -> Bucket:
    whole = bucket.limit
    share = max(1, whole.count // settings.HALO_PROCESSES)
    return replace(bucket, limit=Limit(share, whole.seconds))


def _merge_buckets(buckets: Sequence[Bucket]) -> Sequence[Bucket]:
    merged: dict[tuple[str, Limit], Bucket] = {}
    for bucket in buckets:
        same = merged.get((bucket.key, bucket.limit))
        total = bucket if same is None else replace(same, cost=same.cost + bucket.cost)
        merged[bucket.key, bucket.limit] = total
    return [*merged.values()]
