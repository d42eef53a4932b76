"""Other ids and earlier addresses of customers.

An id of a customer who was merged into another one names that one. An earlier address finds its
customer where no customer has it now.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models import Q

from customers.bulk_writes import BATCH
from customers.lookup_keys import email_key
from workspace import access
from workspace.access import Access
from workspace.models import AliasKind, Customer, CustomerAlias


def find_customer_ids(
    organization_id: UUID, values: Sequence[str], *kinds: AliasKind
) -> Mapping[str, str]:
    """Returns the ids of customers by the ids that were merged into them."""
    rows = access.customer_aliases(Access(organization_id)).filter(kind__in=kinds)
    return {
        key: customer_id
        for start in range(0, len(values), BATCH)
        for key, customer_id in rows.filter(key__in=values[start : start + BATCH]).values_list(
            "key", "customer"
        )
    }


def has_alias_id(named: str) -> Q:
    """Returns the condition that an id was merged into the customer."""
    return Q(aliases__key=named, aliases__kind__in=(AliasKind.ID, AliasKind.EXTERNAL_ID))


def has_earlier_address(address: str) -> Q:
    """Returns the condition that the customer had an address."""
    return Q(aliases__key=email_key(address), aliases__kind=AliasKind.EMAIL)


def find_holder_ids(organization_id: UUID, address: str) -> frozenset[str]:
    """Returns the ids of customers who have or had an address: two at most of each.

    What a page claims is no address of a customer.
    """
    rows = access.customers(Access(organization_id))
    having = rows.filter(email_key=email_key(address), email_claimed_at=None)
    each = (having, rows.filter(has_earlier_address(address)))
    return frozenset(pk for found in each for pk in found.values_list("pk", flat=True)[:2])


def find_author(organization_id: UUID, address: str) -> Customer | None:
    """Returns the only customer who has an address, or else the only one who had it.

    What a page claims is no address of a customer.
    """
    rows = access.customers(Access(organization_id))
    having = rows.filter(email_key=email_key(address), email_claimed_at=None)
    for found in (having, rows.filter(has_earlier_address(address))):
        holders = list(found[:2])
        if holders:
            return holders[0] if len(holders) == 1 else None
    return None


def list_other_names(customer: Customer) -> dict[str, tuple[str, ...]]:
    """Returns what else rows may call a customer: without addresses that others have or had."""
    rows = access.customer_aliases(Access(customer.organization_id)).filter(customer=customer.pk)
    by_kind: dict[str, list[str]] = {kind: [] for kind in AliasKind.values}
    # An address that the customer has again is no earlier one.
    current = Q(kind=AliasKind.EMAIL, key=customer.email_key)
    for kind, value in rows.exclude(current).order_by("pk").values_list("kind", "value"):
        is_shared = kind == AliasKind.EMAIL and (
            find_holder_ids(customer.organization_id, value) != {customer.pk}
        )
        if not is_shared:
            by_kind[kind].append(value)
    return {
        "merged_ids": tuple(by_kind[AliasKind.ID]),
        "other_external_ids": tuple(by_kind[AliasKind.EXTERNAL_ID]),
        "other_emails": tuple(by_kind[AliasKind.EMAIL]),
    }


def keep_addresses(organization_id: UUID, before: Iterable[tuple[Customer, str]]) -> None:
    """Keeps the addresses that customers had, as servers said them, before they were changed."""
    access.customer_aliases(Access(organization_id)).bulk_create(
        [
            CustomerAlias(
                organization_id=organization_id,
                customer=customer,
                kind=AliasKind.EMAIL,
                value=address,
                key=email_key(address),
            )
            for customer, address in before
            if address and email_key(address) != email_key(customer.email)
        ],
        ignore_conflicts=True,
    )
