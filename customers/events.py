"""Writes product events, a batch with one statement."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from customers import customers
from customers.identification import profiles
from customers.identification.trait_names import IgnoredField
from workspace.models import Customer, Event

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
    """How many events of a batch were stored, and those that were not."""

    stored: int
    ignored: Sequence[IgnoredField] = ()


def page_key(key: str) -> str:
    """Returns the key of an event that a page sent: no page can take the ids of a server."""
    return f"{PAGE}{hashlib.sha256(key.encode()).hexdigest()}" if key else ""


def record(organization_id: UUID, batch: Sequence[NewEvent]) -> StoredEvents:
    """Stores the events of a batch, but for those that are stored already.

    Customers that do not exist are added, and were seen when their events happened. Raises
    KnownEvents, and stores nothing, if an id belongs to an event with other content.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return _record(organization_id, batch)
        except IntegrityError:
            continue
    return _record(organization_id, batch)


@transaction.atomic
def _record(organization_id: UUID, batch: Sequence[NewEvent]) -> StoredEvents:
    named = {one.user_id for one in batch if one.user_id}
    locked = profiles.lock_customers(organization_id, named) if named else {}
    rows = list(_make_rows(organization_id, batch, locked))
    known = _places_of_known(organization_id, rows)
    new = [row for place, row in enumerate(rows) if place not in known]
    Event.objects.bulk_create(new)
    _note_seen(locked, new)
    ignored = [IgnoredField(f"events[{place}]", KNOWN) for place in known]
    return StoredEvents(len(new), ignored)


def _make_rows(
    organization_id: UUID, batch: Sequence[NewEvent], locked: Mapping[str, Customer]
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


def _places_of_known(organization_id: UUID, rows: Sequence[Event]) -> list[int]:
    """Returns the places of events that are stored, or are in the batch before.

    Raises KnownEvents.
    """
    keys = {row.dedupe_key for row in rows} - {""}
    stored = Event.objects.filter(organization=organization_id, dedupe_key__in=keys)
    by_key = {row.dedupe_key: row for row in stored.exclude(dedupe_key="")} if keys else {}
    known: list[int] = []
    other: list[int] = []
    for place, row in enumerate(rows):
        first = by_key.setdefault(row.dedupe_key, row) if row.dedupe_key else row
        if first is not row:
            (known if _is_same(first, row) else other).append(place)
    if other:
        raise KnownEvents(other)
    return known


def _is_same(first: Event, row: Event) -> bool:
    """Whether an event with a known id is the one that is stored.

    What a page sent for a visitor, it may send again, with the queue, once the visitor signed in.
    """
    was_visitor = first.customer_id is None and row.dedupe_key.startswith(PAGE)
    names = [name for name in CONTENT if not (was_visitor and name == "customer_id")]
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
