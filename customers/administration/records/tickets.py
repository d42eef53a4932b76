"""The list of tickets, and the page of a ticket with its messages."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from customers.administration.records import pages, search, threads
from customers.administration.records.filters import (
    OfCompany,
    OfConversation,
    OfCustomer,
    OneOrganization,
    TicketStatusFilter,
)
from customers.administration.records.lists import FoundRecords, RecordPages
from customers.administration.records.pages import RecordPage
from workspace.administration.facts import Fact, drop_empty_facts, fact_of
from workspace.models import Ticket


class TicketAdmin(RecordPages):
    id_prefix = "tkt_"
    list_display = (
        *("subject", "state", "customer_link", "company_link", "created_at"),
        *("updated_at", "priority", "assignee", "message_count"),
    )
    list_filter = (
        *(OneOrganization, TicketStatusFilter, "priority", "created_at"),
        *(OfCustomer, OfCompany, OfConversation),
    )
    uncounted = ("priority",)
    list_select_related = ("customer", "company", "assignee")
    sortable_by = ("created_at", "updated_at")
    ordering = ("-created_at", "id")
    search_fields = ("subject",)
    search_help_text = _("Words of subject and messages, an id or a customer's email address.")

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        return search.find_tickets(rows, organization, term)

    def page(self, request: HttpRequest, row: Ticket) -> RecordPage:
        return RecordPage(
            drop_empty_facts(_facts(row)),
            thread=threads.read_part(request, row.messages.all(), row.message_count),
            values=pages.values((_("Metadata"), row.metadata)),
        )

    @admin.display(description=_("status"))
    def state(self, row: Ticket) -> SafeString | str:
        return pages.status_badge(row)


def _facts(row: Ticket) -> Iterator[Fact]:
    yield Fact(_("Status"), pages.status_badge(row))
    yield Fact(_("Priority"), row.get_priority_display())
    yield fact_of(_("Customer"), row.customer)
    yield fact_of(_("Company"), row.company)
    yield Fact(_("Assignee"), "" if row.assignee is None else str(row.assignee))
    yield Fact(_("Inbox"), row.inbox)
    yield Fact(_("Category"), row.category)
    yield Fact(_("Source"), row.source)
    yield fact_of(_("Conversation"), row.conversation)
    yield Fact(_("Created"), row.created_at)
    yield Fact(_("First response"), row.first_response_at)
    yield Fact(_("Resolved"), row.resolved_at)
    yield Fact(_("Changed"), row.updated_at)
    yield Fact(_("Organization"), str(row.organization))
    yield Fact(_("External id"), row.external_id)
    yield Fact(_("Ticket id"), row.pk)
