"""Writes what an organization's own app tells about its customers: identify, and updates in bulk.

Customers are named by `external_id`, their id in that app; one that does not exist is added.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from customers import companies, customers
from customers.bulk_writes import BATCH
from customers.identification import aliases, field_values, joins, traits
from customers.identification.field_values import InvalidField
from customers.identification.joins import JoinedBy
from customers.identification.trait_names import IgnoredField
from customers.identification.traits import Traits, WriteResult
from customers.lookup_keys import email_key, has_external_id
from customers.privacy import suppression
from customers.privacy.suppression import ErasedNames, Name
from workspace import access
from workspace.access import Access
from workspace.models import AliasKind, Company, Customer, Join, Lifecycle, RenewalStatus
from workspace.models.privacy import ErasedNameKind

SOURCE: Final = "sdk"
MAX_UPDATES: Final = 1000
MAX_ATTEMPTS: Final = 3
OTHER_COMPANY: Final = "company_id is sent too."


@dataclass(frozen=True, slots=True)
class Profile:
    """A customer as sent. `company_id` is the company's external id; None changes nothing.

    `at` is when the sender wrote it, by the server's clock; None is now. `session_ids` are those in
    which the customer was a visitor.
    """

    external_id: str
    traits: Traits = field(default_factory=Traits)
    context: Mapping[str, Any] = field(default_factory=dict)
    company_id: str | None = None
    at: datetime | None = None
    session_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IdentifiedCustomer:
    """The customer whom a request has written, what it wrote, and what was joined."""

    customer: Customer
    result: WriteResult
    joins: Sequence[Join] = ()


@dataclass(frozen=True, slots=True)
class Updated:
    """The number of customers that an update changed, and of those that it added.

    `ignored` is what was not stored.
    """

    changed: int
    added: int
    ignored: Sequence[IgnoredField] = ()
    joins: Sequence[Join] = ()


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
def identify(organization_id: UUID, profile: Profile, by: JoinedBy) -> IdentifiedCustomer:
    """Writes a customer who was seen at the time of the profile. Raises InvalidField.

    An address in the profile is a claim. What belongs to nobody in the sessions of the profile
    becomes the customer's.
    """
    return _identify(organization_id, profile, by, is_proven=False)


@transaction.atomic
def identify_verified(organization_id: UUID, profile: Profile, by: JoinedBy) -> IdentifiedCustomer:
    """Writes a customer whose id and email are proven. Raises InvalidField.

    The only customer with the email and without an external id becomes this one. Open leads with
    the email are converted, and tickets with it that belong to nobody become the customer's.
    """
    _adopt(organization_id, [profile])
    identified = _identify(organization_id, profile, by, is_proven=True)
    if "email" not in identified.result.stored or not identified.customer.email:
        return identified
    found = joins.join_address(identified.customer, by)
    return replace(identified, joins=(*identified.joins, *found))


def _identify(
    organization_id: UUID, profile: Profile, by: JoinedBy, *, is_proven: bool
) -> IdentifiedCustomer:
    customer = lock_customers(organization_id, [profile.external_id])[profile.external_id]
    seen_at = profile.at or timezone.now()
    customers.note_seen(customer, seen_at, seen_at)
    named = [profile.company_id] if profile.company_id else []
    of = companies.get_or_create_many(organization_id, named)
    before, address = _proven_address(customer), customer.email
    result = _write(customer, profile, of, is_proven=is_proven)
    if customer.email != address:
        suppression.check(organization_id, suppression.make_names(emails=[customer.email]))
    customers.keep(customer)
    aliases.keep_addresses(organization_id, [(customer, before)])
    found = [joins.join_session(customer, one, by) for one in profile.session_ids]
    return IdentifiedCustomer(customer, result, [one for one in found if one])


def update(organization_id: UUID, profiles: Sequence[Profile], by: JoinedBy) -> Updated:
    """Writes many customers, all or none; they were not seen, so `last_seen` stays as it is.

    The sender's ids and emails are proven, so a customer is found by email as in
    `identify_verified`, and tickets are joined. Raises InvalidField, with the place of the profile
    in its path.
    """
    refused: dict[Name, datetime] = {}
    while True:
        try:
            return _update(organization_id, profiles, by, refused)
        except ErasedNames as erased:
            refused |= erased.until


@transaction.atomic
def _update(
    organization_id: UUID,
    every: Sequence[Profile],
    by: JoinedBy,
    refused: Mapping[Name, datetime],
) -> Updated:
    ignored: list[IgnoredField] = []
    profiles: dict[int, Profile] = {}
    for place, profile in enumerate(every):
        names = _list_names(profile)
        ignored += [
            IgnoredField(f"users[{place}].{field}", suppression.describe(refused[name]))
            for field, name in names
            if name in refused
        ]
        if not any(name in refused for _, name in names):
            profiles[place] = profile
    _adopt(organization_id, profiles.values())
    ids = [one.external_id for one in profiles.values()]
    known = set(_ids(organization_id, ids))
    rows = lock_customers(organization_id, ids)
    # Two ids may be those of one customer.
    each = {customer.pk: customer for customer in rows.values()}
    before = [(customer, _proven_address(customer)) for customer in each.values()]
    named = [one.company_id for one in profiles.values() if one.company_id]
    of = companies.get_or_create_many(organization_id, named)
    addresses: set[str] = set()
    has_email = set()
    for place, profile in profiles.items():
        customer = rows[profile.external_id]
        address = customer.email
        try:
            result = _write(customer, profile, of, is_proven=True)
        except InvalidField as problem:
            raise problem.with_prefix(f"users[{place}]") from None
        if "email" in result.stored:
            has_email.add(customer.pk)
        if customer.email != address:
            addresses.add(customer.email)
        ignored += (
            IgnoredField(f"users[{place}].{one.field}", one.reason) for one in result.ignored
        )
    suppression.check(organization_id, suppression.make_names(emails=addresses))
    customers.keep_all([], list(each.values()))
    aliases.keep_addresses(organization_id, before)
    found = joins.join_tickets(organization_id, [each[pk] for pk in sorted(has_email)], by)
    return Updated(len(known), len(rows) - len(known), ignored, found)


def _list_names(profile: Profile) -> list[tuple[str, Name]]:
    """Returns the field and the name of what a profile calls its customer."""
    emails = [str(profile.traits.columns.get("email") or "")]
    fields = {ErasedNameKind.USER_ID: "user_id", ErasedNameKind.EMAIL: "traits.email"}
    return [
        (fields[name[0]], name) for name in suppression.make_names([profile.external_id], emails)
    ]


def lock_customers(organization_id: UUID, external_ids: Iterable[str]) -> dict[str, Customer]:
    """Returns customers by external id, locked until the transaction ends; adds missing ones.

    An id that was merged into another customer names that one. Raises ErasedNames for those that
    were erased.
    """
    wanted = sorted(set(external_ids))
    rows = access.customers(Access(organization_id)).select_for_update().order_by("pk")
    locked: dict[str, Customer] = {}
    # An erasure may hide a customer who was just found, and a merge delete one: then the id is
    # looked up again.
    for _ in range(MAX_ATTEMPTS):
        known = ids_of(organization_id, wanted)
        # In one statement: by parts, two requests could lock the same rows in different orders.
        found = list(rows.filter(pk__in=set(known.values())))
        names: dict[str, list[str]] = defaultdict(list)
        for named, pk in known.items():
            names[pk].append(named)
        locked = {named: customer for customer in found for named in names[customer.pk]}
        if len(locked) == len(wanted):
            break
    return locked


def ids_of(organization_id: UUID, external_ids: Iterable[str]) -> Mapping[str, str]:
    """Returns the ids of customers by external id, not locked; adds missing ones."""
    wanted = sorted(set(external_ids))
    known = _ids(organization_id, wanted)
    if len(known) == len(wanted):
        return known
    missing = [one for one in wanted if one not in known]
    _add(organization_id, missing)
    # A merge that ended meanwhile may have deleted a customer with one of the ids.
    merged = aliases.find_customer_ids(organization_id, missing, AliasKind.EXTERNAL_ID)
    if merged:
        access.customers(Access(organization_id)).filter(has_external_id(merged)).delete()
    return _ids(organization_id, wanted)


def author(organization_id: UUID, *, external_id: str, email: str) -> Customer | None:
    """Returns the customer that a server names, by external id or else by email, locked.

    A customer with an unknown external id is added; an email names the only customer that has it,
    or else the only one that had it. Raises ErasedNames.
    """
    if external_id:
        return lock_customers(organization_id, [external_id])[external_id]
    found = aliases.find_author(organization_id, email) if email else None
    if found is None:
        return None
    rows = access.customers(Access(organization_id)).select_for_update()
    return rows.filter(pk=found.pk).first()


def _ids(organization_id: UUID, external_ids: Sequence[str]) -> Mapping[str, str]:
    """Returns the ids of those that exist, also of those that were merged into another one."""
    rows = access.customers(Access(organization_id))
    known = {
        external_id: customer_id
        for part in _parts(external_ids)
        for external_id, customer_id in rows.filter(has_external_id(part)).values_list(
            "external_id", "pk"
        )
    }
    others = [one for one in external_ids if one not in known]
    if not others:
        return known
    return {**known, **aliases.find_customer_ids(organization_id, others, AliasKind.EXTERNAL_ID)}


def _add(organization_id: UUID, missing: Sequence[str]) -> None:
    suppression.check(organization_id, suppression.make_names(missing))
    # A concurrent request may add the same one: its row is kept.
    Customer.objects.bulk_create(
        [
            Customer(organization_id=organization_id, external_id=one, source=SOURCE)
            for one in missing
        ],
        ignore_conflicts=True,
    )


def _proven_address(customer: Customer) -> str:
    return customer.email if customer.email_claimed_at is None else ""


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
    names = suppression.make_names(customer.external_id for customer in adopted)
    suppression.check(organization_id, names)
    try:
        with transaction.atomic():
            Customer.objects.bulk_update(adopted, ["external_id"], batch_size=BATCH)
    except IntegrityError:
        return  # A concurrent request has added a customer with one of the external ids.


def _write(
    customer: Customer, profile: Profile, of: Mapping[str, Company], *, is_proven: bool
) -> WriteResult:
    sent = profile.traits
    if profile.company_id is not None:
        company = of.get(profile.company_id)
        sent = traits.set_company(sent, company.pk if company else None)
    before = customer.email_key
    result = traits.write_customer(customer, sent, profile.context, profile.at)
    if "email" in result.stored and is_proven:
        customer.email_claimed_at = None
    elif email_key(customer.email) != before:
        customer.email_claimed_at = timezone.now()
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
