"""The times that a request sends, by the server's clock.

The clock of a device may be wrong by years. A request that says when it was sent, `sent_at`, shows
by how much: its other times are moved by the difference. Source: docs/identification.md, Times.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone

from customers.identification import field_values
from customers.identification.field_values import InvalidField, InvalidValue
from ingestion.callers import SdkCaller

# A page sends at once, or again after a failure. Older times would be claims about the past.
MAX_AGE_OF_PAGES: Final = timedelta(days=30)
# A difference within this is the time that the request took.
MIN_CORRECTION: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class SenderClock:
    """How far the clock of a sender is behind, and the earliest time that it may send."""

    correction: timedelta
    earliest: datetime

    def correct(self, sent: datetime | None, place: str) -> datetime | None:
        """Returns when it happened, by the server's clock; None if nothing was sent.

        Raises InvalidField, which names `place`, for an absurd time.
        """
        if sent is None:
            return None
        try:
            return field_values.check_happened(sent + self.correction, self.earliest)
        except InvalidValue as refused:
            raise InvalidField(place, f"{refused} Check the clock, and send sent_at.") from None


def read_clock(caller: SdkCaller, sent_at: datetime | None = None) -> SenderClock:
    """Returns the clock of who sent a request at `sent_at`, by that clock."""
    now = timezone.now()
    behind = timedelta() if sent_at is None else now - sent_at
    correction = behind if abs(behind) > MIN_CORRECTION else timedelta()
    earliest = field_values.FIRST_ACTIVITY if caller.is_server else now - MAX_AGE_OF_PAGES
    return SenderClock(correction, earliest)
