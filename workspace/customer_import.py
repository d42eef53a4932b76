"""A file's customers taken into an organization: all of them, or none."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from workspace import customers
from workspace.customer_file import Entry, Problem, Unusable
from workspace.models import Customer, Organization


@dataclass(frozen=True, slots=True)
class Counts:
    """What an import did."""

    added: int
    changed: int
    unchanged: int

    def __str__(self) -> str:
        return f"{self.added} added, {self.changed} changed, {self.unchanged} as they were"


@dataclass(frozen=True, slots=True)
class Known:
    """The customers that the rows of a file may mean."""

    by_external_id: dict[str, Customer] = field(default_factory=dict)
    by_email: dict[str, list[Customer]] = field(default_factory=lambda: defaultdict(list))


@transaction.atomic
def take(organization: Organization, entries: Sequence[Entry]) -> Counts:
    """Add and change customers as the rows say. Raises Unusable, and then nothing has changed.

    A row means the customer with its external id. Where there is none it means the only customer
    with its address, unless that one goes by another external id; else it is a new customer.
    """
    # One import at a time into an organization: two would each add the same customer.
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
    meant = _matched(entries, _known(organization, entries))
    told = [(meant.get(entry.line) or Customer(organization=organization)) for entry in entries]
    both = zip(told, entries, strict=True)
    written = [customer for customer, entry in both if _apply(customer, entry)]
    known = {customer.pk for customer in meant.values()}
    added = [customer for customer in written if customer.pk not in known]
    changed = [customer for customer in written if customer.pk in known]
    customers.keep_all(added, changed)
    return Counts(len(added), len(changed), len(entries) - len(written))


def _known(organization: Organization, entries: Sequence[Entry]) -> Known:
    found = Known()
    seen: set[str] = set()
    # Locked: one that somebody deletes meanwhile must not come back by being changed.
    rows = organization.customers.select_for_update()
    for start in range(0, len(entries), customers.BATCH):
        part = entries[start : start + customers.BATCH]
        ids = [entry.external_id for entry in part if entry.external_id]
        keys = [entry.email_key for entry in part if entry.email]
        both = (*rows.filter(external_id__in=ids), *rows.filter(email_key__in=keys))
        for customer in both:
            if customer.pk not in seen:
                seen.add(customer.pk)
                _note(found, customer)
    return found


def _note(found: Known, customer: Customer) -> None:
    if customer.external_id:
        found.by_external_id[customer.external_id] = customer
    if customer.email_key:
        found.by_email[customer.email_key].append(customer)


def _matched(entries: Iterable[Entry], known: Known) -> dict[int, Customer]:
    """The customers that are there already, by the line that means them."""
    meant: dict[int, Customer] = {}
    lines: dict[str, int] = {}
    problems = []
    for entry in entries:
        if _is_unclear(entry, known):
            text = "Several customers have this email. Give the external_id."
            problems.append(Problem(entry.line, text))
        elif customer := _match(entry, known):
            first = lines.setdefault(customer.pk, entry.line)
            if first != entry.line:
                text = f"This is the same customer as on line {first}."
                problems.append(Problem(entry.line, text))
            meant[entry.line] = customer
    if problems:
        raise Unusable(problems)
    return meant


def _is_unclear(entry: Entry, known: Known) -> bool:
    return not entry.external_id and len(known.by_email.get(entry.email_key, ())) > 1


def _match(entry: Entry, known: Known) -> Customer | None:
    if entry.external_id in known.by_external_id:
        return known.by_external_id[entry.external_id]
    sharing = known.by_email.get(entry.email_key, [])
    only = sharing[0] if len(sharing) == 1 else None
    # With another external id it is somebody else with the same address.
    return only if only and not (entry.external_id and only.external_id) else None


def _apply(customer: Customer, entry: Entry) -> bool:
    """Write what the row says onto the customer; whether that changes anything."""
    said = {name: getattr(entry, name) for name in ("external_id", "email", "name")}
    wanted = {name: text for name, text in said.items() if text}
    wanted["vendor_ids"] = {**customer.vendor_ids, **entry.vendor_ids}
    before = {name: getattr(customer, name) for name in wanted}
    for name, value in wanted.items():
        setattr(customer, name, value)
    return before != wanted
