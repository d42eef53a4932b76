"""Joins what belongs to no customer to the customer who becomes known, and records each join.

What a page says is a claim: it joins the events of its session. What a server says is proof: it
also joins the conversation of the session, and tickets and leads of an address. An undone join is
not made again. Source: docs/identification.md, Joins.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID
from zlib import crc32

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from customers import customers
from customers.bulk_writes import BATCH
from customers.identification import aliases, leads
from customers.lookup_keys import is_of_visitor, is_unclaimed_ticket
from workspace import access
from workspace.access import Access
from workspace.models import Customer, Join, JoinOrigin, JoinRule

SESSION_AGE: Final = timedelta(days=30)
ADDRESS_AGE: Final = timedelta(days=365)
# Of one session, or of one address. Of a session with more, nothing is joined: it is that of many.
MAX_ROWS: Final = 1_000
TURN: Final = 0x6A6F696E  # "join": the advisory locks of sessions

# What a join moves, by the names in its record.
TABLES: Final = {
    "events": access.events,
    "conversations": access.conversations,
    "feedback": access.feedback,
    "tickets": access.tickets,
    "leads": access.leads,
}


@dataclass(frozen=True, slots=True)
class JoinedBy:
    """Where a join comes from: an origin, and a server key, a file or a person."""

    origin: JoinOrigin
    actor: str = ""

    @property
    def is_proof(self) -> bool:
        return self.origin != JoinOrigin.PAGE


@dataclass(slots=True)
class MovedRows:
    """The keys of rows by table, and of those whose company is set with the customer."""

    rows: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    companies: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def __bool__(self) -> bool:
        return any(self.rows.values())


def count_rows(join: Join) -> Mapping[str, int]:
    """Returns the number of rows that a join moved, by table."""
    return {name: len(keys) for name, keys in join.rows.items() if keys and name in TABLES}


@transaction.atomic
def join_session(customer: Customer, session_id: str, by: JoinedBy) -> Join | None:
    """Joins the rows of a session that belong to no customer; returns the record of it.

    The caller has locked the customer. A session that belongs to another customer too is left as it
    is, and one with more than MAX_ROWS events in 30 days.
    """
    since = timezone.now() - SESSION_AGE
    own = Access(customer.organization_id)
    events = access.events(own).filter(is_of_visitor([session_id]), at__gte=since)
    chats = access.conversations(own).filter(is_of_visitor([session_id]), started_at__gte=since)
    if not (events.exists() or (by.is_proof and chats.exists())):
        return None
    _lock_session(customer.organization_id, session_id)
    join = _find_record(customer, JoinRule.SESSION, session_id, by)
    if _is_of_another(customer, session_id) or join.undone_at:
        return None
    many = MAX_ROWS - len(join.rows.get("events", ()))
    found = list(events.select_for_update().order_by("pk").values_list("pk", "at")[: many + 1])
    if len(found) > many:
        return None
    moved = MovedRows()
    moved.rows["events"] = [pk for pk, _ in found]
    if by.is_proof:
        _add_conversation(moved, own, chats)
    if not moved:
        return None
    _give(moved, customer)
    before = _seen_times(customer)
    if found:
        times = [at for _, at in found]
        if customers.note_seen(customer, min(times), max(times)):
            customers.keep_seen([customer])
    filled = {"columns": _changed_columns(before, _seen_times(customer))}
    return _record(join, moved, filled)


def find_visitor_sessions(
    organization_id: UUID, session_ids: Sequence[str], by: JoinedBy
) -> frozenset[str]:
    """Returns those of the sessions in which rows belong to no customer."""
    since = timezone.now() - SESSION_AGE
    own, of_visitor = Access(organization_id), is_of_visitor(session_ids)
    events = access.events(own).filter(of_visitor, at__gte=since)
    found = set(events.values_list("session_id", flat=True).distinct())
    if by.is_proof:
        chats = access.conversations(own).filter(of_visitor, started_at__gte=since)
        found |= set(chats.values_list("session_id", flat=True))
    return frozenset(found)


def join_address(customer: Customer, by: JoinedBy) -> Sequence[Join]:
    """Joins the leads and tickets of a customer's proven address; returns the record of it.

    Nothing is joined if another customer has or had the address. The caller has locked the
    customer.
    """
    join = _find_record(customer, JoinRule.ADDRESS, customer.email_key, by)
    holders = aliases.find_holder_ids(customer.organization_id, customer.email_key)
    if join.undone_at or holders != {customer.pk}:
        return []
    moved = _find_tickets(customer.organization_id, [customer]).get(customer.pk, MovedRows())
    converted = leads.convert(customer)
    moved.rows["leads"] = list(converted.ids)
    if not moved:
        return []
    _give(moved, customer)
    return [_record(join, moved, converted.filled)]


@transaction.atomic
def join_tickets(organization_id: UUID, named: Iterable[Customer], by: JoinedBy) -> Sequence[Join]:
    """Joins the tickets of the proven addresses of many customers, whom the caller has locked."""
    by_id = {one.pk: one for one in named if one.email_key and one.email_claimed_at is None}
    joins = []
    for customer_id, moved in _find_tickets(organization_id, list(by_id.values())).items():
        customer = by_id[customer_id]
        join = _find_record(customer, JoinRule.ADDRESS, customer.email_key, by)
        if join.undone_at is None:
            _give(moved, customer)
            joins.append(_record(join, moved, {}))
    return joins


def move(
    organization_id: UUID, name: str, keys: Sequence[Any], owner: str, new_owner: str | None
) -> int:
    """Gives rows of a table to another customer, or to none, if they are of this one."""
    rows: QuerySet[Any] = TABLES[name](Access(organization_id)).filter(customer=owner)
    return sum(
        rows.filter(pk__in=keys[start : start + BATCH]).update(customer=new_owner)
        for start in range(0, len(keys), BATCH)
    )


def _find_tickets(organization_id: UUID, named: Sequence[Customer]) -> dict[str, MovedRows]:
    """Returns the tickets of addresses that exactly one customer has or had, by customer, locked.

    The address of a ticket counts if a server has said it.
    """
    by_key = {one.email_key: one for one in named}
    since = timezone.now() - ADDRESS_AGE
    rows = access.tickets(Access(organization_id)).filter(
        email_proven_at__isnull=False, created_at__gte=since
    )
    keys = list(by_key)
    by_address: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for start in range(0, len(keys), BATCH):
        found = rows.filter(is_unclaimed_ticket(keys[start : start + BATCH]))
        locked = found.select_for_update().order_by("pk")
        for pk, email, company in locked.values_list("pk", "email_key", "company"):
            by_address[str(email)].append((pk, company))
    moved: dict[str, MovedRows] = {}
    for key, tickets in by_address.items():
        if aliases.find_holder_ids(organization_id, key) != {by_key[key].pk}:
            continue
        mine = moved[by_key[key].pk] = MovedRows()
        for ticket, of_ticket in tickets[:MAX_ROWS]:
            _add(mine, "tickets", ticket, of_ticket)
    return moved


def _add_conversation(moved: MovedRows, own: Access, chats: QuerySet[Any]) -> None:
    """Adds the conversation of a session, its ratings, and the tickets that were made from it."""
    for pk, company in chats.select_for_update().values_list("pk", "company"):
        _add(moved, "conversations", pk, company)
    of_chats = {"customer": None, "conversation__in": moved.rows["conversations"]}
    for name, rows in (("feedback", access.feedback(own)), ("tickets", access.tickets(own))):
        for pk, company in rows.filter(**of_chats).order_by("pk").values_list("pk", "company"):
            _add(moved, name, pk, company)


def _add(moved: MovedRows, name: str, key: Any, company: str | None) -> None:
    moved.rows[name].append(key)
    if company is None:
        moved.companies[name].append(key)


def _give(moved: MovedRows, customer: Customer) -> None:
    """Gives rows of no customer to the customer, and those without a company the customer's."""
    own = Access(customer.organization_id)
    for name, keys in moved.rows.items():
        rows: QuerySet[Any] = TABLES[name](own).filter(customer=None)
        for start in range(0, len(keys), BATCH):
            rows.filter(pk__in=keys[start : start + BATCH]).update(customer=customer.pk)
    for name, keys in moved.companies.items():
        rows = TABLES[name](own).filter(customer=customer.pk, company=None)
        for start in range(0, len(keys), BATCH):
            rows.filter(pk__in=keys[start : start + BATCH]).update(company=customer.company_id)


