"""The customers of an organization: found for a call that is bound to one, and written down.

Every look-up names the organization, so that missing and foreign look alike.
"""

import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from django.utils import timezone

from foundation.statements import Statement
from workspace.models import Customer

# Only ASCII: to more careful rules the Kelvin sign is a k, and a stranger's address somebody
# else's (CVE-2019-19844).
CASE: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
WRITTEN: Final = ("external_id", "email", "email_key", "name", "vendor_ids", "updated_at")
BATCH: Final = 500
FIND: Final = """
SELECT id, email, name, external_id, vendor_ids FROM workspace_customer WHERE organization_id = %s
"""
# The second row only tells that there is no one customer.
BY_ID: Final = Statement(FIND + " AND id = %s LIMIT 2")
BY_EMAIL: Final = Statement(FIND + " AND email_key = %s LIMIT 2")
BY_BOTH: Final = Statement(FIND + " AND id = %s AND email_key = %s LIMIT 2")


@dataclass(frozen=True, slots=True)
class VendorId:
    """How a vendor names a customer: what an admin reads beside the field, and its shape."""

    title: str
    pattern: re.Pattern[str]
    shape: str


# By integration id, which is the column's name in a file too.
VENDOR_IDS: Final[Mapping[str, VendorId]] = {
    "hubspot": VendorId(
        "HubSpot contact", re.compile(r"[0-9]{1,20}"), "It is the contact's record id, digits only."
    ),
    "stripe": VendorId(
        "Stripe customer", re.compile(r"cus_[A-Za-z0-9]{1,100}"), "It begins with cus_."
    ),
}


class Bound(NamedTuple):
    """A customer as the table has it at this moment."""

    id: str
    email: str
    name: str
    external_id: str
    vendor_ids: Mapping[str, str]


def folded(email: str) -> str:
    """The address as it is looked up: in lower case as far as it is ASCII, else as given."""
    return email.translate(CASE)


def bound(organization_id: UUID, *, customer_id: str = "", email: str = "") -> Bound | None:
    """The organization's one customer that fits all that is given; None for none and for two."""
    # On the hot path: a bound call costs this one statement more.
    if customer_id and email:
        rows = BY_BOTH.rows(organization_id, customer_id, folded(email))
    elif customer_id:
        rows = BY_ID.rows(organization_id, customer_id)
    elif email:
        rows = BY_EMAIL.rows(organization_id, folded(email))
    else:
        return None
    return _read(rows[0]) if len(rows) == 1 else None


def keep(customer: Customer) -> Customer:
    """Save a customer, new or changed."""
    _complete(customer)
    customer.save()
    return customer


def keep_all(new: Sequence[Customer], changed: Sequence[Customer]) -> None:
    """Save many customers at once; the caller has locked those that are changed."""
    for customer in (*new, *changed):
        _complete(customer)
    Customer.objects.bulk_create(new, batch_size=BATCH)
    # Written over: bulk_update would name every row once more for each of its columns.
    Customer.objects.bulk_create(
        changed,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=WRITTEN,
    )


def _complete(customer: Customer) -> None:
    customer.email_key = folded(customer.email)
    customer.updated_at = timezone.now()


def _read(row: tuple[str, str, str, str, str]) -> Bound:
    customer_id, email, name, external_id, vendor_ids = row
    # Both databases give JSON as text to a statement of one's own.
    return Bound(customer_id, email, name, external_id, json.loads(vendor_ids))
