"""What a process allows by itself while the store of the counters does not answer.

Each of the HALO_PROCESSES has an even part of every limit, so that together they allow about what
the store would, and at least one call. What the store counted before is not known here; what was
counted here is kept, so that a store that comes and goes hands out no part twice.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import structlog
from django.conf import settings

from foundation.limits import charging
from foundation.limits.in_memory import MemoryStore
from foundation.limits.limit import Bucket, Limit, LimitStoreDown, Verdict
from foundation.limits.refusals import Refusals

log = structlog.get_logger(__name__)

# In seconds. A store that hangs takes half a second to fail: no more than one thread at a time
# waits for it, and none in between.
ASKS_AGAIN_AFTER: Final = 1.0
TELLS_AGAIN_AFTER: Final = 60.0


class Outage:
    """Since when this process does without the store; `now` is seconds, never set back."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._asks_again_at: float | None = None
        self._tells_again_at: float | None = None

    def is_known(self) -> bool:
        """Whether the store failed a moment ago."""
        return self._asks_again_at is not None and self._now() < self._asks_again_at

    def spares_asking(self) -> bool:
        """Whether to do without the store; from time to time one who asks is told to try it."""
        if self._is_over():
            return False
        with self._lock:
            if self._is_over():
                return False
            if self.is_known():
                return True
            self._asks_again_at = self._now() + ASKS_AGAIN_AFTER
            return False

    def goes_on(self) -> bool:
        """The store failed just now; answers whether that is to be told, once a minute."""
        with self._lock:
            now = self._now()
            self._asks_again_at = now + ASKS_AGAIN_AFTER
            if self._tells_again_at is not None and now < self._tells_again_at:
                return False
            self._tells_again_at = now + TELLS_AGAIN_AFTER
            return True

    def ends(self) -> bool:
        """The store answered; returns whether it had failed before."""
        if self._is_over():
            return False
        with self._lock:
            was, self._asks_again_at = self._asks_again_at, None
            return was is not None

    def _is_over(self) -> bool:
        return self._asks_again_at is None

    def forget(self) -> None:
        with self._lock:
            self._asks_again_at = self._tells_again_at = None


_outage = Outage()
_counts = MemoryStore()
_refusals = Refusals()


def charge_or_share(buckets: Sequence[Bucket], tell: Callable[[], None]) -> Verdict | None:
    """Charge as `charge` does, or this process's part of each limit while the store is down.

    Never raises LimitStoreDown. `tell` is called once a minute for as long as that lasts. The
    refusal of a part names a bucket of the part's limit, under the key of the whole.
    """
    if _outage.spares_asking():
        return _charge_parts(buckets)
    try:
        verdict = charging.charge(buckets)
    except LimitStoreDown:
        if _outage.goes_on():
            # No traceback: it names the store's address.
            log.error("limit_store_down", processes=settings.HALO_PROCESSES)  # noqa: TRY400  as said
            tell()
        return _charge_parts(buckets)
    if _outage.ends():
        log.info("limit_store_up")
    return verdict


def refusals_are_known() -> bool:
    """Whether this process remembers any refusal at all, as it nearly never does."""
    return charging.remembers_refusals() or _outage.is_known()


def still_refused_a_part(bucket: Bucket) -> Verdict | None:
    """Return the refusal that the bucket's part is known to meet while the store is down."""
    return _refusals.recall(_part(bucket)) if _outage.is_known() else None


def reset_shares() -> None:
    """Forget the outage and what was counted in it; for tests."""
    _outage.forget()
    _counts.close()
    _refusals.clear()


def _charge_parts(buckets: Sequence[Bucket]) -> Verdict | None:
    parts = [_part(bucket) for bucket in buckets]
    reading = _counts.take(parts)
    if reading.allowed:
        return None
    standings = reading.standings(parts)
    refused = [_refusals.remember(standing) for standing in standings if standing.wait]
    return max(refused, key=lambda verdict: verdict.retry_after)


def _part(bucket: Bucket) -> Bucket:
    whole = bucket.limit
    share = max(1, whole.count // settings.HALO_PROCESSES)
    return replace(bucket, limit=Limit(share, whole.seconds))
