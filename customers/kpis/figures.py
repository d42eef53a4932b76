"""The key figures of an organization, and what they are computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from customers.kpis.counts import Counts


class Better(StrEnum):
    """The direction in which a figure improves."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure: a count, or the quotient of two counts.

    `unit` is "money" for an amount in the organization's currency. `of` names what a quotient is
    divided by.
    """

    unit: str
    better: Better
    definition: str
    count: str
    of: str = ""


FIGURES: Final[Mapping[str, Figure]] = {
    "mrr": Figure(
        "money",
        Better.UP,
        "Monthly recurring revenue at the end of the period: the present MRR of every company with "
        "an active customer, and of active customers whose company has none. The MRR that somebody "
        "had in the past is not known.",
        "mrr",
    ),
    "customers": Figure(
        "customers",
        Better.UP,
        "Customers at the end of the period: signed up, or else first seen, and not churned.",
        "customers",
    ),
    "new_customers": Figure(
        "customers",
        Better.UP,
        "Customers who signed up, or else were first seen, in the period.",
        "new_customers",
    ),
    "churned_customers": Figure(
        "customers", Better.DOWN, "Customers who churned in the period.", "churned_customers"
    ),
    "churn_rate": Figure(
        "ratio",
        Better.DOWN,
        "Customers who churned in the period, divided by customers at its start.",
        "churned_customers",
        of="customers_at_start",
    ),
    "tickets": Figure(
        "tickets", Better.DOWN, "Tickets created in the period, without spam.", "tickets"
    ),
    "first_response_minutes": Figure(
        "minutes",
        Better.DOWN,
        "Mean time until the first response, over tickets created in the period that have had one, "
        "without spam.",
        "response_minutes",
        of="responded_tickets",
    ),
    "resolution_minutes": Figure(
        "minutes",
        Better.DOWN,
        "Mean time from creation to resolution, over tickets resolved in the period, without spam.",
        "minutes_to_resolve",
        of="resolved_tickets",
    ),
    "ai_resolution_rate": Figure(
        "ratio",
        Better.UP,
        "Conversations that an AI agent resolved, divided by all that began in the period and are "
        "over.",
        "resolved_conversations",
        of="ended_conversations",
    ),
    "escalation_rate": Figure(
        "ratio",
        Better.DOWN,
        "Conversations that were escalated to a person, divided by all that began in the period "
        "and are over.",
        "escalated_conversations",
        of="ended_conversations",
    ),
    "average_health": Figure(
        "points of 100",
        Better.UP,
        "Mean present health score of the companies with an active customer at the end of the "
        "period.",
        "health",
        of="rated_companies",
    ),
}


def value(figure: Figure, counts: Counts) -> float | None:
    """Returns a figure's value; None where there is nothing to divide by."""
    if not figure.of:
        return counts[figure.count]
    return counts[figure.count] / counts[figure.of] if counts[figure.of] else None
