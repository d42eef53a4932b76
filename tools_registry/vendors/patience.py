"""The time that one call has for its vendor, and whether an answer is worth asking again."""

import math
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from foundation.outbound import OutboundError, TimedOut, Unreachable, again
from tools_registry.types import Answer, Cancelled, Channel, Connection

MOST_TRIES: Final = 4
# A thread that waits for longer than this is worth more than the call.
LONGEST_PAUSE: Final = 10.0
# What has to be left behind a pause, so that the next try can come to something.
LEAST_LEFT: Final = 1.0
LOOKS_EVERY: Final = 0.1


@dataclass(slots=True)
class Patience:
    """Counts down over all requests of a call, from the first one on; times in seconds."""

    seconds: float
    channel: Channel = field(repr=False)
    _ends: float = math.nan

    def left(self) -> float:
        """What is left, 0 at the least."""
        if math.isnan(self._ends):
            self._ends = time.monotonic() + self.seconds
        return max(self._ends - time.monotonic(), 0.0)

    def affords(self, pause: float) -> bool:
        return pause <= min(LONGEST_PAUSE, self.left() - LEAST_LEFT)

    def wait(self, pause: float) -> None:
        """Wait in small steps. Raises Cancelled once the caller has gone."""
        until = time.monotonic() + pause
        while (rest := until - time.monotonic()) > 0:
            self.require_caller()
            time.sleep(min(rest, LOOKS_EVERY))
        self.require_caller()

    def require_caller(self) -> None:
        if self.channel.is_cancelled():
            raise Cancelled


def asked_to_wait(connection: Connection, answer: Answer) -> float | None:
    """The seconds after which a vendor that did nothing yet may be asked again; None: it did not.

    A refusal for coming too often that names no time is asked again after a second.
    """
    told = connection.waits(answer) if connection.waits is not None else None
    if told is not None:
        return max(told, 0.0)
    if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    named = again.retry_after(answer.headers)
    return 1.0 if named is None else named


def pause_before_repeating(outcome: Answer | OutboundError, tries: int) -> float | None:
    """The pause after what may have been done, for requests that may be repeated; None: do not."""
    if isinstance(outcome, OutboundError):
        return again.backoff(tries) if isinstance(outcome, TimedOut | Unreachable) else None
    if outcome.status not in again.PASSING:
        return None
    named = again.retry_after(outcome.headers)
    return again.backoff(tries) if named is None else named
