"""Counters in the memory of the one process there is."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import repeat

from foundation.limits.limit import Bucket
from foundation.limits.window import UNTOUCHED, Reading, Standing, Window

MAX_BUCKETS = 100_000


class MemoryStore:
    """Counts behind a lock; `now` is Unix seconds.

    Beyond `max_buckets` the bucket charged longest ago is forgotten, so a flood of keys costs
    bounded memory and can only loosen limits, never tighten them.
    """

    def __init__(
        self, now: Callable[[], float] = time.time, *, max_buckets: int = MAX_BUCKETS
    ) -> None:
        self._now = now
        self._max_buckets = max_buckets
        self._lock = threading.Lock()
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def take(self, buckets: Sequence[Bucket]) -> Reading:
        with self._lock:
            now = int(self._now() * 1000)
            names = [bucket.digest for bucket in buckets]
            windows = tuple(map(self._window, names, buckets, repeat(now)))
            standings = map(Standing, buckets, windows, repeat(now))
            if any(standing.wait for standing in standings):
                return Reading(False, now, windows)
            return Reading(True, now, tuple(map(self._charge, names, buckets, windows)))

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        with self._lock:
            for bucket in buckets:
                if stored := self._windows.get(bucket.digest):
                    self._windows[bucket.digest] = stored.relieved(bucket.cost)

    def close(self) -> None:
        self._windows.clear()

    def _window(self, name: str, bucket: Bucket, now: int) -> Window:
        stored = self._windows.get(name, UNTOUCHED)
        return stored.rolled(now, bucket.limit.milliseconds)

    def _charge(self, name: str, bucket: Bucket, window: Window) -> Window:
        self._windows[name] = charged = window.charged(bucket.cost)
        self._windows.move_to_end(name)
        if len(self._windows) > self._max_buckets:
            self._windows.popitem(last=False)
        return charged
