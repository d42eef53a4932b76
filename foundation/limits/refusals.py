"""Refusals remembered in the process, so that a repeated call costs no round trip.

A refused bucket stays refused until its wait is over, unless a charge is given back: the estimate
decreases only with time, and other charges only increase it.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from foundation.limits.window import Bucket, Verdict, WindowState, refusal

MAX_REFUSALS = 10_000


@dataclass(frozen=True)
class _Refusal:
    over_at: float
    verdict: Verdict


class Refusals:
    """A bounded cache of refused buckets; `now` returns seconds of a monotonic clock.

    With more than `max_refusals` the oldest is dropped, which only costs a round trip. `by_digest`
    is usually empty, and then no bucket needs a lookup.
    """

    def __init__(
        self, now: Callable[[], float] = time.monotonic, *, max_refusals: int = MAX_REFUSALS
    ) -> None:
        self._now = now
        self._max_refusals = max_refusals
        self._lock = threading.Lock()
        self.by_digest: OrderedDict[str, _Refusal] = OrderedDict()

    def remember(self, state: WindowState) -> Verdict:
        """Remembers the refusal of a bucket until its wait is over, and returns it.

        That of a bucket with `is_given_back` is only returned.
        """
        verdict = refusal(state)
        if state.bucket.is_given_back:
            return verdict
        over_at = self._now() + state.wait / 1000
        digest = state.bucket.digest
        with self._lock:
            self.by_digest[digest] = _Refusal(over_at, verdict)
            self.by_digest.move_to_end(digest)
            if len(self.by_digest) > self._max_refusals:
                self.by_digest.popitem(last=False)
        return verdict

    def recall(self, bucket: Bucket) -> Verdict | None:
        """Returns the refusal that this charge would meet again, with its remaining wait."""
        with self._lock:
            known = self.by_digest.get(bucket.digest)
            if known is None or bucket.cost < known.verdict.bucket.cost:
                # A call with a lower cost than the refused one might be allowed.
                return None
            left = known.over_at - self._now()
            if left <= 0:
                del self.by_digest[bucket.digest]
                return None
        # Rounding errors of floats must not add a second.
        wait = min(known.verdict.retry_after, math.ceil(left))
        return replace(known.verdict, retry_after=wait, bucket=bucket)

    def forget(self, bucket: Bucket) -> None:
        """Drops the refusal of a bucket, which may have room again."""
        with self._lock:
            self.by_digest.pop(bucket.digest, None)

    def clear(self) -> None:
        with self._lock:
            self.by_digest.clear()
