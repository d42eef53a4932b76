"""How customers rated the answers of AI agents."""

from django.db.models import Count, Q

from customers.kpis.durations import Span
from workspace import access
from workspace.access import Access
from workspace.models import GivenBy, Rating


def rate_of_good_ratings(whose: Access, span: Span) -> float | None:
    """Returns the share of good ones in the ratings of customers; None without any."""
    given = access.feedback(whose).filter(span.contains("at"), given_by=GivenBy.CUSTOMER)
    found = given.filter(rating__in=Rating.values).aggregate(
        good=Count("pk", Q(rating=Rating.GOOD)), all=Count("pk")
    )
    return found["good"] / found["all"] if found["all"] else None
