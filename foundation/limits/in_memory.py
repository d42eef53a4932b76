"""Counters in the memory of this process, for deployments with one process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import repeat

from foundation.limits.window import UNTOUCHED, Bucket, Reading, Window, wait

MAX_BUCKETS = 100_000


class MemoryStore:
    """Counts under a lock; `now` returns Unix seconds.

    With more than `max_buckets`, the bucket charged least recently is dropped. So many keys use
    bounded memory, and can make a limit less strict but never stricter.
    """

    def __init__(
        self, now: Callable[[], float] = time.time, *, max_buckets: int = MAX_BUCKETS
    ) -> None:
        self._now = now
        self._max_buckets = max_buckets
        self._lock = threading.Lock()
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def take(self, buckets: Sequence[Bucket]) -> Reading | None:
        with self._lock:
            now = int(self._now() * 1000)
            names = [bucket.digest for bucket in buckets]
            windows = tuple(
                self._windows.get(name, UNTOUCHED).roll_to(now, bucket.limit.milliseconds)
                for name, bucket in zip(names, buckets, strict=True)
            )
            if any(map(wait, buckets, windows, repeat(now))):
                return Reading(now, windows)
            charged = [
                window.add_charge(bucket.cost, now)
                for window, bucket in zip(windows, buckets, strict=True)
            ]
            for name, window in zip(names, charged, strict=True):
                self._windows[name] = window
                self._windows.move_to_end(name)
            while len(self._windows) > self._max_buckets:
                self._windows.popitem(last=False)
        return None

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        with self._lock:
            for bucket in buckets:
                if stored := self._windows.get(bucket.digest):
                    self._windows[bucket.digest] = stored.remove_charge(bucket.cost)

    def close(self) -> None:
        self._windows.clear()
