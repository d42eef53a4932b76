"""The deadline of a request, independent of the other side."""

import time
from collections.abc import Callable

from foundation.outbound.errors import TimedOut, Unwanted


def always_wanted() -> bool:
    """The default of `unwanted`, for requests that cannot be cancelled."""
    return False


class Deadline:
    """Ends `seconds` from now, or once `unwanted` returns True. It bounds every step."""

    def __init__(
        self, host: str, seconds: float, unwanted: Callable[[], bool] = always_wanted
    ) -> None:
        self.host = host
        # Set by the connection once it writes the request.
        self.has_begun = False
        self._ends = time.monotonic() + seconds
        self._unwanted = unwanted

    def seconds_left(self, at_most: float | None) -> float:
        """Returns the seconds left for a step, at most `at_most`.

        Raises TimedOut if none are left, and Unwanted if the request was cancelled.
        """
        if self._unwanted():
            raise Unwanted(self.host, "the caller does not wait for the answer any more")
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimedOut(self.host, "it did not respond in time")
        return left if at_most is None else min(left, at_most)
