"""What time makes of requests: nobody decided, or whoever carried one out did not come back."""

from datetime import timedelta
from typing import Final

from django.utils import timezone

from tools_registry.billing.models import BillingRequest, Status

# Far beyond the deadline of a vendor call: whoever is still at it then has died.
CARRIED_OUT_WITHIN: Final = timedelta(minutes=5)
# Stripe may forget a key once it is 24 hours old, and would act anew (API reference, Idempotent
# requests). An hour of that is left for clocks and slow answers.
KEY_LIFETIME: Final = timedelta(hours=23)
LEFT_BEHIND: Final = "It was begun, and nobody knows how it ended."


def settle() -> int:
    """Mark requests that lapsed or were left behind; returns how many."""
    now = timezone.now()
    rows = BillingRequest.objects
    stale = rows.filter(status=Status.RUNNING, claimed_at__lt=now - CARRIED_OUT_WITHIN)
    lapsed = rows.filter(status=Status.PENDING, expires_at__lte=now)
    return sum(
        (
            stale.filter(sent_at__isnull=False).update(status=Status.UNKNOWN, problem=LEFT_BEHIND),
            # Nothing of it has left this server.
            stale.filter(sent_at__isnull=True).update(
                status=Status.PENDING, claim=None, decided_by=None, decided_at=None
            ),
            lapsed.update(status=Status.EXPIRED),
        )
    )
