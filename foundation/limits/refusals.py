"""Refusals remembered in the process, so that repeating a refused call costs no round trip.

A refused bucket stays refused until its wait is over whatever happens meanwhile: time alone
lowers the estimate, and other charges only raise it.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from foundation.limits.limit import Bucket, Verdict
from foundation.limits.window import Standing, refusal

MAX_REFUSALS = 10_000


@dataclass(frozen=True)
class _Refusal:
    over_at: float
    verdict: Verdict


class Refusals:
    """A bounded memory of refused buckets; `now` is seconds of a clock that is never set back.

    Beyond `max_refusals` the oldest is forgotten, which costs a round trip and nothing else.
    """

    def __init__(
        self, now: Callable[[], float] = time.monotonic, *, max_refusals: int = MAX_REFUSALS
    ) -> None:
        self._now = now
        self._max_refusals = max_refusals
        self._lock = threading.Lock()
        self._refusals: OrderedDict[str, _Refusal] = OrderedDict()

    def remember(self, standing: Standing) -> Verdict:
        """Keep the refusal of a bucket for as long as its wait lasts, and return it."""
        verdict = refusal(standing)
        over_at = self._now() + standing.wait / 1000
        digest = standing.bucket.digest
        with self._lock:
            self._refusals[digest] = _Refusal(over_at, verdict)
            self._refusals.move_to_end(digest)
            if len(self._refusals) > self._max_refusals:
                self._refusals.popitem(last=False)
        return verdict

    def recall(self, bucket: Bucket) -> Verdict | None:
        """Return the refusal this charge would meet again, with the wait that is left of it."""
        if not self.is_any_known():
            # As nearly always: not even the bucket's name has to be made.
            return None
        with self._lock:
            known = self._refusals.get(bucket.digest)
            if known is None or bucket.cost < known.verdict.bucket.cost:
                # A cheaper call than the one refused might still fit.
                return None
            left = known.over_at - self._now()
            if left <= 0:
                del self._refusals[bucket.digest]
                return None
        return replace(known.verdict, retry_after=math.ceil(left), bucket=bucket)

    def is_any_known(self) -> bool:
        return bool(self._refusals)

    def clear(self) -> None:
        with self._lock:
            self._refusals.clear()
