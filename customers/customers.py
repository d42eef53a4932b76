"""The customers of an organization: the customer that a call is bound to, and the writes.

Every query names the organization, so that missing rows and those of others look the same.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from customers import bulk_writes
from customers.identification import aliases, traits
from customers.lookup_keys import email_key
from foundation.db.statements import Statement
from foundation.text.names import name_key
from workspace.models import AliasKind, Customer

FIND: Final = """
SELECT id, email, name, external_id, company_id, vendor_ids
  FROM workspace_customer WHERE organization_id = %s AND erased_at IS NULL
"""
# The second row only shows that the match is not unique.
BY_ID: Final = Statement(FIND + " AND id = %s LIMIT 2")
BY_EMAIL: Final = Statement(FIND + " AND email_key = %s LIMIT 2")
BY_BOTH: Final = Statement(FIND + " AND id = %s AND email_key = %s LIMIT 2")

# What people enter of a customer, and what follows from it.
ENTERED: Final = (
    *("external_id", "email", "email_key", "name", "name_key", "vendor_ids", "updated_at"),
)

IDS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class VendorId:
    """The id of a customer at a vendor: its label in the admin, and its format."""

    title: str
    pattern: re.Pattern[str]
    shape: str


# By integration id, which is also the name of the column in a file.
VENDOR_IDS: Final[Mapping[str, VendorId]] = {
    "hubspot": VendorId(
        "HubSpot contact", re.compile(r"[0-9]{1,20}"), "It is the contact's record id, digits only."
    ),
    "stripe": VendorId(
        "Stripe customer", re.compile(r"cus_[A-Za-z0-9]{1,100}"), "It begins with cus_."
    ),
}


class Bound(NamedTuple):
    """A customer as stored in the table at this time."""

    id: str
    email: str
    name: str
    external_id: str
    company_id: str
    vendor_ids: Mapping[str, str]


def find_bound(organization_id: UUID, *, customer_id: str = "", email: str = "") -> Bound | None:
    """Returns the only customer of the organization that matches; None for none and for several.

    The id of a customer who was merged names the one into whom.
    """
    # On the hot path: a bound call needs this statement in addition.
    if customer_id and email:
        rows = BY_BOTH.rows(organization_id, customer_id, email_key(email))
    elif customer_id:
        rows = BY_ID.rows(organization_id, customer_id)
        if not rows and (merged := _find_merged(organization_id, customer_id)):
            rows = BY_ID.rows(organization_id, merged)
    elif email:
        rows = BY_EMAIL.rows(organization_id, email_key(email))
    else:
        return None
    return _read(rows[0]) if len(rows) == 1 else None


def _find_merged(organization_id: UUID, customer_id: str) -> str | None:
    return aliases.find_customer_ids(organization_id, [customer_id], AliasKind.ID).get(customer_id)


def note_seen(customer: Customer, first: datetime, last: datetime) -> bool:
    """Widens the time in which the customer was seen; returns whether that changes the row."""
    before = customer.first_seen, customer.last_seen
    customer.first_seen = min(first, customer.first_seen or first)
    customer.last_seen = max(last, customer.last_seen or last)
    return (customer.first_seen, customer.last_seen) != before


def keep_seen(locked: Sequence[Customer]) -> None:
    """Saves when customers were seen, who are locked by the caller."""
    Customer.objects.bulk_update(locked, ["first_seen", "last_seen"])


def note_contact(organization_id: UUID, customer_id: str, at: datetime) -> None:
    """Notes that a teammate wrote to a customer."""
    rows = Customer.objects.filter(organization=organization_id, pk=customer_id)
    rows.filter(Q(last_contacted_at=None) | Q(last_contacted_at__lt=at)).update(
        last_contacted_at=at
    )


def keep(customer: Customer) -> Customer:
    """Save a customer, new or changed."""
    _complete(customer)
    customer.save()
    return customer


@transaction.atomic
def change(customer: Customer) -> None:
    """Saves what people enter of an existing customer, and nothing else of the row.

    An import or a request may have changed the other columns meanwhile. An erased customer stays
    erased. A message that was written before does not replace what was entered.
    """
    _complete(customer)
    rows = Customer.objects.select_for_update().filter(pk=customer.pk, erased_at=None)
    stored = rows.first()
    if stored is None:
        return
    before = stored.email if stored.email_claimed_at is None else ""
    changed = [
        name for name in ("email", "name") if getattr(customer, name) != getattr(stored, name)
    ]
    traits.note_times(stored, changed)
    entered = {name: getattr(customer, name) for name in ENTERED}
    # What a person entered is no claim of a page.
    claimed_at = None if "email" in changed else stored.email_claimed_at
    rows.update(**entered, trait_times=stored.trait_times, email_claimed_at=claimed_at)
    aliases.keep_addresses(customer.organization_id, [(customer, before)])


@transaction.atomic
def set_vendor_ids_aside(organization_id: UUID, integration: str, old: str, new: str) -> None:
    """Puts the ids of an old account at a vendor out of use, and those of the new one into use.

    An id is valid only in the account that it came from.
    """
    aside, back = f"{integration}:{old}", f"{integration}:{new}"
    fitting = Q(vendor_ids__has_key=integration) | Q(vendor_ids__has_key=back)
    rows = Customer.objects.select_for_update().filter(fitting, organization=organization_id)
    last = ""
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:IDS_AT_ONCE]):
        for customer in batch:
            ids = dict(customer.vendor_ids)
            moved = {aside: ids.pop(integration, ""), integration: ids.pop(back, "")}
            customer.vendor_ids = ids | {name: value for name, value in moved.items() if value}
        Customer.objects.bulk_update(batch, ["vendor_ids"])
        last = batch[-1].pk


def keep_all(new: Sequence[Customer], changed: Sequence[Customer]) -> None:
    """Saves many customers at once; the caller has locked those that are changed."""
    for customer in (*new, *changed):
        _complete(customer)
    bulk_writes.store(Customer, new, changed)


def _complete(customer: Customer) -> None:
    customer.email_key = email_key(customer.email)
    customer.name_key = name_key(customer.name)
    customer.updated_at = timezone.now()


def _read(row: tuple[str, str, str, str, str | None, str]) -> Bound:
    customer_id, email, name, external_id, company_id, vendor_ids = row
    # Both databases return JSON as text to raw SQL.
    return Bound(customer_id, email, name, external_id, company_id or "", json.loads(vendor_ids))
