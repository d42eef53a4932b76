"""The rows that a file refers to, by the ids and addresses that it names them with."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet

from customers.identification import aliases
from customers.lookup_keys import email_key, has_external_id
from workspace import access
from workspace.access import Access
from workspace.models import AliasKind, Customer

M = TypeVar("M", bound=Model)

NO_COMPANY: Final = "No company has this external id. Import the companies first."
NO_CUSTOMER: Final = "No customer has this external id. Import the customers first."


def rows_for_update(rows: QuerySet[M]) -> QuerySet[M]:
    """Returns rows with all of their columns, and locks them if they are going to be stored.

    Otherwise a change could restore a row that is deleted at the same time.
    """
    rows = rows.defer(None)
    is_storing = transaction.get_connection().in_atomic_block
    return rows.select_for_update().order_by("pk") if is_storing else rows.order_by("pk")


def companies(organization_id: UUID, external_ids: Iterable[str]) -> Mapping[str, str]:
    """Returns the ids of companies by their external ids."""
    rows = access.companies(Access(organization_id))
    wanted = rows.filter(has_external_id({*external_ids}))
    return dict(wanted.values_list("external_id", "pk"))


def customers(organization_id: UUID, external_ids: Iterable[str]) -> Mapping[str, Customer]:
    """Returns customers by their external ids, and by those that were merged into them."""
    rows = access.customers(Access(organization_id))
    named = {*external_ids}
    known = {customer.external_id: customer for customer in rows.filter(has_external_id(named))}
    others = merged_ids(organization_id, named - known.keys())
    by_id = {customer.pk: customer for customer in rows.filter(pk__in=set(others.values()))}
    return known | {other: by_id[pk] for other, pk in others.items() if pk in by_id}


def merged_ids(organization_id: UUID, external_ids: Iterable[str]) -> Mapping[str, str]:
    """Returns the ids of customers by the external ids that were merged into them."""
    wanted = sorted({*external_ids} - {""})
    return aliases.find_customer_ids(organization_id, wanted, AliasKind.EXTERNAL_ID)


def teammates(organization_id: UUID, addresses: Iterable[str]) -> Mapping[str, UUID]:
    """Returns the ids of the organization's members by their addresses in lower case."""
    rows = access.teammates(Access(organization_id))
    wanted = rows.filter(email__in={email_key(one) for one in addresses} - {""})
    return dict(wanted.values_list("email", "pk"))