def _is_of_another(customer: Customer, session_id: str) -> bool:
    own = Access(customer.organization_id)
    return any(
        rows.exclude(session_id="")
        .filter(session_id=session_id, customer__isnull=False)
        .exclude(customer=customer.pk)
        .exists()
        for rows in (access.events(own), access.conversations(own))
    )


def _lock_session(organization_id: UUID, session_id: str) -> None:
    """Waits for a join of the same session: two customers would get a part of it each."""
    # SQLite has one writer at a time.
    if connection.vendor == "postgresql":
        key = crc32(organization_id.bytes + session_id.encode()) - 2**31  # a signed integer
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [TURN, key])


def _find_record(customer: Customer, rule: JoinRule, source: str, by: JoinedBy) -> Join:
    """Returns the record of this join, which may be undone, or a new one."""
    rows = access.joins(Access(customer.organization_id)).filter(customer=customer.pk)
    known = rows.filter(rule=rule, source=source).order_by("joined_at", "pk").first()
    return known or Join(
        organization_id=customer.organization_id,
        customer=customer,
        rule=rule,
        source=source,
        origin=by.origin,
        actor=by.actor,
    )


def _record(join: Join, moved: MovedRows, filled: Mapping[str, Any]) -> Join:
    """Records a join, or more rows of one that is recorded."""
    for column, more in ((join.rows, moved.rows), (join.companies, moved.companies)):
        for name, keys in more.items():
            if keys:
                column[name] = [*column.get(name, ()), *keys]
    join.filled = _merge_filled(join.filled, filled)
    join.save()
    return join


def _merge_filled(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a join has filled after it has filled more."""
    filled = {name: {**members} for name, members in before.items()}
    for name, members in more.items():
        kept = filled.setdefault(name, {})
        for member, value in members.items():
            # Of a column, the value before the first and after the last time.
            is_again = name == "columns" and member in kept
            kept[member] = [kept[member][0], value[1]] if is_again else value
    return filled


def _seen_times(customer: Customer) -> dict[str, str | None]:
    times = {"first_seen": customer.first_seen, "last_seen": customer.last_seen}
    return {name: at.isoformat() if at else None for name, at in times.items()}


def _changed_columns(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {name: [before[name], after[name]] for name in after if before[name] != after[name]}
