"""The person that an erasure or an export is about, and how they are found."""

from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from customers.identification import aliases
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
    """What rows call a customer. An email address that several customers share names none.

    `merged_ids` and `other_external_ids` are those of customers who were merged into this one, and
    `other_emails` are earlier addresses.
    """

    organization_id: UUID
    customer_id: str
    external_id: str = ""
    email: str = ""
    name: str = ""
    vendor_ids: tuple[str, ...] = ()
    merged_ids: tuple[str, ...] = ()
    other_external_ids: tuple[str, ...] = ()
    other_emails: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids in Halo that the customer has and had."""
        return (self.customer_id, *self.merged_ids)

    @property
    def emails(self) -> tuple[str, ...]:
        """Returns the addresses that only this customer has and had."""
        return (*filter(None, [self.email]), *self.other_emails)

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
        **aliases.list_other_names(customer),
    )


def from_erasure(erasure: Erasure) -> Subject:
    names: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in erasure.names.items()
    }
    return Subject(erasure.organization_id, erasure.customer_id, **names)


def find(organization_id: UUID, named: str) -> Customer:
    """Returns the only customer with this id, external id or email address, or who had it.

    Raises UnknownCustomer and AmbiguousCustomer.
    """
    if not named or storable.has_unstorable_text(named):
        raise UnknownCustomer
    by_any = Q(pk=named) | has_external_id([named]) | Q(email_key=email_key(named))
    rows = access.customers(Access(organization_id)).order_by("pk")
    ways = (by_any, aliases.has_alias_id(named), aliases.has_earlier_address(named))
    each = (list(rows.filter(way)[:SHOWN]) for way in ways)
    return _only(next(filter(None, each), []))


def find_named(organization_id: UUID, named: str) -> Customer | None:
    """Returns the customer with this external id, or else with this id, or who had one of them."""
    if not named or storable.has_unstorable_text(named):
        return None
    rows = access.customers(Access(organization_id))
    ways = (has_external_id([named]), Q(pk=named), aliases.has_alias_id(named))
    return next(filter(None, (rows.filter(way).first() for way in ways)), None)


def _only(found: list[Customer]) -> Customer:
    if not found:
        raise UnknownCustomer
    if len(found) > 1:
        raise AmbiguousCustomer([customer.pk for customer in found])
    return found[0]


def find_erasure(organization_id: UUID, named: str) -> Erasure | None:
    """Returns the erasure of this customer; by other names than the id until it is finished."""
    if not named or storable.has_unstorable_text(named):
        return None
    rows = Erasure.objects.filter(organization=organization_id)
    by_id = rows.filter(customer_id=named).first()
    if by_id is not None:
        return by_id
    names = ((from_erasure(row), row) for row in rows.filter(finished_at__isnull=True))
    return next((row for whom, row in names if _is_named(whom, named)), None)


def _is_named(whom: Subject, named: str) -> bool:
    addresses = {email_key(one) for one in whom.emails}
    ids = {*whom.merged_ids, whom.external_id, *whom.other_external_ids}
    return named in ids or email_key(named) in addresses
