"""How many connections or calls a caller may hold open in one process.

Each credential has a limit, and so have all credentials of one person, and of one organization:
another token gives no more slots.
"""

from collections.abc import Callable
from typing import Final

from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimits
from oauth.principal import Principal

# Of what one credential may hold open. A person uses several clients and projects at a time.
OF_PERSON: Final = 4
OF_ORGANIZATION: Final = 100


class CallerSlots:
    """Counts slots in use by credential, person and organization; `most` is for a credential."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._limits = ConcurrencyLimits(
            ConcurrencyLimit(per_key=lambda _: most()),
            ConcurrencyLimit(per_key=lambda _: most() * OF_PERSON),
            ConcurrencyLimit(per_key=lambda _: most() * OF_ORGANIZATION),
        )

    def acquire(self, who: Principal) -> bool:
        """Takes a slot, or returns False without taking one."""
        return self._limits.acquire(who.authorization_id, who.party, who.organization_id)

    def release(self, who: Principal) -> None:
        """Frees a slot. Raises ValueError if none is taken."""
        self._limits.release(who.authorization_id, who.party, who.organization_id)

    @property
    def is_idle(self) -> bool:
        """Returns whether no slot is taken."""
        return self._limits.is_idle
