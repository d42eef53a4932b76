"""The statements behind the key figures: what happened in intervals, and what there was at moments.

Intervals are given by their edges: n + 1 moments in ascending order are the limits of n intervals,
each from an edge up to, not including, the next one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Final, TypeAlias

from django.db.models import (
    Aggregate,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.expressions import Combinable
from django.db.models.lookups import LessThan

from customers.kpis.buckets import Edges, IntervalNumber, sum_by_interval
from workspace import access
from workspace.access import Access
from workspace.models import (
    STARTED,
    Conversation,
    ConversationOutcome,
    Customer,
    Ticket,
    TicketStatus,
)

Counts: TypeAlias = dict[str, float]
MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows that count in the interval in which `moment` lies, and what is summed up over them."""

    rows: Callable[[Access], QuerySet[Any]]
    moment: Combinable
    sums: Mapping[str, Aggregate]


def customers(whose: Access) -> QuerySet[Customer]:
    """Returns customers, without those who churned before they started: they never were one."""
    return access.customers(whose).filter(Q(churned_at=None) | Q(churned_at__gte=STARTED))


def tickets(whose: Access) -> QuerySet[Ticket]:
    return access.tickets(whose).exclude(status=TicketStatus.SPAM)


def conversations(whose: Access) -> QuerySet[Conversation]:
    return access.conversations(whose)


def _time_since_creation(moment: str) -> Combinable:
    return ExpressionWrapper(F(moment) - F("created_at"), output_field=DurationField())


STARTS: Final = CountedRows(customers, STARTED, {"new_customers": Count("pk")})
CREATIONS: Final = CountedRows(
    tickets,
    F("created_at"),
    {
        "tickets": Count("pk"),
        "responded_tickets": Count("first_response_at"),
        "response_minutes": Sum(_time_since_creation("first_response_at")),
    },
)
CONVERSATIONS: Final = CountedRows(
    conversations,
    F("started_at"),
    {
        "conversations": Count("pk"),
        "ended_conversations": Count("pk", filter=~Q(outcome="")),
        "resolved_conversations": Count("pk", filter=Q(outcome=ConversationOutcome.RESOLVED)),
        "escalated_conversations": Count("pk", filter=Q(outcome=ConversationOutcome.ESCALATED)),
    },
)
FLOWS: Final = (
    STARTS,
    CountedRows(customers, F("churned_at"), {"churned_customers": Count("pk")}),
    CREATIONS,
    CountedRows(
        tickets,
        F("resolved_at"),
        {
            "resolved_tickets": Count("pk"),
            "minutes_to_resolve": Sum(_time_since_creation("resolved_at")),
        },
    ),
    CONVERSATIONS,
)
FLOW_NAMES: Final = frozenset(name for flow in FLOWS for name in flow.sums)


def flows(whose: Access, edges: Edges, wanted: frozenset[str] = FLOW_NAMES) -> list[Counts]:
    """Returns the wanted counts of each interval; durations in minutes."""
    counts: list[Counts] = [{} for _ in edges[1:]]
    for flow in FLOWS:
        sums = {name: total for name, total in flow.sums.items() if name in wanted}
        found = sum_by_interval(flow.rows(whose), flow.moment, edges, **sums) if sums else {}
        for number, interval in enumerate(counts):
            interval.update((name, _plain(found.get(number, {}).get(name))) for name in sums)
    return counts


def customers_at(whose: Access, moment: datetime) -> int:
    """Returns how many had become customers before a moment and had not churned by then."""
    stayed = Q(churned_at=None) | Q(churned_at__gte=moment)
    return customers(whose).filter(stayed, LessThan(STARTED, moment)).count()


def accounts(whose: Access, edges: Edges) -> list[Counts]:
    """Returns the revenue and the health at the end of each interval.

    A company is active from its first customer's start until all its customers have churned. Its
    MRR counts once; the MRR of a customer counts if their company has none.
    """
    # One slot more than there are intervals, for what comes after the last one.
    changes = [dict.fromkeys(("mrr", "rated_companies", "health"), 0.0) for _ in edges]
    for start, end, amounts in (*_companies(whose, edges), *_customers_mrr(whose, edges)):
        for name, amount in amounts.items():
            changes[start][name] += amount
            if end is not None:
                changes[end][name] -= amount
    return list(accumulate(changes[:-1], _add_counts))


def _plain(value: float | timedelta | None) -> float:
    return value / MINUTE if isinstance(value, timedelta) else value or 0


# From which interval on something counts, from which it does not, and what it adds.
Change: TypeAlias = tuple[int, int | None, Counts]


def _companies(whose: Access, edges: Edges) -> Iterator[Change]:
    rows = customers(whose).filter(
        Q(company__mrr__isnull=False) | Q(company__health_score__isnull=False)
    )
    spans = (
        rows.values_list("company__mrr", "company__health_score", "company_id")
        .annotate(
            first=Min(STARTED), last=Max("churned_at"), people=Count("pk"), lost=Count("churned_at")
        )
        .order_by()
    )
    for mrr, health, _, first, last, people, lost in spans:
        amounts = {
            "mrr": float(mrr or 0),
            "rated_companies": float(health is not None),
            "health": float(health or 0),
        }
        end = _interval(bisect_right(edges, last)) if people == lost else None
        yield _interval(bisect_right(edges, first)), end, amounts


def _customers_mrr(whose: Access, edges: Edges) -> Iterator[Change]:
    rows = customers(whose).filter(mrr__isnull=False, company__mrr=None)
    start, end = IntervalNumber(STARTED, edges), IntervalNumber("churned_at", edges)
    sums = rows.annotate(start=start, end=end).values_list("start", "end").annotate(Sum("mrr"))
    for first, last, mrr in sums.order_by():
        ending = None if last is None else _interval(last)
        yield _interval(first), ending, {"mrr": float(mrr)}


def _interval(bucket: int) -> int:
    """The first interval whose end is after a moment in the bucket."""
    return max(bucket - 1, 0)


def _add_counts(total: Counts, change: Counts) -> Counts:
    return {name: round(total[name] + amount, 2) for name, amount in change.items()}
