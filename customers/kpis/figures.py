"""The key figures of an organization, and what they are computed from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from customers.kpis import durations, ratings, revenue
from customers.kpis.counts import Counts
from customers.kpis.durations import Moment, Span
from workspace.access import Access


class Better(StrEnum):
    """The direction in which a figure improves."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure: a count, or the quotient of two counts.

    `unit` is "money" for an amount in the organization's currency. `of` names what a quotient is
    divided by. A figure with `compute` is computed from the rows of a period instead.
    """

    unit: str
    better: Better
    definition: str
    count: str = ""
    of: str = ""
    compute: Callable[[Access, Span], float | None] | None = None


MINUTES_TO_RESPOND: Final = (
    "time until the first response, over tickets created in the period that have had one, without "
    "spam"
)
MINUTES_TO_RESOLVE: Final = (
    "time from creation to resolution, over tickets resolved in the period, without spam"
)
PERCENTILES: Final = {50: "Median", 90: "90th percentile"}
PERCENTILE: Final = "Between two tickets, it is in proportion to their distance."
IN_TIME: Final = (
    "Tickets created in the period that {had} within within_minutes, divided by those that {had} "
    "at all or were created longer ago than that. Without spam."
)


def _percentile(percent: int, moment: Moment, words: str) -> Figure:
    name = PERCENTILES[percent]
    of = partial(durations.percentile, moment=moment, percent=percent)
    return Figure("minutes", Better.DOWN, f"{name} of the {words}. {PERCENTILE}", compute=of)


def _share_in_time(moment: Moment, had: str) -> Figure:
    share = partial(durations.share_in_time, moment=moment)
    return Figure("ratio", Better.UP, IN_TIME.format(had=had), compute=share)


FIGURES: Final[Mapping[str, Figure]] = {
    "mrr": Figure(
        "money",
        Better.UP,
        "Monthly recurring revenue at the end of the period: the MRR of every company with an "
        "active customer, and of active customers whose company has none. Amounts are those of now "
        "or, of the past, as recorded then; where none were recorded, present amounts are used.",
        "mrr",
    ),
    "customers": Figure(
        "customers",
        Better.UP,
        "Customers at the end of the period: signed up, or else first seen, and not churned. Those "
        "on trial or on a free plan are included: paying_customers leaves them out.",
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
        "Mean health score of the companies with an active customer at the end of the period: now "
        "or, of the past, as recorded then; where none were recorded, present scores are used.",
        "health",
        of="rated_companies",
    ),
}
# Computed from all rows of a period, and only when a call names them.
DETAILED_FIGURES: Final[Mapping[str, Figure]] = {
    "paying_customers": Figure(
        "customers",
        Better.UP,
        "Customers at the end of the period whose company has an MRR above zero, or who have one "
        "themselves where the company has none. Those on trial, or on a plan named free or trial, "
        "do not pay. MRR, plan and trial are those of now.",
        compute=revenue.count_paying,
    ),
    "churned_mrr": Figure(
        "money",
        Better.DOWN,
        "MRR lost by churn: of companies that lost a customer in the period and had none left at "
        "its end, and of customers who churned in it whose company has no MRR. The amount is the "
        "last one that was sent.",
        compute=revenue.sum_churned,
    ),
    "good_rating_rate": Figure(
        "ratio",
        Better.UP,
        "Good ratings, divided by all ratings, of the answers of AI agents, that customers gave in "
        "the period. Ratings of trainers are not counted.",
        compute=ratings.rate_of_good_ratings,
    ),
    "first_response_minutes_p50": _percentile(50, Moment.FIRST_RESPONSE, MINUTES_TO_RESPOND),
    "first_response_minutes_p90": _percentile(90, Moment.FIRST_RESPONSE, MINUTES_TO_RESPOND),
    "resolution_minutes_p50": _percentile(50, Moment.RESOLUTION, MINUTES_TO_RESOLVE),
    "resolution_minutes_p90": _percentile(90, Moment.RESOLUTION, MINUTES_TO_RESOLVE),
    "first_response_within_rate": _share_in_time(Moment.FIRST_RESPONSE, "had a first response"),
    "resolution_within_rate": _share_in_time(Moment.RESOLUTION, "were resolved"),
}
ALL_FIGURES: Final = {**FIGURES, **DETAILED_FIGURES}


def value(figure: Figure, counts: Counts) -> float | None:
    """Returns a figure's value; None where there is nothing to divide by."""
    if not figure.of:
        return counts[figure.count]
    return counts[figure.count] / counts[figure.of] if counts[figure.of] else None
