"""The deadline of a call to a vendor, and which of its requests are retried after which delay."""

import math
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from foundation.outbound import OutboundError, TimedOut, Unreachable, retry
from tools_registry.api import Cancelled, Channel, VendorConnection, VendorResponse

MAX_ATTEMPTS: Final = 4
# A longer wait before a retry would hold the thread for too long: the call fails instead.
MAX_WAIT_SECONDS: Final = 10.0
# The least time after a wait in which another attempt can succeed.
MIN_REMAINING: Final = 1.0
CANCEL_CHECK_SECONDS: Final = 0.1


@dataclass(slots=True)
class CallDeadline:
    """The time for all requests of a call, from the first one on; in seconds."""

    seconds: float
    channel: Channel = field(repr=False)
    _expires_at: float = math.nan

    def remaining(self) -> float:
        """The remaining seconds, at least 0."""
        if math.isnan(self._expires_at):
            self._expires_at = time.monotonic() + self.seconds
        return max(self._expires_at - time.monotonic(), 0.0)

    def allows(self, pause: float, least: float = MIN_REMAINING) -> bool:
        """Whether at least so many seconds are left after a pause."""
        return pause <= min(MAX_WAIT_SECONDS, self.remaining() - least)

    def wait(self, pause: float) -> None:
        """Wait in small steps. Raises Cancelled once the caller has disconnected."""
        until = time.monotonic() + pause
        while (rest := until - time.monotonic()) > 0:
            self.require_caller()
            time.sleep(min(rest, CANCEL_CHECK_SECONDS))
        self.require_caller()

    def require_caller(self) -> None:
        if self.channel.is_cancelled():
            raise Cancelled


def requested_wait(connection: VendorConnection, answer: VendorResponse) -> float | None:
    """The seconds to wait before a request that had no effect is sent again; None if it may have.

    After a rate limit (429) without Retry-After it is one second.
    """
    wanted = connection.waits(answer) if connection.waits is not None else None
    if wanted is not None:
        return max(wanted, 0.0)
    if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    named = retry.retry_after(answer.headers)
    return 1.0 if named is None else named


def retry_delay(outcome: VendorResponse | OutboundError, tries: int) -> float | None:
    """The delay before an idempotent request is sent again; None if it is not retried."""
    if isinstance(outcome, OutboundError):
        return retry.backoff(tries) if isinstance(outcome, TimedOut | Unreachable) else None
    if outcome.status not in retry.TRANSIENT:
        return None
    named = retry.retry_after(outcome.headers)
    return retry.backoff(tries) if named is None else named
