"""The lists of companies and of leads, and the page of each."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from customers import words
from customers.administration.records import pages, search
from customers.administration.records.filters import OfCustomer, OneOrganization
from customers.administration.records.lists import FoundRecords, RecordPages
from customers.administration.records.pages import RecordPage
from customers.lookup_keys import domain_of
from foundation.text.names import list_name_keys
from foundation.text.words import parse_query
from workspace.administration.facts import Fact, drop_empty_facts, fact_of
from workspace.models import Company, Conversation, Customer, Lead, Ticket


class CompanyAdmin(RecordPages):
    id_prefix = "co_"
    list_display = (
        *("__str__", "domain", "plan", "mrr", "health_score", "renewal_status"),
        *("renewal_date", "industry", "created_at"),
    )
    list_filter = (OneOrganization, "renewal_status", "renewal_date", "created_at")
    sortable_by = ("mrr", "health_score", "renewal_date", "created_at")
    ordering = ("-created_at", "id")
    search_fields = ("name",)
    search_help_text = _("A part of the name or domain, a company id or an external id.")

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        keys = {"name_key": list_name_keys(term), "domain": [domain_of(term)]}
        return search.find_by_names(rows, Company, organization, term, **keys)

    def page(self, request: HttpRequest, row: Company) -> RecordPage:
        of = {"company": row.pk}
        seen = row.customers.order_by(F("last_seen").desc(nulls_last=True), "pk")
        return RecordPage(
            drop_empty_facts(_facts(row)),
            panels=pages.viewable(
                request,
                row,
                {
                    Customer: lambda: pages.customers(seen[: pages.NEWEST], **of),
                    Ticket: lambda: pages.tickets(row.tickets.all(), **of),
                    Conversation: lambda: pages.conversations(row.conversations.all(), **of),
                },
            ),
            values=pages.values((_("Custom fields"), row.custom_fields)),
        )


class LeadAdmin(RecordPages):
    id_prefix = "lead_"
    list_display = ("__str__", "email", "source", "state", "customer_link", "created_at")
    list_filter = (OneOrganization, "status", "created_at", OfCustomer)
    list_select_related = ("customer",)
    sortable_by = ("created_at",)
    ordering = ("-created_at", "id")
    search_fields = ("name",)
    search_help_text = _("A part of the name or email address, or a lead id.")

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:  # noqa: ARG002
        query = parse_query(term)
        return FoundRecords(rows.filter(words.has_lead_words(query)) if query else rows.none())

    def page(self, request: HttpRequest, row: Lead) -> RecordPage:  # noqa: ARG002
        return RecordPage(
            drop_empty_facts(_lead(row)), values=pages.values((_("Fields"), row.fields))
        )

    @admin.display(description=_("status"))
    def state(self, row: Lead) -> SafeString | str:
        return pages.lead_badge(row)


def _facts(row: Company) -> Iterator[Fact]:
    yield Fact(_("Domain"), row.domain)
    yield Fact(_("Industry"), row.industry)
    yield Fact(_("Employees"), row.employee_count)
    yield Fact(_("Team size"), row.team_size)
    yield Fact(_("Plan"), row.plan)
    yield Fact(_("MRR"), pages.amount(row.mrr, row))
    yield Fact(_("ARR"), pages.amount(row.arr, row))
    yield Fact(_("Health score"), row.health_score)
    yield Fact(_("Renewal status"), row.get_renewal_status_display())
    yield Fact(_("Renewal date"), row.renewal_date)
    yield Fact(_("Contract term"), row.get_contract_term_display())
    yield Fact(_("Signed up"), row.signed_up_at)
    yield Fact(_("Last contacted"), row.last_contacted_at)
    yield Fact(_("Created"), row.created_at)
    yield Fact(_("Organization"), str(row.organization))
    yield Fact(_("External id"), row.external_id)
    yield Fact(_("Company id"), row.pk)


def _lead(row: Lead) -> Iterator[Fact]:
    yield Fact(_("Status"), pages.lead_badge(row))
    yield Fact(_("Email address"), row.email)
    yield Fact(_("Source"), row.source)
    yield fact_of(_("Customer"), row.customer)
    yield Fact(_("Created"), row.created_at)
    yield Fact(_("Converted"), row.converted_at)
    yield Fact(_("Organization"), str(row.organization))
    yield Fact(_("Lead id"), row.pk)
