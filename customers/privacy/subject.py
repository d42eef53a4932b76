"""The person that an erasure or an export is about, and how they are found."""

from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from customers.lookup_keys import email_key, has_external_id
from foundation.db import storable
from workspace import access
from workspace.access import Access
from workspace.models import Customer, Erasure

# How many of several matches a message names.
SHOWN: Final = 10


class UnknownCustomer(Exception):
    """The organization has no such customer."""

    def __str__(self) -> str:
        return "No customer of this organization has this id, external id or email address."


class AmbiguousCustomer(Exception):
    """Several customers match."""

    def __init__(self, ids: list[str]) -> None:
        super().__init__(f"Several customers match. Enter the id of one: {', '.join(ids)}.")


@dataclass(frozen=True, slots=True)
class Subject:
    """What rows call a customer. An email address that several customers share names none."""

    organization_id: UUID
    customer_id: str
    external_id: str = ""
    email: str = ""
    name: str = ""
    vendor_ids: tuple[str, ...] = ()

    def names(self) -> dict[str, Any]:
        """Returns the JSON that `from_erasure` reads."""
        names = asdict(self)
        del names["organization_id"], names["customer_id"]
        return names


def from_customer(customer: Customer) -> Subject:
    """Returns what rows call a customer who is not erased yet."""
    rows = access.customers(Access(customer.organization_id)).exclude(pk=customer.pk)
    is_shared = not customer.email_key or rows.filter(email_key=customer.email_key).exists()
    return Subject(
        customer.organization_id,
        customer.pk,
        customer.external_id,
        "" if is_shared else customer.email,
        customer.name,
        tuple(str(one) for one in customer.vendor_ids.values()),
    )


def from_erasure(erasure: Erasure) -> Subject:
    names = {**erasure.names, "vendor_ids": tuple(erasure.names.get("vendor_ids", ()))}
    return Subject(erasure.organization_id, erasure.customer_id, **names)


def find(organization_id: UUID, named: str) -> Customer:
    """Returns the only customer with this id, external id or email address.

    Raises UnknownCustomer and AmbiguousCustomer.
    """
    if not named or storable.has_unstorable_text(named):
        raise UnknownCustomer
    by_any = Q(pk=named) | has_external_id([named]) | Q(email_key=email_key(named))
    found = access.customers(Access(organization_id)).filter(by_any).order_by("pk")[:SHOWN]
    return _only(list(found))


def _only(found: list[Customer]) -> Customer:
    if not found:
        raise UnknownCustomer
    if len(found) > 1:
        raise AmbiguousCustomer([customer.pk for customer in found])
    return found[0]


def find_erasure(organization_id: UUID, named: str) -> Erasure | None:
    """Returns the erasure of this customer; by external id and email only until it is finished."""
    if not named or storable.has_unstorable_text(named):
        return None
    rows = Erasure.objects.filter(organization=organization_id)
    by_id = rows.filter(customer_id=named).first()
    if by_id is not None:
        return by_id
    names = ((from_erasure(row), row) for row in rows.filter(finished_at__isnull=True))
    return next((row for whom, row in names if _is_named(whom, named)), None)


def _is_named(whom: Subject, named: str) -> bool:
    return named == whom.external_id or email_key(named) == email_key(whom.email)
