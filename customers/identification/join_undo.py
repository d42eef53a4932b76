"""Undoes a join: gives back the rows that it moved, and a merged customer with their ids.

A row that has another customer since then stays with that one, and a value that was changed since
then stays as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers import customers
from customers.bulk_writes import BATCH
from customers.identification import joins, leads, merges
from customers.identification.joins import TABLES
from customers.lookup_keys import has_external_id
from foundation.db import storable
from workspace import access
from workspace.access import Access
from workspace.models import AliasKind, Customer, Join, JoinRule


class NoSuchJoin(Exception):
    """The organization has no join with this id."""


class CannotUndo(Exception):
    """The join cannot be undone now; the message says why."""


@transaction.atomic
def undo(organization_id: UUID, join_id: str, actor: str) -> Join:
    """Undoes a join, and returns its record; one that is undone already is left as it is.

    Raises NoSuchJoin and CannotUndo.
    """
    if storable.has_unstorable_text(join_id):
        raise NoSuchJoin
    own = Access(organization_id)
    found = access.joins(own).filter(pk=join_id).values_list("customer", flat=True).first()
    if found is None:
        raise NoSuchJoin
    # As everywhere, the customer first.
    customer = access.customers(own).select_for_update().filter(pk=found).first()
    join = access.joins(own).select_for_update().filter(pk=join_id).first()
    if customer is None or join is None:
        raise NoSuchJoin
    if join.customer_id != customer.pk:
        raise CannotUndo("The customer was merged at this moment. Try again.")
    if join.undone_at is not None:
        return join
    owner = _restore_customer(join, customer) if join.rule == JoinRule.MERGE else None
    if owner is None:
        _empty(join, customer)
        customers.keep(customer)
    for name in TABLES:
        keys = join.rows.get(name, [])
        joins.move(organization_id, name, keys, customer.pk, owner.pk if owner else None)
    if owner is None:
        _remove_companies(join)
        leads.reopen(organization_id, join.rows.get("leads", []))
    join.undone_at, join.undone_by = timezone.now(), actor
    # The values are those of another person now.
    join.merged, join.filled = {}, {}
    join.save(update_fields=["undone_at", "undone_by", "merged", "filled"])
    return join


def _restore_customer(join: Join, customer: Customer) -> Customer:
    """Adds the merged customer again, with their own ids and records. Raises CannotUndo."""
    own = Access(join.organization_id)
    columns = {field.attname: field for field in Customer._meta.concrete_fields}
    merged = Customer(
        **{
            name: columns[name].to_python(value)
            for name, value in join.merged.items()
            if name in columns
        }
    )
    _empty(join, customer)
    customers.keep(customer)
    taken = access.customers(own).filter(has_external_id([merged.external_id]))
    if merged.external_id and taken.exists():
        raise CannotUndo("Another customer has the external id of the merged one now.")
    if not access.companies(own).filter(pk=merged.company_id).exists():
        merged.company_id = None
    # A value that was taken back has left its key.
    customers.keep(merged)
    # A later merge may have kept what is that of the restored customer alone.
    own_names = [merged.external_id, merged.email_key]
    kept = access.customer_aliases(own).filter(customer=customer.pk, key__in=own_names)
    kept.exclude(key="").filter(join__in=_list_later_merges(join)).delete()
    mine = access.customer_aliases(own).filter(join=join.pk)
    earlier = mine.filter(kind=AliasKind.EMAIL).exclude(key=merged.email_key)
    earlier.update(customer=merged, join=None)
    access.customer_aliases(own).filter(join=join.pk).delete()
    joined = access.joins(own).filter(pk__in=join.rows.get("joins", []), customer=customer.pk)
    back = list(joined.values_list("pk", flat=True))
    joined.update(customer=merged.pk)
    access.customer_aliases(own).filter(customer=customer.pk, join__in=back).update(
        customer=merged.pk
    )
    return merged


def _empty(join: Join, customer: Customer) -> None:
    """Takes back what the join gave the customer, where it was not changed since then."""
    columns = {field.attname: field for field in Customer._meta.concrete_fields}
    filled = join.filled
    for later in _list_later_merges(join):
        filled = _empty_merged(later, filled)
    for name, (before, after) in filled.get("columns", {}).items():
        if name in columns and merges.to_json(columns[name], customer) == after:
            setattr(customer, name, columns[name].to_python(before))
    customer.trait_times = _take_back_times(customer.trait_times, filled.get("times", {}))
    for column in merges.FILLED_MEMBERS:
        members = getattr(customer, column)
        setattr(customer, column, _drop_given(members, filled.get(column, {})))


def _list_later_merges(join: Join) -> list[Join]:
    """Returns the merges, oldest first, of the customer whom the join gave its values."""
    rows = access.joins(Access(join.organization_id)).select_for_update()
    merged = rows.filter(customer=join.customer_id, rule=JoinRule.MERGE, undone_at=None)
    return [
        row for row in merged.order_by("joined_at", "pk") if join.pk in row.rows.get("joins", ())
    ]


def _empty_merged(later: Join, filled: Mapping[str, Any]) -> dict[str, Any]:
    """Takes values back from the row that a later merge keeps; returns those that it passed on."""
    passed: dict[str, Any] = {"columns": {}, "times": {}}
    for name, (before, after) in filled.get("columns", {}).items():
        if later.merged.get(name) == after:
            later.merged[name] = before
        given = later.filled.get("columns", {})
        if name in given and given[name][1] == after:
            passed["columns"][name] = given.pop(name)
    times = filled.get("times", {})
    later.merged["trait_times"] = _take_back_times(later.merged.get("trait_times"), times)
    given = later.filled.get("times", {})
    for name, (_, after) in times.items():
        if name in given and given[name][1] == after:
            passed["times"][name] = given.pop(name)
    for column in merges.FILLED_MEMBERS:
        members = filled.get(column, {})
        later.merged[column] = _drop_given(later.merged.get(column, {}), members)
        given = later.filled.get(column, {})
        passed[column] = {name: one for name, one in given.items() if members.get(name) == one}
        later.filled[column] = _drop_given(given, members)
    later.save(update_fields=["merged", "filled"])
    return passed


def _take_back_times(
    times: Mapping[str, int] | None, given: Mapping[str, Sequence[int | None]]
) -> dict[str, int]:
    """Returns the times of traits as they were before a join gave some of them."""
    kept = dict(times or {})
    for name, (before, after) in given.items():
        if kept.get(name) == after:
            kept.pop(name)
            kept |= {} if before is None else {name: before}
    return kept


def _drop_given(members: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members but for those that were given with the value that they have."""
    return {
        name: value for name, value in members.items() if name not in given or given[name] != value
    }


def _remove_companies(join: Join) -> None:
    """Rows without a customer have no company, if they had none before."""
    for name, keys in join.companies.items():
        rows: Any = TABLES[name](Access(join.organization_id)).filter(customer=None)
        for start in range(0, len(keys), BATCH):
            rows.filter(pk__in=keys[start : start + BATCH]).update(company=None)
