"""The moment by which a request is over, whatever the other side does."""

import time
from collections.abc import Callable

from foundation.outbound.errors import TimedOut, Unwanted


def always_wanted() -> bool:
    """For requests whose answer is waited for in any case."""
    return False


class Deadline:
    """Ends `seconds` from now, or once the answer is `unwanted`; no step takes longer than that."""

    def __init__(
        self, host: str, seconds: float, unwanted: Callable[[], bool] = always_wanted
    ) -> None:
        self.host = host
        self._ends = time.monotonic() + seconds
        self._unwanted = unwanted

    def left(self, at_most: float | None) -> float:
        """Return the seconds a step may take, `at_most` at the most.

        Raises TimedOut if there are none, Unwanted if nobody waits any more.
        """
        if self._unwanted():
            raise Unwanted(self.host, "nobody waits for the answer any more")
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimedOut(self.host, "the deadline has passed")
        return left if at_most is None else min(left, at_most)
