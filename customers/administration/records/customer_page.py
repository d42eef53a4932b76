"""What the page of a customer shows around the form: what is known, and what belongs to it."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from customers.administration.records import pages
from customers.administration.records.pages import RecordPage
from workspace.administration.facts import Fact, drop_empty_facts, fact_of
from workspace.models import Conversation, Customer, Event, Feedback, Ticket


def customer_page(request: HttpRequest, row: Customer) -> RecordPage:
    """Returns the facts and the newest rows of a customer."""
    of = {"customer": row.pk}
    return RecordPage(
        drop_empty_facts(_facts(row)),
        panels=pages.viewable(
            request,
            row,
            {
                Ticket: lambda: pages.tickets(row.tickets.all(), **of),
                Conversation: lambda: pages.conversations(row.conversations.all(), **of),
                Feedback: lambda: pages.feedback(row.feedback.all(), **of),
                Event: lambda: pages.events(row),
            },
        ),
        values=pages.values((_("Custom fields"), row.custom_fields), (_("Context"), row.context)),
    )


def _facts(row: Customer) -> Iterator[Fact]:
    yield fact_of(_("Company"), row.company)
    yield Fact(_("Lifecycle"), pages.lifecycle_badge(row))
    yield Fact(_("Role"), row.role)
    yield Fact(_("Plan"), row.plan)
    yield Fact(_("MRR"), pages.amount(row.mrr, row))
    yield Fact(_("ARR"), pages.amount(row.arr, row))
    yield Fact(_("Renewal status"), row.get_renewal_status_display())
    yield Fact(_("Renewal date"), row.renewal_date)
    yield Fact(_("Source"), row.source)
    yield Fact(_("Signed up"), row.signed_up_at)
    yield Fact(_("First seen"), row.first_seen)
    yield Fact(_("Last seen"), row.last_seen)
    yield Fact(_("Last contacted"), row.last_contacted_at)
    yield Fact(_("Churned"), row.churned_at)
