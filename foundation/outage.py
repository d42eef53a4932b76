"""A circuit breaker for the stores that requests wait for."""

import threading
import time
from collections.abc import Callable
from typing import Final

# In seconds. A store that hangs takes half a second to fail: at most one thread at a time waits for
# it, and none in between.
RETRY_AFTER: Final = 1.0
REPORT_AFTER: Final = 60.0


class Outage:
    """The current outage of a store, if any; `now` returns seconds of a monotonic clock.

    `retry_at` is None while the store answers. One caller tries it each `retry_after` seconds.
    """

    def __init__(
        self, now: Callable[[], float] = time.monotonic, *, retry_after: float = RETRY_AFTER
    ) -> None:
        self._now = now
        self.retry_after = retry_after
        self._lock = threading.Lock()
        self.retry_at: float | None = None
        self._report_at: float | None = None

    def is_known(self) -> bool:
        """Returns whether the last use of the store failed."""
        return self.retry_at is not None and self._now() < self.retry_at

    def skips_store(self) -> bool:
        """Returns whether to skip the store; False now and then, so that one caller tries it."""
        with self._lock:
            if self.retry_at is None:
                return False
            if self.is_known():
                return True
            self.retry_at = self._now() + self.retry_after
            return False

    def record_failure(self) -> None:
        """Records a failure of the store."""
        with self._lock:
            self.retry_at = self._now() + self.retry_after

    def is_report_due(self) -> bool:
        """Returns True once a minute, when the outage is due to be logged."""
        with self._lock:
            now = self._now()
            if self._report_at is not None and now < self._report_at:
                return False
            self._report_at = now + REPORT_AFTER
            return True

    def record_success(self) -> bool:
        """Records an answer of the store, and returns whether there was an outage."""
        with self._lock:
            was, self.retry_at = self.retry_at, None
            return was is not None

    def forget(self) -> None:
        with self._lock:
            self.retry_at = self._report_at = None
