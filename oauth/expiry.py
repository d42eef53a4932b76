"""How long a key or token that a person creates is valid, and the state that pages show of it."""

from datetime import datetime, timedelta
from typing import Final, Protocol

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

# In days; 0 is for ever.
LIFETIMES: Final = {
    30: _("30 days"),
    90: _("90 days"),
    365: _("One year"),
    0: _("No expiry"),
}
# In days: what a date can hold, and nobody needs more.
MAX_DAYS: Final = 3650
# How exact `last_used_at` is.
USE_SECONDS: Final = 600
# How many of its last characters identify a secret in a list.
ENDING: Final = 4


class ExpiringCredential(Protocol):
    """What a key and a token have in common."""

    @property
    def revoked_at(self) -> datetime | None: ...
    @property
    def expires_at(self) -> datetime | None: ...


def days_from_now(days: int) -> datetime | None:
    """Returns when something that is created now expires; None for 0 days, which is for ever."""
    return timezone.now() + timedelta(days=days) if days else None


def status(row: ExpiringCredential) -> str:
    """Returns whether a key or token is active, expired or revoked."""
    if row.revoked_at is not None:
        return "revoked"
    is_expired = row.expires_at is not None and row.expires_at <= timezone.now()
    return "expired" if is_expired else "active"
