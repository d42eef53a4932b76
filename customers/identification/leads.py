"""Leads: people who left an email address, until a verified identify makes customers of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers import customers
from customers.identification import field_values
from customers.identification.field_values import InvalidField
from customers.identification.traits import MAX_USER_BYTES
from customers.lookup_keys import email_key
from customers.privacy import suppression
from workspace import access
from workspace.access import Access
from workspace.models import Customer, Lead, LeadStatus


@dataclass(frozen=True, slots=True)
class ConvertedLeads:
    """The leads that became a customer's, and what they added: as `Join.filled` has it."""

    ids: Sequence[str] = ()
    filled: Mapping[str, Any] = field(default_factory=dict)


@transaction.atomic
def capture(
    organization_id: UUID, *, email: str, name: str, fields: Mapping[str, Any], source: str
) -> Lead:
    """Writes a lead: the open one with this email, or a new one. Raises InvalidField."""
    open_leads = access.leads(Access(organization_id)).filter(status=LeadStatus.OPEN)
    # With all columns: `search_text` is written with those that it is made of.
    same = open_leads.defer(None).select_for_update().filter(email_key=email_key(email))
    suppression.check(organization_id, suppression.make_names(emails=[email]))
    lead = same.order_by("created_at", "pk").first() or Lead(
        organization_id=organization_id, email=email, email_key=email_key(email), source=source
    )
    lead.name = name or lead.name
    lead.fields = {**lead.fields, **fields}
    if field_values.json_bytes(lead.fields) > MAX_USER_BYTES:
        raise InvalidField("traits", f"The fields of a lead have at most {MAX_USER_BYTES} bytes.")
    lead.save()
    return lead


def convert(customer: Customer) -> ConvertedLeads:
    """Converts the open leads with the customer's email; the caller has locked the customer.

    What the customer has is kept; a lead adds what is missing.
    """
    open_leads = access.leads(Access(customer.organization_id)).filter(status=LeadStatus.OPEN)
    mine = list(open_leads.select_for_update().filter(email_key=customer.email_key).order_by("pk"))
    if not mine:
        return ConvertedLeads()
    name, fields = customer.name, customer.custom_fields
    for lead in mine:
        customer.name = customer.name or lead.name
        merged = {**lead.fields, **customer.custom_fields}
        if field_values.json_bytes([merged, customer.context]) <= MAX_USER_BYTES:
            customer.custom_fields = merged
    ids = [lead.pk for lead in mine]
    Lead.objects.filter(pk__in=ids).update(
        status=LeadStatus.CONVERTED, customer=customer, converted_at=timezone.now()
    )
    customers.keep(customer)
    more = {key: one for key, one in customer.custom_fields.items() if key not in fields}
    named = {"name": [name, customer.name]} if customer.name != name else {}
    return ConvertedLeads(ids, {"columns": named, "custom_fields": more})


def reopen(organization_id: UUID, ids: Sequence[str]) -> None:
    """Makes open leads of converted ones, which are of no customer any more."""
    rows = access.leads(Access(organization_id)).filter(pk__in=ids, customer=None)
    rows.update(status=LeadStatus.OPEN, converted_at=None)
