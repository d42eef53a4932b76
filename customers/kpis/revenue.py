"""Who pays, what churn has cost, and figures by plan or industry."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from django.db.models import Aggregate, Count, Exists, F, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Lower, NullIf
from django.db.models.lookups import GreaterThanOrEqual, LessThan

from customers.kpis import counts
from customers.kpis.durations import Span
from workspace import access
from workspace.access import Access
from workspace.models import STARTED, Company, Customer, Lifecycle

FREE_PLANS: Final = ("free", "trial")
PLAN: Final = "plan"


def paying_customers(whose: Access, span: Span) -> QuerySet[Customer]:
    """Returns the customers at the end of a period who pay, or whose company does."""
    pays = Q(company__mrr__gt=0) | Q(company__mrr=None, mrr__gt=0)
    active = counts.active_customers(whose, span.end).filter(pays)
    plan = Lower(Coalesce(NullIf("plan", Value("")), "company__plan", Value("")))
    return (
        active.exclude(lifecycle=Lifecycle.TRIAL)
        .alias(known_plan=plan)
        .exclude(known_plan__in=FREE_PLANS)
    )


def count_paying(whose: Access, span: Span) -> float:
    return paying_customers(whose, span).count()


def churned_companies(whose: Access, span: Span) -> QuerySet[Company]:
    """Returns the companies that lost a customer in a period and had none left at its end."""
    lost = counts.customers(whose).filter(span.contains("churned_at"), company=OuterRef("pk"))
    left = counts.active_customers(whose, span.end).filter(company=OuterRef("pk"))
    return access.companies(whose).filter(Exists(lost), ~Exists(left))


def churned_customers(whose: Access, span: Span) -> QuerySet[Customer]:
    return counts.customers(whose).filter(span.contains("churned_at"))


def sum_churned(whose: Access, span: Span) -> float:
    """Returns the MRR of those who churned in a period."""
    own = counts.paying_for_themselves(churned_customers(whose, span))
    lost = (churned_companies(whose, span), own)
    return float(sum((_sum_mrr(rows) for rows in lost), Decimal(0)))


def _sum_mrr(rows: QuerySet[Any]) -> Decimal:
    return round(Decimal(rows.aggregate(mrr=Sum("mrr"))["mrr"] or 0), 2)


# Rows, and their columns of plan and industry.
Part: TypeAlias = tuple[QuerySet[Any], Combinable, Combinable]


def _company_part(rows: QuerySet[Company]) -> Part:
    return rows, F("plan"), F("industry")


def _customer_part(rows: QuerySet[Customer]) -> Part:
    return rows, F("plan"), F("company__industry")


def _new_customers(whose: Access, span: Span) -> QuerySet[Customer]:
    return counts.customers(whose).filter(
        GreaterThanOrEqual(STARTED, span.start), LessThan(STARTED, span.end)
    )


def _list_paying_parts(whose: Access, span: Span) -> list[Part]:
    own = counts.paying_for_themselves(counts.active_customers(whose, span.end))
    return [_company_part(counts.active_companies(whose, span.end)), _customer_part(own)]


def _list_churned_parts(whose: Access, span: Span) -> list[Part]:
    own = counts.paying_for_themselves(churned_customers(whose, span))
    return [_company_part(churned_companies(whose, span)), _customer_part(own)]


def _list_tickets(whose: Access, span: Span) -> list[Part]:
    plan = Coalesce(NullIf("company__plan", Value("")), "customer__plan")
    rows = counts.tickets(whose).filter(span.contains("created_at"))
    return [(rows, plan, F("company__industry"))]


MRR: Final = Sum("mrr")
NUMBER: Final = Count("pk")
# The figures that can be grouped, and how each row counts.
GROUPED: Final[Mapping[str, tuple[Aggregate, Callable[[Access, Span], list[Part]]]]] = {
    "mrr": (MRR, _list_paying_parts),
    "churned_mrr": (MRR, _list_churned_parts),
    "customers": (
        NUMBER,
        lambda whose, span: [_customer_part(counts.active_customers(whose, span.end))],
    ),
    "paying_customers": (
        NUMBER,
        lambda whose, span: [_customer_part(paying_customers(whose, span))],
    ),
    "new_customers": (NUMBER, lambda whose, span: [_customer_part(_new_customers(whose, span))]),
    "churned_customers": (
        NUMBER,
        lambda whose, span: [_customer_part(churned_customers(whose, span))],
    ),
    "tickets": (NUMBER, _list_tickets),
}


def list_groups(whose: Access, span: Span, figure: str, column: str) -> Iterator[tuple[str, float]]:
    """Yields plans or industries with the amount of a figure; a value may come twice."""
    total, parts = GROUPED[figure]
    for rows, plan, industry in parts(whose, span):
        by = plan if column == PLAN else industry
        grouped = rows.order_by().annotate(group_value=by).values_list("group_value")
        for value, amount in grouped.annotate(amount=total):
            if amount:
                yield value or "", float(amount)
