"""A circuit breaker for each key: skips requests to a host that does not answer.

The state is in the memory of one process, which avoids a contended row.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

FAILURES: Final = 5
REST_SECONDS: Final = 30.0
# The number of keys with recent failures; the oldest is dropped first.
MAX_KEYS: Final = 10_000


@dataclass(slots=True)
class _Trouble:
    """The consecutive failures of a key; a key without failures has no entry."""

    failures: int = 0
    rests_until: float = 0.0


class Breakers:
    """Opens after `FAILURES` consecutive failures of a key; after a delay it permits one trial."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._troubles: OrderedDict[Hashable, _Trouble] = OrderedDict()

    def rest(self, key: Hashable) -> float:
        """Returns the seconds until a request of the key is permitted; 0 permits it, as the trial.

        A trial whose result is not reported counts as failed after another delay.
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

    def record_success(self, key: Hashable) -> None:
        """Records a success, which closes the breaker."""
        with self._lock:
            self._troubles.pop(key, None)

    def record_failure(self, key: Hashable) -> bool:
        """Records a failure; returns whether it opened the breaker."""
        with self._lock:
            trouble = self._troubles.setdefault(key, _Trouble())
            trouble.failures += 1
            if trouble.failures >= FAILURES:
                trouble.rests_until = self._clock() + REST_SECONDS
            if len(self._troubles) > MAX_KEYS:
                self._troubles.popitem(last=False)
            return trouble.failures == FAILURES
