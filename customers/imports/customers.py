"""Files of customers: a row names a customer with its external id, or else with its address."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from customers import customers
from customers.identification import (
    aliases,
    field_values,
    joins,
    merges,
    profiles,
    traits,
)
from customers.identification.field_values import InvalidField, InvalidValue, Reader
from customers.identification.joins import JoinedBy
from customers.imports import accounts, columns, lookups
from customers.imports.columns import (
    CellProblem,
    CellReader,
    FileKind,
    ImportColumn,
    ImportPlan,
    Row,
    Seen,
)
from customers.lookup_keys import email_key, has_external_id
from customers.privacy import suppression
from customers.privacy.suppression import Name
from workspace import access
from workspace.access import Access
from workspace.models import Customer, ImportKind, JoinOrigin, Lifecycle

SOURCE: Final = "import"


def _vendor_id(integration: str) -> CellReader:
    vendor = customers.VENDOR_IDS[integration]

    def read(cell: str) -> str:
        if not vendor.pattern.fullmatch(cell):
            raise InvalidValue(f"This is not a valid id. {vendor.shape}")
        return cell

    return read


LIFECYCLE: Final[Reader] = field_values.choice(Lifecycle.values)
COLUMNS: Final = (
    ImportColumn("external_id", columns.external_id, "user-1"),
    ImportColumn("email", columns.email, "ada@example.com"),
    ImportColumn("name", columns.text(200), "Ada Lovelace"),
    ImportColumn("company_id", columns.external_id),
    ImportColumn("previous_id", columns.external_id),
    ImportColumn("role", columns.text(100), "admin"),
    ImportColumn("lifecycle", columns.choice(LIFECYCLE), "active"),
    *accounts.COLUMNS,
    ImportColumn("hubspot", _vendor_id("hubspot"), "151"),
    ImportColumn("stripe", _vendor_id("stripe"), "cus_NffrFeUfNV2Hib"),
)
TRAITS: Final = tuple(column.name for column in COLUMNS if column.name in traits.CUSTOMER)


@dataclass(frozen=True, slots=True)
class _KnownCustomers:
    """The customers that some rows may name, by what they were called before the file.

    A part of the file may be stored already: by what they are called then, the same row would be
    judged differently before and after the end of a part. `merged` are the customers of ids that
    were merged into them.
    """

    by_external_id: dict[str, Customer] = field(default_factory=dict)
    by_email: dict[str, list[Customer]] = field(default_factory=lambda: defaultdict(list))
    unnamed: set[str] = field(default_factory=set)
    merged: Mapping[str, str] = field(default_factory=dict)

    def note(self, customer: Customer, external_id: str, key: str) -> None:
        if external_id:
            self.by_external_id[external_id] = customer
        else:
            self.unnamed.add(customer.pk)
        if key:
            self.by_email[key].append(customer)

    def match(self, row: Row, seen: Seen) -> Customer | None:
        """Returns the customer with the external id, or else the only one with the address."""
        named = row.text("external_id")
        if named in self.by_external_id:
            return self.by_external_id[named]
        sharing = self.by_email.get(email_key(row.text("email")), [])
        only = sharing[0] if len(sharing) == 1 else None
        if only is None or not named:
            return only
        # Another external id with the same address is another customer: one that the customer has,
        # or has been given by an earlier row.
        is_free = only.pk in self.unnamed and ("row", only.pk) not in seen.lines
        return only if is_free else None


@dataclass(frozen=True, slots=True)
class _PlanContext:
    """Where rows are planned: what exists, and what earlier rows of the file named."""

    organization_id: UUID
    known: _KnownCustomers
    companies: Mapping[str, str]
    seen: Seen
    erased: Mapping[Name, datetime]


@dataclass(frozen=True, slots=True)
class _ProvenRow:
    """What a row proves of a customer: whether an address, which one was before, another id."""

    line: int
    customer: Customer
    address: str
    has_email: bool
    previous_id: str


def plan(organization_id: UUID, rows: Sequence[Row], seen: Seen) -> ImportPlan:
    """Decides which customers the rows add and change."""
    planned = ImportPlan()
    known = _load_known(organization_id, rows, seen)
    of = lookups.companies(organization_id, [row.text("company_id") for row in rows])
    ids, emails = ([row.text(name) for row in rows] for name in ("external_id", "email"))
    ids += [row.text("previous_id") for row in rows]
    erased = suppression.find(organization_id, suppression.make_names(ids, emails))
    place = _PlanContext(organization_id, known, of, seen, erased)
    proven: list[_ProvenRow] = []
    for row in rows:
        if not _is_repeated(row, seen, planned):
            proven += _plan_row(place, row, planned)
    planned.after.append(partial(_join, organization_id, proven))
    return planned


def store(planned: ImportPlan) -> None:
    customers.keep_all(planned.new, planned.changed)
    for join in planned.after:
        join()


def _join(organization_id: UUID, proven: Sequence[_ProvenRow]) -> None:
    """Keeps earlier addresses, and joins the tickets and the customers that the rows name."""
    by = JoinedBy(JoinOrigin.IMPORT)
    aliases.keep_addresses(organization_id, [(one.customer, one.address) for one in proven])
    joins.join_tickets(organization_id, [one.customer for one in proven if one.has_email], by)
    for one in proven:
        if one.previous_id:
            _merge(one, by)


def _merge(row: _ProvenRow, by: JoinedBy) -> None:
    """Raises Unusable."""
    try:
        merges.merge_previous(row.customer, row.previous_id, by)
    except merges.TooManyRows as refused:
        problem = CellProblem(row.line, "previous_id", str(refused))
        raise columns.Unusable([problem]) from None


def _plan_row(place: _PlanContext, row: Row, planned: ImportPlan) -> Iterator[_ProvenRow]:
    sharing = place.known.by_email.get(email_key(row.text("email")), ())
    if not row.text("external_id") and len(sharing) > 1:
        reason = "Several customers have this email. Enter the external_id."
        planned.refuse(row.line, "email", reason)
        return
    if row.text("company_id") and row.text("company_id") not in place.companies:
        planned.refuse(row.line, "company_id", lookups.NO_COMPANY)
        return
    found = place.known.match(row, place.seen)
    if found and (first := place.seen.first("row", found.pk, row.line)):
        planned.refuse(row.line, "", f"This row and line {first} are the same customer.")
        return
    if _is_erased(place, row, found, planned):
        return
    customer = found or Customer(organization_id=place.organization_id, source=SOURCE)
    _remember(customer, place.seen, is_new=found is None)
    before = columns.state(customer) if found else ()
    proven_address = "" if customer.email_claimed_at else customer.email
    try:
        _apply(customer, row, place)
    except InvalidField as invalid:
        planned.refuse(row.line, "", invalid.reason)
        return
    previous_id = row.text("previous_id")
    is_merge = bool(previous_id) and place.known.merged.get(previous_id) != customer.pk
    has_changed = found is None or is_merge or columns.state(customer) != before
    planned.add(row.line, customer, is_new=found is None, has_changed=has_changed)
    yield _ProvenRow(
        row.line,
        customer,
        address=proven_address,
        has_email="email" in row.values,
        previous_id=previous_id if is_merge else "",
    )


def _is_erased(place: _PlanContext, row: Row, found: Customer | None, planned: ImportPlan) -> bool:
    """Refuses a row that would give a customer the name of an erased person."""
    if not place.erased:
        return False
    stored = {"external_id": found.external_id, "email": found.email_key} if found else {}
    ids = [(name, row.text(name)) for name in ("external_id", "previous_id")]
    named = [(column, suppression.make_names([value])) for column, value in ids]
    for column, names in [*named, ("email", suppression.make_names(emails=[row.text("email")]))]:
        until = next((place.erased[name] for name in names if name in place.erased), None)
        if until and stored.get(column) != names[0][1]:
            planned.refuse(row.line, column, suppression.describe(until))
            return True
    return False


def _remember(customer: Customer, seen: Seen, *, is_new: bool) -> None:
    """Keeps what a customer is called before the row changes it."""
    names = ("", "") if is_new else (customer.external_id, customer.email_key)
    seen.before[customer.pk] = names
    if names[1]:
        seen.by_email[names[1]].append(customer.pk)


def _apply(customer: Customer, row: Row, place: _PlanContext) -> None:
    """Sets the values of the row. Raises InvalidField if the customer grows too large."""
    sent = accounts.traits_of(row, TRAITS)
    if row.text("company_id"):
        sent = traits.set_company(sent, place.companies[row.text("company_id")])
    written = traits.write_customer(customer, sent, {}, None)
    profiles.set_lifecycle(customer, written, None)
    if "email" in row.values:
        customer.email_claimed_at = None
    # An id that was merged into the customer names them, and stays what it is.
    if row.text("external_id") not in place.known.merged:
        customer.external_id = row.text("external_id") or customer.external_id
    customer.vendor_ids = {**customer.vendor_ids, **row.some((*customers.VENDOR_IDS,))}


def _is_repeated(row: Row, seen: Seen, planned: ImportPlan) -> bool:
    """Refuses a row that names the same customer as an earlier one of the file."""
    named, address = row.text("external_id"), email_key(row.text("email"))
    if named and (first := seen.first("external_id", named, row.line)):
        planned.refuse(row.line, "external_id", f"It is already used on line {first}.")
        return True
    previous_id = row.text("previous_id")
    if previous_id and (previous_id == named or seen.first("external_id", previous_id, row.line)):
        planned.refuse(row.line, "previous_id", "Another row, or this one, has it as external_id.")
        return True
    if not address:
        return False
    first = seen.first("email", address, row.line)
    if named:
        # Rows with ids of their own may share an address.
        first = seen.lines.get(("only email", address), 0)
    else:
        seen.first("only email", address, row.line)
    if first:
        reason = f"It is also used on line {first}. Give each row an external_id."
        planned.refuse(row.line, "email", reason)
    return bool(first)


def _load_known(organization_id: UUID, rows: Sequence[Row], seen: Seen) -> _KnownCustomers:
    ids = [row.text("external_id") for row in rows if row.text("external_id")]
    previous = [row.text("previous_id") for row in rows]
    merged = lookups.merged_ids(organization_id, [*ids, *previous])
    known = _KnownCustomers(merged=merged)
    found = lookups.rows_for_update(access.customers(Access(organization_id)))
    keys = [email_key(row.text("email")) for row in rows if row.text("email")]
    renamed = [pk for key in keys for pk in seen.by_email.get(key, ())]
    every = (
        *found.filter(has_external_id(ids)),
        *found.filter(email_key__in=keys),
        *(found.filter(pk__in=renamed) if renamed else ()),
        *(found.filter(pk__in=set(merged.values())) if merged else ()),
    )
    by_id: dict[str, Customer] = {}
    for customer in {each.pk: each for each in every}.values():
        now = (customer.external_id, customer.email_key)
        known.note(customer, *seen.before.get(customer.pk, now))
        by_id[customer.pk] = customer
    for other, pk in merged.items():
        if pk in by_id:
            known.by_external_id.setdefault(other, by_id[pk])
    return known


KIND: Final = FileKind(
    kind=ImportKind.CUSTOMERS,
    columns=COLUMNS,
    named_by=("external_id", "email"),
    plan=plan,
    store=store,
    parts={"name": ("first_name", "last_name")},
)
