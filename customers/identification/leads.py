"""Leads: people who left an email address, until a verified identify makes customers of them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers import customers
from customers.identification import field_values
from customers.identification.field_values import InvalidField
from customers.identification.traits import MAX_USER_BYTES
from customers.lookup_keys import email_key
from workspace import access
from workspace.access import Access
from workspace.models import Customer, Lead, LeadStatus


@transaction.atomic
def capture(
    organization_id: UUID, *, email: str, name: str, fields: Mapping[str, Any], source: str
) -> Lead:
    """Writes a lead: the open one with this email, or a new one. Raises InvalidField."""
    open_leads = access.leads(Access(organization_id)).filter(status=LeadStatus.OPEN)
    # With all columns: `search_text` is written with those that it is made of.
    same = open_leads.defer(None).select_for_update().filter(email_key=email_key(email))
    lead = same.order_by("created_at", "pk").first() or Lead(
        organization_id=organization_id, email=email, email_key=email_key(email), source=source
    )
    lead.name = name or lead.name
    lead.fields = {**lead.fields, **fields}
    if field_values.json_bytes(lead.fields) > MAX_USER_BYTES:
        raise InvalidField("traits", f"The fields of a lead have at most {MAX_USER_BYTES} bytes.")
    lead.save()
    return lead


def convert(customer: Customer) -> Customer:
    """Converts the open leads with the customer's email; the caller has locked the customer.

    What the customer has is kept; a lead adds what is missing.
    """
    open_leads = access.leads(Access(customer.organization_id)).filter(status=LeadStatus.OPEN)
    mine = list(open_leads.select_for_update().filter(email_key=customer.email_key).order_by("pk"))
    if not mine:
        return customer
    for lead in mine:
        customer.name = customer.name or lead.name
        merged = {**lead.fields, **customer.custom_fields}
        if field_values.json_bytes([merged, customer.context]) <= MAX_USER_BYTES:
            customer.custom_fields = merged
    Lead.objects.filter(pk__in=[lead.pk for lead in mine]).update(
        status=LeadStatus.CONVERTED, customer=customer, converted_at=timezone.now()
    )
    return customers.keep(customer)
