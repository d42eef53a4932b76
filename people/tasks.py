from django.utils import timezone

from foundation.background import task
from people import balances
from people.mcp import budget


@task(name="people.carry_over")
def carry_over() -> int:
    """Carries leave into the new leave year where one has begun; safe to run twice."""
    return balances.carry_over_everywhere(timezone.now())


@task(name="people.prune_data_use")
def prune_data_use() -> int:
    """Deletes rows that the budget of personal data needs no more."""
    return budget.prune()
