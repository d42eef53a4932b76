"""The list of product events, and the page of an event."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from customers.administration.records import pages, search
from customers.administration.records.filters import OfCustomer, OneOrganization
from customers.administration.records.lists import FoundRecords, RecordPages
from customers.administration.records.pages import RecordPage
from workspace.administration.facts import Fact, drop_empty_facts, fact_of
from workspace.models import Event


class EventAdmin(RecordPages):
    list_display = (
        *("event_type", "customer_link", "page_url", "element_selector", "session_id", "at"),
    )
    list_filter = (OneOrganization, "at", OfCustomer)
    list_select_related = ("customer",)
    ordering = ("-at", "-id")
    search_fields = ("=event_type",)
    search_help_text = _("A whole event type, a session or a customer's email address.")

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        if "@" in term:
            return FoundRecords(rows.filter(search.has_customer_email(term, organization)))
        of_session = rows.filter(session_id=term)
        return FoundRecords(of_session if of_session.exists() else rows.filter(event_type=term))

    def page(self, request: HttpRequest, row: Event) -> RecordPage:  # noqa: ARG002
        metadata = pages.values((_("Metadata"), row.metadata))
        return RecordPage(drop_empty_facts(_facts(row)), values=metadata)


def _facts(row: Event) -> Iterator[Fact]:
    yield Fact(_("Type"), row.event_type)
    yield Fact(_("Time"), row.at)
    yield fact_of(_("Customer"), row.customer)
    yield Fact(_("Page"), row.page_url)
    yield Fact(_("Element"), row.element_selector)
    yield Fact(_("Session"), row.session_id)
    yield Fact(_("Organization"), str(row.organization))
