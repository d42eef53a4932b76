"""A limit on the operations in progress in this process, in total and for each key.

Threads, memory and files belong to a process, so concurrency is counted for each process. Rates are
limited for all processes together, by `foundation/limits`.
"""

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

# Computes the limit of a key from the number of operations in progress for all keys.
PerKey: TypeAlias = Callable[[int], int]


class ConcurrencyLimitReached(Exception):
    """The limit of operations in progress is reached, in total or for the key."""


class ConcurrencyLimit:
    """Limits operations in progress to `total`, and to `per_key` for each key.

    None means unlimited.
    """

    def __init__(self, total: int | None = None, per_key: int | PerKey | None = None) -> None:
        self._total = total
        self._per_key = per_key
        self._lock = threading.Lock()
        self._in_progress: Counter[Hashable] = Counter()
        self._sum = 0

    def acquire(self, key: Hashable) -> bool:
        """Counts one more operation for the key, or returns False without counting at the limit."""
        with self._lock:
            if self._is_reached(key):
                return False
            self._in_progress[key] += 1
            self._sum += 1
            return True

    def release(self, key: Hashable) -> None:
        """Counts one operation less for the key. Raises ValueError if none is in progress."""
        with self._lock:
            if not self._in_progress[key]:
                raise ValueError("Released more often than acquired.")
            self._in_progress[key] -= 1
            self._sum -= 1
            if not self._in_progress[key]:
                del self._in_progress[key]

    @contextmanager
    def hold(self, key: Hashable) -> Iterator[None]:
        """Acquires, runs the block and releases. Raises ConcurrencyLimitReached without waiting."""
        if not self.acquire(key):
            raise ConcurrencyLimitReached
        try:
            yield
        finally:
            self.release(key)

    @property
    def active_count(self) -> int:
        """Returns how many operations are in progress for all keys."""
        return self._sum

    def _is_reached(self, key: Hashable) -> bool:
        if self._total is not None and self._sum >= self._total:
            return True
        per_key = self._per_key(self._sum) if callable(self._per_key) else self._per_key
        return per_key is not None and self._in_progress[key] >= per_key


class ConcurrencyLimits:
    """Limits that one operation counts for together, each under a key of its own."""

    def __init__(self, *limits: ConcurrencyLimit) -> None:
        self._limits = limits

    def acquire(self, *keys: Hashable) -> bool:
        """Counts one more operation for all keys, or returns False without counting for any."""
        acquired: list[tuple[ConcurrencyLimit, Hashable]] = []
        for limit, key in zip(self._limits, keys, strict=True):
            if not limit.acquire(key):
                for one, counted in acquired:
                    one.release(counted)
                return False
            acquired.append((limit, key))
        return True

    def release(self, *keys: Hashable) -> None:
        """Counts one operation less for all keys. Raises ValueError if none is in progress."""
        for limit, key in zip(self._limits, keys, strict=True):
            limit.release(key)

    @property
    def is_idle(self) -> bool:
        """Returns whether no operation is in progress."""
        return not any(limit.active_count for limit in self._limits)
