"""The admin pages of customers."""

from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from customers import customers
from customers.administration.customer_merge import MergeAdmin
from customers.administration.records import pages, search
from customers.administration.records.customer_page import customer_page
from customers.administration.records.filters import OfCompany, OneOrganization
from customers.administration.records.lists import FoundRecords, RecordListAdmin
from customers.identification import aliases
from customers.lookup_keys import email_key
from customers.privacy import suppression
from foundation.text.names import list_name_keys
from workspace.administration.facts import link_to
from workspace.administration.times import time_tag
from workspace.models import STARTED, AliasKind, Customer

GIVEN: Final = ("organization", "external_id", "email", "name", *customers.VENDOR_IDS)


def _vendor_field(integration: str) -> forms.RegexField:
    vendor = customers.VENDOR_IDS[integration]
    return forms.RegexField(
        regex=rf"\A(?:{vendor.pattern.pattern})\Z",
        required=False,
        label=vendor.title,
        help_text=vendor.shape,
        error_messages={"invalid": vendor.shape},
    )


class CustomerForm(forms.ModelForm):  # type: ignore[type-arg]
    hubspot = _vendor_field("hubspot")
    stripe = _vendor_field("stripe")

    class Meta:
        model = Customer
        fields = ("organization", "external_id", "email", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for integration in customers.VENDOR_IDS:
            self.initial[integration] = self.instance.vendor_ids.get(integration, "")
        # A customer cannot change its organization: its ids are valid in one organization only.
        if self.instance.organization_id is not None and "organization" in self.fields:
            self.fields["organization"].disabled = True

    def clean(self) -> dict[str, Any] | None:
        """Refuses an external id that was merged into a customer: it names that one."""
        cleaned = super().clean()
        named = self.cleaned_data.get("external_id", "")
        organization = self.cleaned_data.get("organization") or self.instance.organization_id
        key = getattr(organization, "pk", organization)
        kind = AliasKind.EXTERNAL_ID
        if named and key and aliases.find_customer_ids(key, [named], kind):
            self.add_error("external_id", _("This id was merged into another customer."))
        return cleaned


class CustomerAdmin(MergeAdmin, RecordListAdmin):
    id_prefix = "u_"
    form = CustomerForm
    change_form_template = "admin/workspace/customer/change_form.html"
    list_display = (
        *("__str__", "email", "company_link", "plan", "lifecycle_shown", "mrr"),
        *("last_seen", "external_id", "customer_since"),
    )
    list_filter = (OneOrganization, "lifecycle", "renewal_status", "last_seen", OfCompany)
    list_select_related = ("company",)
    search_fields = ("name",)
    search_help_text = _("A part of the name or email address, a customer id or an external id.")
    # Newest first; an index gives this order.
    ordering = (STARTED.desc(), "id")
    autocomplete_fields = ("organization",)
    readonly_fields = ("id", "created_at", "updated_at")

    @admin.display(description=_("company"))
    def company_link(self, row: Customer) -> SafeString | str:
        return link_to(row.company)

    @admin.display(description=_("lifecycle"))
    def lifecycle_shown(self, row: Customer) -> SafeString | str:
        return pages.lifecycle_badge(row)

    @admin.display(description=_("customer since"))
    def customer_since(self, row: Customer) -> SafeString | str:
        return time_tag(row.signed_up_at or row.first_seen or row.created_at)

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        keys = {"email_key": [email_key(term)]}
        if "@" not in term:
            keys["name_key"] = list_name_keys(term)
        return search.find_by_names(rows, Customer, organization, term, **keys)

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        row = more.get("obj")
        context["page"] = customer_page(request, row) if row else None
        return super().render_change_form(request, context, *rest, **more)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        # The id is assigned when the row is saved.
        return GIVEN if obj is None else ("id", *GIVEN, "created_at", "updated_at")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001  Django's signature
        given = {
            integration: form.cleaned_data[integration] for integration in customers.VENDOR_IDS
        }
        obj.vendor_ids = {name: text for name, text in {**obj.vendor_ids, **given}.items() if text}
        if change:
            customers.change(obj)
        else:
            customers.keep(obj)
            # A person enters this customer on purpose.
            names = suppression.make_names([obj.external_id], [obj.email])
            suppression.lift(obj.organization_id, names)
