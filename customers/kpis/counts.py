"""The statements behind the key figures: what happened in intervals, and what there was at moments.

Intervals are given by their edges: n + 1 moments in ascending order are the limits of n intervals,
each from an edge up to, not including, the next one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias

from django.db.models import (
    Aggregate,
    Count,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.expressions import Combinable

from customers import lifecycles
from customers.kpis.buckets import Edges, sum_by_interval
from workspace import access
from workspace.access import Access
from workspace.models import (
    STARTED,
    Company,
    Conversation,
    ConversationOutcome,
    Customer,
    Ticket,
    TicketStatus,
)

Counts: TypeAlias = dict[str, float]
MINUTE: Final = timedelta(minutes=1)


class Kind(StrEnum):
    """The rows that a count is of, as triggers name them in `KpiChange`."""

    CUSTOMERS = "customers"
    TICKETS = "tickets"
    CONVERSATIONS = "conversations"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows that count in the interval in which `moment` lies, and what is summed up over them."""

    kind: Kind
    rows: Callable[[Access], QuerySet[Any]]
    moment: Combinable
    sums: Mapping[str, Aggregate]


def customers(whose: Access) -> QuerySet[Customer]:
    """Returns customers, without those who churned before they started: they never were one."""
    return access.customers(whose).filter(lifecycles.EVER_CURRENT)


def tickets(whose: Access) -> QuerySet[Ticket]:
    return access.tickets(whose).exclude(status=TicketStatus.SPAM)


def conversations(whose: Access) -> QuerySet[Conversation]:
    return access.conversations(whose)


def _time_since_creation(moment: str) -> Combinable:
    return ExpressionWrapper(F(moment) - F("created_at"), output_field=DurationField())


STARTS: Final = CountedRows(Kind.CUSTOMERS, customers, STARTED, {"new_customers": Count("pk")})
CREATIONS: Final = CountedRows(
    Kind.TICKETS,
    tickets,
    F("created_at"),
    {
        "tickets": Count("pk"),
        "responded_tickets": Count("first_response_at"),
        "response_minutes": Sum(_time_since_creation("first_response_at")),
    },
)
CONVERSATIONS: Final = CountedRows(
    Kind.CONVERSATIONS,
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
    CountedRows(Kind.CUSTOMERS, customers, F("churned_at"), {"churned_customers": Count("pk")}),
    CREATIONS,
    CountedRows(
        Kind.TICKETS,
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
KINDS: Final[Mapping[str, Kind]] = {name: flow.kind for flow in FLOWS for name in flow.sums}


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
    return active_customers(whose, moment).count()


def active_customers(whose: Access, moment: datetime) -> QuerySet[Customer]:
    """Returns those who had become customers before a moment and had not churned by then."""
    return access.customers(whose).filter(lifecycles.was_current_at(moment))


def active_companies(whose: Access, moment: datetime) -> QuerySet[Company]:
    """Returns the companies that had an active customer at a moment."""
    theirs = active_customers(whose, moment).filter(company=OuterRef("pk"))
    return access.companies(whose).filter(Exists(theirs))


def paying_for_themselves(rows: QuerySet[Customer]) -> QuerySet[Customer]:
    """Returns the customers whose own MRR counts: their company has none that counts."""
    return rows.filter(mrr__isnull=False, company__mrr=None)


def accounts_at(whose: Access, moment: datetime) -> Counts:
    """Returns the revenue and the health of who was active at a moment, with present amounts."""
    of_companies = active_companies(whose, moment).aggregate(
        mrr=Sum("mrr"), rated_companies=Count("health_score"), health=Sum("health_score")
    )
    own = paying_for_themselves(active_customers(whose, moment)).aggregate(mrr=Sum("mrr"))["mrr"]
    mrr = (of_companies["mrr"] or 0) + (own or 0)
    return {
        "mrr": round(float(mrr), 2),
        "rated_companies": of_companies["rated_companies"],
        "health": of_companies["health"] or 0,
    }


def _plain(value: float | timedelta | None) -> float:
    return value / MINUTE if isinstance(value, timedelta) else value or 0
