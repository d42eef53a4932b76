"""The moment by which a request is over, whatever the other side does."""

import time

from foundation.outbound.errors import TimedOut


class Deadline:
    """Ends `seconds` from now; no step gets longer than what is left."""

    def __init__(self, host: str, seconds: float) -> None:
        self.host = host
        self._ends = time.monotonic() + seconds

    def left(self, at_most: float | None) -> float:
        """Return the seconds a step may take, `at_most` at the most; raises TimedOut if none."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimedOut(self.host, "the deadline has passed")
        return left if at_most is None else min(left, at_most)
