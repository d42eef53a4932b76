"""Merges two customers who are one person. The one that is merged is kept in the record of it.

The rows of the merged customer become those of the other one, who keeps what is known of them and
gets what is missing. The ids of the merged customer then name the other one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Field, Q

from customers import customers
from customers.identification import aliases, field_values, joins, profiles
from customers.identification.joins import TABLES, JoinedBy
from customers.identification.traits import MAX_USER_BYTES
from customers.lookup_keys import email_key, has_external_id
from foundation.db import storable
from workspace import access
from workspace.access import Access
from workspace.models import (
    AliasKind,
    Customer,
    CustomerAlias,
    Join,
    JoinRule,
    Lifecycle,
    RenewalStatus,
)

# They are moved in one transaction, and their keys are in one record.
MAX_MERGED: Final = 20_000
# Of the merged customer, these are given to the other one if that one has none.
FILLED: Final = (
    *("external_id", "email", "name", "company_id", "avatar", "role", "plan", "signed_up_at"),
    *("renewal_status", "renewal_date", "contract_term", "payment_terms", "on_contract"),
    *("mrr", "arr"),
)
LIFECYCLE: Final = "lifecycle"
# Columns that follow from others.
SET_TOGETHER: Final = (
    *("email_claimed_at", "first_seen", "last_seen", "last_contacted_at", LIFECYCLE, "churned_at"),
)
FILLED_MEMBERS: Final = ("custom_fields", "context", "vendor_ids")


class NoSuchCustomer(Exception):
    """The organization has no customer with this id; `field` is the member that names it."""

    def __init__(self, field: str) -> None:
        super().__init__("There is no such customer.")
        self.field = field


class TooManyRows(Exception):
    """The customer has more rows than are moved at once."""

    def __str__(self) -> str:
        return f"A customer with more than {MAX_MERGED:,} events, tickets and chats is not merged."


def get_customer(organization_id: UUID, named: str, field: str) -> Customer:
    """Returns the customer with this id, external id, or id of one who was merged.

    Raises NoSuchCustomer.
    """
    if not named or storable.has_unstorable_text(named):
        raise NoSuchCustomer(field)
    rows = access.customers(Access(organization_id))
    for condition in (Q(pk=named), has_external_id([named]), aliases.has_alias_id(named)):
        found = rows.filter(condition).first()
        if found is not None:
            return found
    raise NoSuchCustomer(field)


@transaction.atomic
def add_alias(organization_id: UUID, previous_id: str, user_id: str, by: JoinedBy) -> Join | None:
    """Makes two external ids those of one customer, who has or gets `user_id`.

    Returns the record of the merge, or None if they are those of one customer already. Raises
    TooManyRows.
    """
    found = profiles.lock_customers(organization_id, [previous_id, user_id])
    return merge_previous(found[user_id], previous_id, by)


@transaction.atomic
def merge_previous(customer: Customer, previous_id: str, by: JoinedBy) -> Join | None:
    """Merges the customer with another external id, who is added if needed.

    As `add_alias`. The row that is added for a moment makes concurrent requests wait.
    """
    found = profiles.lock_customers(customer.organization_id, [previous_id])[previous_id]
    if found.pk == customer.pk:
        return None
    return merge(customer.organization_id, customer.pk, found.pk, by)


def count_rows(customer: Customer) -> Mapping[str, int]:
    """Returns how many rows a merge of this customer moves, by table."""
    own = Access(customer.organization_id)
    counts = {name: rows(own).filter(customer=customer.pk).count() for name, rows in TABLES.items()}
    return {name: many for name, many in counts.items() if many}


@transaction.atomic
def merge(organization_id: UUID, customer_id: str, merged_id: str, by: JoinedBy) -> Join:
    """Merges a customer into another one, and returns the record of it.

    Raises NoSuchCustomer and TooManyRows.
    """
    rows = access.customers(Access(organization_id)).select_for_update().order_by("pk")
    locked = {row.pk: row for row in rows.filter(pk__in=[customer_id, merged_id])}
    for name, pk in (("into_id", customer_id), ("from_id", merged_id)):
        if pk not in locked:
            raise NoSuchCustomer(name)
    customer, merged = locked[customer_id], locked[merged_id]
    join = Join(
        organization_id=organization_id,
        customer=customer,
        rule=JoinRule.MERGE,
        source=merged.pk,
        origin=by.origin,
        actor=by.actor,
        merged={field.attname: to_json(field, merged) for field in _columns()},
    )
    join.rows = _move_rows(merged, customer)
    old_ids = list(_list_aliases(customer, merged))
    merged.delete()
    join.filled = _fill(customer, merged)
    customers.keep(customer)
    join.save(force_insert=True)
    _keep_aliases(customer, old_ids, join)
    return join


def to_json(field: "Field[Any, Any]", row: Customer) -> Any:
    """Returns the value of a column as JSON, from which `field.to_python` reads it again."""
    value = field.value_from_object(row)
    is_json = value is None or isinstance(value, str | int | float | dict | list)
    return value if is_json else field.value_to_string(row)


def _columns() -> "tuple[Field[Any, Any], ...]":
    return tuple(Customer._meta.concrete_fields)


def _move_rows(merged: Customer, customer: Customer) -> dict[str, list[Any]]:
    """Gives the rows of the merged customer to the other one; returns their keys by table."""
    own = Access(merged.organization_id)
    moved: dict[str, list[Any]] = {}
    left = MAX_MERGED
    for name, rows in TABLES.items():
        keys = rows(own).filter(customer=merged.pk).order_by("pk").values_list("pk", flat=True)
        moved[name] = list(keys[: left + 1])
        left -= len(moved[name])
        if left < 0:
            raise TooManyRows
    for name, found in moved.items():
        joins.move(merged.organization_id, name, found, merged.pk, customer.pk)
    records = access.joins(own).filter(customer=merged.pk)
    moved["joins"] = list(records.values_list("pk", flat=True))
    records.update(customer=customer.pk)
    return {name: found for name, found in moved.items() if found}


def _list_aliases(customer: Customer, merged: Customer) -> Iterator[tuple[AliasKind, str, Any]]:
    """Yields what the merged customer was called, with the merge that each name comes from."""
    rows = access.customer_aliases(Access(merged.organization_id)).filter(customer=merged.pk)
    for alias in rows.order_by("pk"):
        yield AliasKind(alias.kind), alias.value, alias.join_id
    yield AliasKind.ID, merged.pk, None
    if merged.external_id and customer.external_id:
        yield AliasKind.EXTERNAL_ID, merged.external_id, None
    if merged.email and merged.email_claimed_at is None and customer.email:
        yield AliasKind.EMAIL, merged.email, None


def _keep_aliases(customer: Customer, named: list[tuple[AliasKind, str, Any]], join: Join) -> None:
    access.customer_aliases(Access(customer.organization_id)).bulk_create(
        [
            CustomerAlias(
                organization_id=customer.organization_id,
                customer=customer,
                join_id=earlier or join.pk,
                kind=kind,
                value=value,
                key=email_key(value) if kind == AliasKind.EMAIL else value,
            )
            for kind, value, earlier in named
            if kind != AliasKind.EMAIL or email_key(value) != customer.email_key
        ],
        ignore_conflicts=True,
    )


def _fill(customer: Customer, merged: Customer) -> dict[str, Any]:
    """Gives a customer what only the merged one has; returns the values before and after."""
    before = {field.attname: to_json(field, customer) for field in _columns()}
    times = {**(customer.trait_times or {})}
    names: tuple[str, ...] = FILLED
    if not times and customer.first_seen is None:
        # Their row was added by the merge itself.
        customer.lifecycle, customer.churned_at = merged.lifecycle, merged.churned_at
        if LIFECYCLE in (merged.trait_times or {}):
            times[LIFECYCLE] = (merged.trait_times or {})[LIFECYCLE]
    elif merged.renewal_status == RenewalStatus.LOST and customer.lifecycle != Lifecycle.CHURNED:
        # A customer whose renewal is lost has churned, and this one is current.
        names = tuple(name for name in FILLED if name != "renewal_status")
    for name in names:
        if getattr(customer, name) in {None, ""} and getattr(merged, name) not in {None, ""}:
            setattr(customer, name, getattr(merged, name))
            if name == "email":
                customer.email_claimed_at = merged.email_claimed_at
            if name in (merged.trait_times or {}):
                times[name] = (merged.trait_times or {})[name]
    earlier = customer.trait_times or {}
    if times:
        customer.trait_times = times
    _fill_times(customer, merged)
    members = _fill_members(customer, merged)
    names = (*FILLED, *SET_TOGETHER)
    after = {field.attname: to_json(field, customer) for field in _columns()}
    changed = {name: [before[name], after[name]] for name in names if before[name] != after[name]}
    written = {
        name: [earlier.get(name), at] for name, at in times.items() if earlier.get(name) != at
    }
    return {"columns": changed, "times": written, **members}


def _fill_times(customer: Customer, merged: Customer) -> None:
    if merged.first_seen and merged.last_seen:
        customers.note_seen(customer, merged.first_seen, merged.last_seen)
    contacts = [one for one in (customer.last_contacted_at, merged.last_contacted_at) if one]
    customer.last_contacted_at = max(contacts, default=None)


def _fill_members(customer: Customer, merged: Customer) -> dict[str, Any]:
    """Adds custom fields, context and vendor ids that the customer has not, if there is room."""
    more = {
        column: {
            name: value
            for name, value in getattr(merged, column).items()
            if name not in getattr(customer, column)
        }
        for column in FILLED_MEMBERS
    }
    whole = {column: {**getattr(customer, column), **more[column]} for column in FILLED_MEMBERS}
    if field_values.json_bytes([whole["custom_fields"], whole["context"]]) > MAX_USER_BYTES:
        more["custom_fields"], more["context"] = {}, {}
    for column, members in more.items():
        setattr(customer, column, {**getattr(customer, column), **members})
    return {column: members for column, members in more.items() if members}
