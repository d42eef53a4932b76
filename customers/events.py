"""Writes product events, a batch with one statement."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from customers import customers
from customers.identification import joins, profiles
from customers.identification.joins import JoinedBy
from customers.identification.trait_names import IgnoredField
from customers.privacy.suppression import ErasedNames
from workspace.models import Customer, Event, Join

MAX_BATCH: Final = 100
MAX_METADATA_BYTES: Final = 10_000
KNOWN: Final = "It is stored already."
# What makes an event with a known id the same one. Each request corrects its time again.
CONTENT: Final = (
    *("event_type", "customer_id", "session_id", "element_selector", "page_url", "metadata"),
)
PAGE: Final = "page:"
# A concurrent request may store one of the ids meanwhile.
MAX_ATTEMPTS: Final = 3


class KnownEvents(Exception):
    """The ids of events at these places of the batch belong to events with other content."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(f"{len(places)} events")
        self.places = places


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event as sent. `user_id` is the customer's external id; empty for a visitor.

    `key` is the client's id of the event: the organization stores one event for each. `at` is
    when it happened, by the server's clock; None is now.
    """

    event_type: str
    user_id: str = ""
    session_id: str = ""
    element_selector: str = ""
    page_url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """How many events of a batch were stored, those that were not, and what was joined.

    `erased` are the places of the events of erased people, with the time until which they are
    refused.
    """

    stored: int
    ignored: Sequence[IgnoredField] = ()
    erased: Mapping[int, datetime] = field(default_factory=dict)
    joins: Sequence[Join] = ()


def page_key(key: str) -> str:
    """Returns the key of an event that a page sent: no page can take the ids of a server."""
    return f"{PAGE}{hashlib.sha256(key.encode()).hexdigest()}" if key else ""


def record(organization_id: UUID, batch: Sequence[NewEvent], by: JoinedBy) -> StoredEvents:
    """Stores the events of a batch, but for those that are stored already.

    Customers that do not exist are added, and were seen when their events happened. Events of
    erased people are ignored. What belongs to nobody in the session of a customer's event becomes
    the customer's. Raises KnownEvents, and stores nothing, if an id belongs to an event with other
    content.
    """
    refused: dict[str, datetime] = {}
    attempts = MAX_ATTEMPTS
    while True:
        try:
            return _record(organization_id, batch, by, refused)
        except ErasedNames as erased:
            refused |= {value: until for (_, value), until in erased.until.items()}
        except IntegrityError:
            attempts -= 1
            if not attempts:
                raise


@transaction.atomic
def _record(
    organization_id: UUID,
    batch: Sequence[NewEvent],
    by: JoinedBy,
    refused: Mapping[str, datetime],
) -> StoredEvents:
    kept = {place: one for place, one in enumerate(batch) if one.user_id not in refused}
    named = {one.user_id for one in kept.values() if one.user_id}
    locked = profiles.lock_customers(organization_id, named) if named else {}
    rows = dict(zip(kept, _make_rows(organization_id, kept.values(), locked), strict=True))
    known = _places_of_known(organization_id, rows)
    new = [row for place, row in rows.items() if place not in known]
    Event.objects.bulk_create(new)
    _note_seen(locked, new)
    ignored = [IgnoredField(f"events[{place}]", KNOWN) for place in known]
    erased = {
        place: refused[one.user_id] for place, one in enumerate(batch) if one.user_id in refused
    }
    joined = _join_sessions(organization_id, list(kept.values()), locked, by)
    return StoredEvents(len(new), ignored, erased, joined)


def _join_sessions(
    organization_id: UUID,
    batch: Sequence[NewEvent],
    locked: Mapping[str, Customer],
    by: JoinedBy,
) -> list[Join]:
    """Joins the sessions of customers, always in the same order."""
    pairs = {(one.session_id, one.user_id) for one in batch if one.session_id and one.user_id}
    if not pairs:
        return []
    sessions = sorted({session_id for session_id, _ in pairs})
    waiting = joins.find_visitor_sessions(organization_id, sessions, by)
    joined = (
        joins.join_session(locked[user_id], session_id, by)
        for session_id, user_id in sorted(pairs)
        if session_id in waiting
    )
    return [one for one in joined if one]


def _make_rows(
    organization_id: UUID, batch: Iterable[NewEvent], locked: Mapping[str, Customer]
) -> Iterator[Event]:
    now = timezone.now()
    for one in batch:
        yield Event(
            organization_id=organization_id,
            customer_id=locked[one.user_id].pk if one.user_id else None,
            session_id=one.session_id,
            event_type=one.event_type,
            element_selector=one.element_selector,
            page_url=one.page_url,
            metadata=one.metadata,
            dedupe_key=one.key,
            at=one.at or now,
        )


def _places_of_known(organization_id: UUID, rows: Mapping[int, Event]) -> list[int]:
    """Returns the places of events that are stored, or are in the batch before.

    Raises KnownEvents.
    """
    keys = {row.dedupe_key for row in rows.values()} - {""}
    stored = Event.objects.filter(organization=organization_id, dedupe_key__in=keys)
    by_key = {row.dedupe_key: row for row in stored.exclude(dedupe_key="")} if keys else {}
    known: list[int] = []
    other: list[int] = []
    for place, row in rows.items():
        first = by_key.setdefault(row.dedupe_key, row) if row.dedupe_key else row
        if first is not row:
            (known if _is_same(first, row) else other).append(place)
    if other:
        raise KnownEvents(other)
    return known


def _is_same(first: Event, row: Event) -> bool:
    """Whether an event with a known id is the one that is stored.

    What a page sent for a visitor, it may send again, with the queue, once the visitor signed in.
    What was sent for a visitor may have become a customer's by its session.
    """
    was_visitor = first.customer_id is None and row.dedupe_key.startswith(PAGE)
    is_joined = row.customer_id is None and bool(row.session_id)
    skips = was_visitor or is_joined
    names = [name for name in CONTENT if not (skips and name == "customer_id")]
    return all(getattr(first, name) == getattr(row, name) for name in names)


def _note_seen(locked: Mapping[str, Customer], rows: Sequence[Event]) -> None:
    by_id = {customer.pk: customer for customer in locked.values()}
    changed = {
        row.customer_id: by_id[row.customer_id]
        for row in rows
        if row.customer_id and customers.note_seen(by_id[row.customer_id], row.at, row.at)
    }
    if changed:
        customers.keep_seen(list(changed.values()))
