"""The calls of `./run bench tools`: arguments of each data tool, filled from rows of the demo data.

A call is repeated with other rows each time: `{email}` is the address of the next customer.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from workspace.models import Organization

Arguments = Mapping[str, Any]
Sample = Mapping[str, str]

RECORD, FIGURES, SEARCH = 50, 150, 100
# Goals for p95 on PostgreSQL with the large demo data, in milliseconds; on SQLite twice that.
GOALS: Final[Mapping[str, int]] = {
    "data_query_metrics": FIGURES,
    "data_query_activity_time_series": FIGURES,
    "data_search_knowledge": SEARCH,
}
SLOWER_ON_SQLITE: Final = 2
SAMPLES: Final = 200


@dataclass(frozen=True)
class Case:
    """A call of a tool; `is_bound` binds it to the customer of the sample."""

    tool: str
    title: str
    arguments: Arguments
    is_bound: bool = False

    def goal_on(self, store: str) -> int:
        """Milliseconds that p95 may be."""
        return GOALS.get(self.tool, RECORD) * (SLOWER_ON_SQLITE if store == "sqlite" else 1)

    def filled(self, sample: Sample) -> dict[str, Any]:
        """The arguments, with the values of a sample in place of their names."""
        return {
            name: value.format_map(sample) if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }


def _cases(tool: str, *calls: tuple[str, Arguments]) -> Iterator[Case]:
    for title, arguments in calls:
        yield Case(tool, title, arguments, is_bound=title.startswith("bound"))


CASES: Final[tuple[Case, ...]] = (
    *_cases(
        "data_find_user",
        ("who is this customer", {"user": "{email}"}),
        ("by name, detailed", {"user": "{name}", "response_format": "detailed"}),
        ("unknown name", {"user": "Nobody Atall"}),
        ("bound", {"user": "{customer}"}),
    ),
    *_cases(
        "data_search_users",
        ("newest seen", {}),
        ("plan", {"plan": "Pro"}),
        ("words", {"query": "maria"}),
        ("trait", {"trait": "beta=true"}),
        ("company", {"company": "{company}"}),
        ("not seen for 60 days", {"plan": "pro", "to": "-60d", "sort": "last_seen_asc"}),
        ("group_by plan", {"group_by": "plan"}),
        ("group_by company", {"group_by": "company"}),
        ("nothing", {"role": "astronaut"}),
        ("bound", {}),
    ),
    *_cases(
        "data_search_leads",
        ("newest", {}),
        ("words", {"query": "maria"}),
        ("source", {"source": "Form"}),
        ("group_by day", {"group_by": "day"}),
        ("nothing", {"source": "pigeon"}),
    ),
    *_cases(
        "data_find_company",
        ("id", {"company": "{company}"}),
        ("Acme", {"company": "Acme"}),
        ("unknown name", {"company": "Nowhere Incorporated"}),
    ),
    *_cases(
        "data_search_companies",
        ("largest", {}),
        ("words", {"query": "acme"}),
        ("industry", {"industry": "software"}),
        ("group_by health_band", {"group_by": "health_band"}),
        ("nothing", {"plan": "unobtainable"}),
    ),
    *_cases(
        "data_search_tickets",
        ("what is open", {"status": "unresolved"}),
        ("words", {"query": "sso", "period": "last_week"}),
        ("common word", {"query": "board"}),
        ("two common words", {"query": "board export"}),
        ("category", {"category": "billing"}),
        ("company", {"company": "{company}"}),
        ("group_by status", {"group_by": "status"}),
        ("group_by day", {"group_by": "day"}),
        ("group_by company", {"group_by": "company"}),
        ("common word, group_by category", {"query": "board", "group_by": "category"}),
        ("nothing", {"category": "gardening"}),
        ("no such word", {"query": "xylophone"}),
        ("bound", {"query": "board"}),
    ),
    *_cases("data_get_ticket", ("id", {"ticket_id": "{ticket}"})),
    *_cases(
        "data_search_transcripts",
        (
            "what was said to Acme about onboarding",
            {
                "query": "onboarding",
                "company": "Acme",
                "said_by": "agent",
                "period": "last_quarter",
            },
        ),
        ("newest", {}),
        ("common word", {"query": "board"}),
        ("common word of customers", {"query": "board", "said_by": "customer"}),
        ("relevance", {"query": "sso login", "sort": "relevance"}),
        ("group_by day", {"group_by": "day"}),
        ("group_by agent", {"group_by": "agent"}),
        ("common word, group_by mood", {"query": "board", "group_by": "mood"}),
        ("no such word", {"query": "xylophone"}),
        ("bound", {"query": "board"}),
    ),
    *_cases("data_get_transcript", ("id", {"transcript_id": "{conversation}"})),
    *_cases(
        "data_search_events",
        ("newest", {}),
        ("type", {"event_type": "click", "element_selector": "#upgrade"}),
        ("page", {"page_url": "/billing"}),
        ("page, 90 days", {"page_url": "/billing", "period": "last_90_days"}),
        ("customer", {"user": "{customer}", "period": "all_time"}),
        ("company", {"company": "{company}", "period": "all_time"}),
        ("group_by event_type", {"group_by": "event_type"}),
        ("group_by day, 30 days", {"group_by": "day", "period": "last_30_days"}),
        ("group_by user, 30 days", {"group_by": "user", "period": "last_30_days"}),
        ("nothing", {"event_type": "earthquake"}),
        ("bound", {"period": "all_time"}),
    ),
    *_cases(
        "data_user_journey",
        ("everything", {"user": "{customer}"}),
        ("30 days", {"user": "{email}", "period": "last_30_days"}),
    ),
    *_cases(
        "data_list_negative_feedback",
        ("30 days", {}),
        ("all time", {"period": "all_time"}),
        ("group_by agent", {"group_by": "agent", "period": "all_time"}),
    ),
    *_cases(
        "data_low_sentiment_conversations",
        ("30 days", {}),
        ("a year", {"period": "last_365_days"}),
        ("group_by company", {"group_by": "company", "period": "last_365_days"}),
    ),
    *_cases(
        "data_top_pages_before_chat",
        ("30 days", {}),
        ("a year", {"period": "last_365_days"}),
    ),
    *_cases(
        "data_top_unresolved_questions",
        ("30 days", {}),
        ("a year", {"period": "last_365_days"}),
    ),
    *_cases(
        "data_query_metrics",
        ("how churn has changed", {"metric": "churn_rate", "period": "last_30_days"}),
        ("all, 30 days", {}),
        ("all, a year", {"period": "last_365_days"}),
    ),
    *_cases(
        "data_query_activity_time_series",
        ("active users, 30 days", {"metric": "active_users"}),
        ("tickets, a year by week", {"metric": "tickets", "bucket": "week", "period": "last_year"}),
        (
            "active users by hour",
            {"metric": "active_users", "bucket": "hour", "period": "last_7_days"},
        ),
        ("of a company", {"metric": "active_users", "company": "{company}"}),
    ),
    *_cases(
        "data_search_knowledge",
        ("question", {"query": "How do I revoke a token of a client?"}),
        ("common words", {"query": "customers of the organization"}),
        ("no such word", {"query": "xylophone"}),
    ),
)


def samples(organization: "Organization") -> Iterator[Sample]:
    """Endlessly: a customer, their company, a ticket and a conversation, the same every run."""
    from workspace.models import Conversation, Customer, Ticket  # noqa: PLC0415  settings first

    chance = random.Random(1)  # noqa: S311  figures that repeat
    # Half of them have tickets, and so more than the others.
    customers = Customer.objects.filter(organization=organization, company__isnull=False)
    chosen = list(customers.exclude(email="").order_by("pk")[: SAMPLES * 10])
    kept = chance.sample(chosen, min(SAMPLES, len(chosen)))
    tickets = Ticket.objects.filter(organization=organization).order_by("pk")[:SAMPLES]
    talks = Conversation.objects.filter(organization=organization).order_by("pk")[:SAMPLES]
    rows = zip(kept, cycle(tickets), cycle(talks))
    yield from cycle(
        {
            "customer": customer.pk,
            "email": customer.email,
            "name": customer.name,
            "company": str(customer.company_id),
            "ticket": ticket.pk,
            "conversation": talk.pk,
        }
        for customer, ticket, talk in islice(rows, SAMPLES)
    )
