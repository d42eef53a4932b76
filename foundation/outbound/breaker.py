"""Asking nothing for a while of whoever does not answer: a circuit breaker for each key.

In the memory of one process: others find out for themselves, and no row gets hot.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

FAILURES: Final = 5
REST_SECONDS: Final = 30.0
# Keys that have failed lately; the one that failed first is forgotten first.
MOST_KEYS: Final = 10_000


@dataclass(slots=True)
class _Trouble:
    """What a key's failures in a row have come to; a key without any has no entry."""

    failures: int = 0
    rests_until: float = 0.0


class Breakers:
    """Opens after `FAILURES` failures of a key in a row; after a rest it lets one trial through."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._troubles: OrderedDict[Hashable, _Trouble] = OrderedDict()

    def rest(self, key: Hashable) -> float:
        """The seconds that the key still rests; at 0 it may be asked now, and that is its trial.

        A trial whose end is never told counts as failed once another rest has passed.
        """
        with self._lock:
            trouble = self._troubles.get(key)
            if trouble is None or trouble.failures < FAILURES:
                return 0.0
            left = trouble.rests_until - self._clock()
            if left > 0:
                return left
            trouble.rests_until = self._clock() + REST_SECONDS
            return 0.0

    def answered(self, key: Hashable) -> None:
        """Close the breaker: the other side is there."""
        with self._lock:
            self._troubles.pop(key, None)

    def failed(self, key: Hashable) -> bool:
        """Count a failure; returns whether it is the one that opened the breaker."""
        with self._lock:
            trouble = self._troubles.setdefault(key, _Trouble())
            trouble.failures += 1
            if trouble.failures >= FAILURES:
                trouble.rests_until = self._clock() + REST_SECONDS
            if len(self._troubles) > MOST_KEYS:
                self._troubles.popitem(last=False)
            return trouble.failures == FAILURES
