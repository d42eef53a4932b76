"""What AI clients are answered of absences: nothing from which sickness can be computed.

A balance says what was taken from allowances. Together with a list of all absences it tells those
that it does not count, and most of them are days of sickness. Lists and balances for AI clients
therefore have the same categories (docs/decisions/0113).
"""

from dataclasses import replace
from typing import Any, Final

from django.db.models import Q, QuerySet

from people import ledger
from people.balances import Balance
from people.changes import ConflictingChange
from people.models import TimeOffCategory
from people.request_checks import OverlappingRequest

# Of rows that have a category; as `is_disclosed`.
DISCLOSED: Final = Q(category__is_sickness=False) & (
    Q(category__consumes_balance=True) | Q(category__is_named_to_ai=True)
)


def is_disclosed(category: TimeOffCategory) -> bool:
    """Returns whether absences of a category, and its balances, are answered to AI clients."""
    return not category.is_sickness and (category.consumes_balance or category.is_named_to_ai)


def limit_rows(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Returns those rows of absences or of the ledger that are answered to AI clients."""
    return rows.filter(DISCLOSED)


def limit_balance(balance: Balance) -> Balance:
    """Returns a balance with the categories that are answered to AI clients.

    Only for categories that are named to them, they see which absence was taken from the allowance.
    """
    first_day, last_day = balance.year.starts_on, balance.year.ends_on
    kept = [
        one
        if one.category.is_named_to_ai
        else replace(one, lines=ledger.merge_requests(one.lines, first_day, last_day))
        for one in balance.categories
        if is_disclosed(one.category)
    ]
    return replace(balance, categories=kept)


def limit_problem(problem: Exception) -> Exception:
    """Returns a refusal without the days of an absence that AI clients are not answered."""
    if isinstance(problem, OverlappingRequest) and not is_disclosed(problem.other.category):
        return ConflictingChange(problem.short_message, problem.field)
    return problem
