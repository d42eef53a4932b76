"""Writes product events, a batch with one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from customers.identification import profiles
from workspace.models import Event

MAX_BATCH: Final = 100
MAX_METADATA_BYTES: Final = 10_000


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event as sent. `user_id` is the customer's external id; empty for a visitor.

    `key` is the client's id of the event: the organization stores one event for each. `at` is the
    client's time, or None for now.
    """

    event_type: str
    user_id: str = ""
    session_id: str = ""
    element_selector: str = ""
    page_url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    at: datetime | None = None


def record(organization_id: UUID, batch: Sequence[NewEvent]) -> None:
    """Stores all events of a batch; those that are stored already are left as they are.

    Customers that do not exist are added.
    """
    now = timezone.now()
    named = {one.user_id for one in batch if one.user_id}
    customers = profiles.ids_of(organization_id, named) if named else {}
    Event.objects.bulk_create(
        [
            Event(
                organization_id=organization_id,
                customer_id=customers.get(one.user_id),
                session_id=one.session_id,
                event_type=one.event_type,
                element_selector=one.element_selector,
                page_url=one.page_url,
                metadata=one.metadata,
                dedupe_key=one.key,
                # No clock of a client is ahead of the server's.
                at=min(one.at or now, now),
            )
            for one in batch
        ],
        ignore_conflicts=True,
    )
