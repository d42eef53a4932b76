from django.utils import timezone

from foundation.background import task
from people import balances


@task(name="people.carry_over")
def carry_over() -> int:
    """Carries leave into the new leave year where one has begun; safe to run twice."""
    return balances.carry_over_everywhere(timezone.localdate())
