"""Writes what an organization's own app tells about its customers: identify, and updates in bulk.

Customers are named by `external_id`, their id in that app; one that does not exist is added.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from customers import companies, customers
from customers.bulk_writes import BATCH
from customers.identification import field_values, leads, traits
from customers.identification.field_values import InvalidField
from customers.identification.trait_names import IgnoredField
from customers.identification.traits import Traits, WriteResult
from customers.lookup_keys import email_key, has_external_id
from workspace import access
from workspace.access import Access
from workspace.models import Company, Customer, Lifecycle, RenewalStatus

SOURCE: Final = "sdk"
MAX_UPDATES: Final = 1000
MAX_ATTEMPTS: Final = 3
OTHER_COMPANY: Final = "company_id is sent too."


@dataclass(frozen=True, slots=True)
class Profile:
    """A customer as sent. `company_id` is the company's external id; None changes nothing.

    `at` is when the sender wrote it, by the server's clock; None is now.
    """

    external_id: str
    traits: Traits = field(default_factory=Traits)
    context: Mapping[str, Any] = field(default_factory=dict)
    company_id: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class IdentifiedCustomer:
    """The customer whom a request has written, and what it wrote."""

    customer: Customer
    result: WriteResult


@dataclass(frozen=True, slots=True)
class Updated:
    """The number of customers that an update changed, and of those that it added.

    `ignored` is what was not stored.
    """

    changed: int
    added: int
    ignored: Sequence[IgnoredField] = ()


def parse(
    external_id: str,
    sent: Mapping[str, Any],
    context: Mapping[str, Any],
    company_id: str | None = None,
    at: datetime | None = None,
) -> Profile:
    """Returns a profile of traits and context as a server sent them. Raises InvalidField."""
    typed: Any
    entries: Any
    parts = ((traits.parse_customer_traits, sent), (traits.context_entries, context))
    typed, entries = field_values.parse_each(lambda part: part[0](part[1]), parts)
    check_size(sent, context)
    if company_id is not None and typed.company_id not in {None, company_id}:
        ignored = IgnoredField("traits.company.id", OTHER_COMPANY)
        typed = replace(typed, ignored=(*typed.ignored, ignored))
    named = typed.company_id if company_id is None else company_id
    return Profile(external_id, typed, entries, named, at)


def check_size(sent: Mapping[str, Any], context: Mapping[str, Any]) -> None:
    """Raises InvalidField for traits and context that are too large together."""
    if field_values.json_bytes([sent, context]) > traits.MAX_USER_BYTES:
        reason = f"Send at most {traits.MAX_USER_BYTES} bytes of traits and context."
        raise InvalidField("traits", reason)


@transaction.atomic
def identify(organization_id: UUID, profile: Profile) -> IdentifiedCustomer:
    """Writes a customer who was seen at the time of the profile. Raises InvalidField."""
    customer = lock_customers(organization_id, [profile.external_id])[profile.external_id]
    seen_at = profile.at or timezone.now()
    customers.note_seen(customer, seen_at, seen_at)
    named = [profile.company_id] if profile.company_id else []
    of = companies.get_or_create_many(organization_id, named)
    result = _write(customer, profile, of)
    return IdentifiedCustomer(customers.keep(customer), result)


@transaction.atomic
def identify_verified(organization_id: UUID, profile: Profile) -> IdentifiedCustomer:
    """Writes a customer whose id and email are proven. Raises InvalidField.

    The only customer with the email and without an external id becomes this one, and open leads
    with the email are converted.
    """
    _adopt(organization_id, [profile])
    identified = identify(organization_id, profile)
    if "email" in identified.result.stored and identified.customer.email:
        return replace(identified, customer=leads.convert(identified.customer))
    return identified


@transaction.atomic
def update(organization_id: UUID, profiles: Sequence[Profile]) -> Updated:
    """Writes many customers, all or none; they were not seen, so `last_seen` stays as it is.

    The sender's ids and emails are proven, so a customer is found by email as in
    `identify_verified`. Raises InvalidField, with the place of the profile in its path.
    """
    _adopt(organization_id, profiles)
    known = set(_ids(organization_id, [one.external_id for one in profiles]))
    rows = lock_customers(organization_id, [one.external_id for one in profiles])
    named = [one.company_id for one in profiles if one.company_id]
    of = companies.get_or_create_many(organization_id, named)
    ignored: list[IgnoredField] = []
    for place, profile in enumerate(profiles):
        try:
            result = _write(rows[profile.external_id], profile, of)
        except InvalidField as problem:
            raise problem.with_prefix(f"users[{place}]") from None
        ignored += (
            IgnoredField(f"users[{place}].{one.field}", one.reason) for one in result.ignored
        )
    customers.keep_all([], list(rows.values()))
    return Updated(len(known), len(rows) - len(known), ignored)


def lock_customers(organization_id: UUID, external_ids: Iterable[str]) -> dict[str, Customer]:
    """Returns customers by external id, locked until the transaction ends; adds missing ones."""
    wanted = sorted(set(external_ids))
    rows = access.customers(Access(organization_id)).select_for_update().order_by("pk")
    locked: dict[str, Customer] = {}
    # An erasure may hide a customer who was just found: then another one is added.
    for _ in range(MAX_ATTEMPTS):
        _add_missing(organization_id, wanted, known=_ids(organization_id, wanted))
        # In one statement: by parts, two requests could lock the same rows in different orders.
        found = rows.filter(has_external_id(wanted))
        locked = {customer.external_id: customer for customer in found}
        if len(locked) == len(wanted):
            break
    return locked


def ids_of(organization_id: UUID, external_ids: Iterable[str]) -> Mapping[str, str]:
    """Returns the ids of customers by external id, not locked; adds missing ones."""
    wanted = sorted(set(external_ids))
    known = _ids(organization_id, wanted)
    if len(known) == len(wanted):
        return known
    _add_missing(organization_id, wanted, known)
    return _ids(organization_id, wanted)


def author(organization_id: UUID, *, external_id: str, email: str) -> Customer | None:
    """Returns the customer that a server names, by external id or else by email.

    A customer with an unknown external id is added; an email names the only customer that has it.
    """
    rows = access.customers(Access(organization_id))
    if external_id:
        return rows.get(pk=ids_of(organization_id, [external_id])[external_id])
    found = list(rows.filter(email_key=email_key(email))[:2]) if email else []
    return found[0] if len(found) == 1 else None


def _ids(organization_id: UUID, external_ids: Sequence[str]) -> Mapping[str, str]:
    rows = access.customers(Access(organization_id))
    return {
        external_id: customer_id
        for part in _parts(external_ids)
        for external_id, customer_id in rows.filter(has_external_id(part)).values_list(
            "external_id", "pk"
        )
    }


def _add_missing(organization_id: UUID, wanted: Iterable[str], known: Collection[str]) -> None:
    # A concurrent request may add the same one: its row is kept.
    Customer.objects.bulk_create(
        [
            Customer(organization_id=organization_id, external_id=one, source=SOURCE)
            for one in wanted
            if one not in known
        ],
        ignore_conflicts=True,
    )


def _adopt(organization_id: UUID, profiles: Iterable[Profile]) -> None:
    """Gives each new external id to the only customer that has its email and no external id.

    An email that several new ids have names none of them.
    """
    given = {one.external_id: one.traits.columns.get("email") for one in profiles}
    emails = {external_id: str(email) for external_id, email in given.items() if email}
    if not emails:
        return
    known = _ids(organization_id, list(emails))
    wanted: dict[str, list[str]] = defaultdict(list)
    for external_id, email in emails.items():
        if external_id not in known:
            wanted[email_key(email)].append(external_id)
    rows = access.customers(Access(organization_id)).select_for_update().order_by("pk")
    same: dict[str, list[Customer]] = defaultdict(list)
    for customer in rows.filter(email_key__in=list(wanted), external_id=""):
        same[customer.email_key].append(customer)
    adopted = [
        having[0] for key, having in same.items() if len(having) == 1 and len(wanted[key]) == 1
    ]
    for customer in adopted:
        (customer.external_id,) = wanted[customer.email_key]
    try:
        with transaction.atomic():
            Customer.objects.bulk_update(adopted, ["external_id"], batch_size=BATCH)
    except IntegrityError:
        return  # A concurrent request has added a customer with one of the external ids.


def _write(customer: Customer, profile: Profile, of: Mapping[str, Company]) -> WriteResult:
    sent = profile.traits
    if profile.company_id is not None:
        company = of.get(profile.company_id)
        sent = traits.set_company(sent, company.pk if company else None)
    result = traits.write_customer(customer, sent, profile.context, profile.at)
    set_lifecycle(customer, result, profile.at)
    return result


def set_lifecycle(customer: Customer, written: WriteResult, at: datetime | None) -> None:
    """A customer whose renewal is lost has churned, until another status says otherwise.

    `at` is when the sender wrote that; None is now.
    """
    if "renewal_status" in written.stored and "lifecycle" not in written.stored:
        lifecycle = _lifecycle_by_renewal(customer)
        if lifecycle != customer.lifecycle and traits.note_times(customer, ["lifecycle"], at):
            customer.lifecycle = lifecycle
    if customer.lifecycle != Lifecycle.CHURNED:
        customer.churned_at = None
    elif customer.churned_at is None:
        customer.churned_at = at or timezone.now()


def _lifecycle_by_renewal(customer: Customer) -> str:
    if customer.renewal_status == RenewalStatus.LOST:
        return Lifecycle.CHURNED
    has_churned = customer.lifecycle == Lifecycle.CHURNED
    return Lifecycle.ACTIVE if has_churned else customer.lifecycle


def _parts(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + BATCH] for start in range(0, len(values), BATCH))
