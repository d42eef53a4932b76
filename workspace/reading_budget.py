"""The time of a day in which documents and files of an organization are read.

They are text of others, which may be made to take as long as it may. All that reads them counts
together: documents of the knowledge base, imports, and documents of the gateway.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final
from uuid import UUID

from django.conf import settings

from foundation.limits import charging
from foundation.limits.window import MAX_COST, Bucket, Limit, LimitStoreDown

DAY: Final = 86_400
# Of a second: what the time of a day is counted in, as a limit has a million units at most.
TENTHS: Final = 10


class ReadingBudgetSpent(Exception):
    """The organization has used up the time of a day, or has less left than reading may take."""


@contextmanager
def spend(organization_id: UUID, seconds: float) -> Iterator[None]:
    """Counts what is done as reading. Raises ReadingBudgetSpent before it is begun.

    `seconds` are charged before, and what was not used is given back: otherwise the last second of
    a budget would be used without end. What takes longer is charged when it has ended, up to all
    that is left. Enter it outside a transaction: the row of the count would stay locked in it.
    """
    limit = Limit(settings.HALO_KNOWLEDGE_DAILY_SECONDS * TENTHS, DAY)
    expected = math.ceil(seconds * TENTHS)
    budget = Bucket(f"reading:{organization_id}", limit, expected, is_given_back=True)
    if charging.charge_or_share([budget], on_outage=lambda: None) is not None:
        raise ReadingBudgetSpent
    started = time.monotonic()
    try:
        yield
    finally:
        left = expected - math.ceil((time.monotonic() - started) * TENTHS)
        if left < 0:
            _charge_overrun(replace(budget, cost=min(-left, MAX_COST)))
        elif left > 0:
            with suppress(LimitStoreDown):
                charging.give_back([replace(budget, cost=left)])


def _charge_overrun(overrun: Bucket) -> None:
    """Charges an overrun, or what is left if that is less, as no charge counts in part."""
    refused = charging.charge_or_share([overrun], on_outage=lambda: None)
    if refused is not None and refused.remaining:
        left = replace(overrun, cost=refused.remaining)
        charging.charge_or_share([left], on_outage=lambda: None)
