from django.utils import timezone

from foundation.background import task
from people import employment, recounting, search_backfill
from people.mcp import budget


@task(name="people.apply_employment")
def apply_employment() -> int:
    """Gives people the employment that was entered ahead of today; safe to run twice."""
    return employment.apply_due(timezone.now())


@task(name=recounting.TASK)
def recount() -> int:
    """Counts requests again whose days have changed; safe to run twice."""
    return recounting.run_waiting()


@task(name="people.prune_data_use")
def prune_data_use() -> int:
    """Deletes rows that the budget of personal data needs no more."""
    return budget.prune()


@task(name="people.fill_search_texts")
def fill_search_texts() -> int:
    """Computes the words of people who have none; returns of how many."""
    return search_backfill.fill_search_texts()
