"""Deletes what is older than the retention period of its kind, in small batches.

Every batch is a transaction of its own, so that a run can stop at any point, and may run twice at
the same time. A period of 0 days keeps the rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Model, Q, QuerySet
from django.utils import timezone

from workspace.models import (
    Conversation,
    ConversationMessage,
    ErasedName,
    Event,
    Feedback,
    Lead,
    LeadStatus,
    Organization,
    Ticket,
    TicketStatus,
)


@dataclass(frozen=True, slots=True)
class RetentionKind:
    """A kind of data: the setting of its period, and which rows are older than a moment.

    Batches of rows with messages are smaller, since the messages are deleted with them. `before`
    changes what refers to locked rows, in the transaction that deletes them.
    """

    model: type[Model]
    setting: str
    older: Callable[[datetime], Q]
    batch: int = 1_000
    before: Callable[[Sequence[Any]], object] | None = None

    @property
    def name(self) -> str:
        return str(self.model._meta.verbose_name_plural)


def _ended_tickets(moment: datetime) -> Q:
    resolved = Q(status=TicketStatus.RESOLVED, resolved_at__lt=moment)
    return resolved | Q(status=TicketStatus.SPAM, created_at__lt=moment, updated_at__lt=moment)


def _messages_of_ended(moment: datetime) -> Q:
    # The conversation's organization is the message's: with it, the index finds old conversations.
    return Q(
        conversation__organization=F("organization"),
        conversation__started_at__lt=moment,
        conversation__updated_at__lt=moment,
    )


def _empty_questions(messages: Sequence[Any]) -> None:
    """The question of a conversation is the text of its customer's first message."""
    asked = Conversation.objects.filter(messages__in=messages).exclude(question="")
    asked.update(question="")


# Each condition begins with a column that an index has behind the organization.
OWN_KINDS: Final = (
    RetentionKind(Event, "HALO_RETENTION_EVENTS_DAYS", lambda moment: Q(at__lt=moment)),
    RetentionKind(Feedback, "HALO_RETENTION_FEEDBACK_DAYS", lambda moment: Q(at__lt=moment)),
    RetentionKind(
        ConversationMessage,
        "HALO_RETENTION_MESSAGES_DAYS",
        _messages_of_ended,
        before=_empty_questions,
    ),
    RetentionKind(
        Conversation,
        "HALO_RETENTION_CONVERSATIONS_DAYS",
        lambda moment: Q(started_at__lt=moment, updated_at__lt=moment),
        batch=100,
    ),
    RetentionKind(Ticket, "HALO_RETENTION_TICKETS_DAYS", _ended_tickets, batch=100),
    RetentionKind(
        Lead,
        "HALO_RETENTION_LEADS_DAYS",
        lambda moment: Q(status=LeadStatus.OPEN, created_at__lt=moment),
    ),
)


class _BoundKinds:
    kinds: Sequence[RetentionKind] = ()


_bound: Final = _BoundKinds()


def bind(kinds: Sequence[RetentionKind]) -> None:
    """Registers the data of upper layers; called at start-up."""
    _bound.kinds = tuple(kinds)


def list_kinds() -> Sequence[RetentionKind]:
    return (*OWN_KINDS, *_bound.kinds)


def prune_erased_names() -> int:
    """Deletes the hashes of erased people whose time is over; returns how many."""
    return ErasedName.objects.filter(until__lte=timezone.now()).delete()[0]


def prune() -> Mapping[str, int]:
    """Deletes what is due in every organization; returns the number of rows by kind."""
    return {kind.name: sum(prune_kind(kind)) for kind in list_kinds()}


def prune_kind(kind: RetentionKind) -> Iterator[int]:
    """Deletes what is due of one kind, and yields the size of each batch once it is deleted."""
    organizations = Organization.with_sandboxes.order_by("pk").values_list("pk", flat=True)
    for organization_id in list(organizations) if days_of(kind) else ():
        rows = due(kind, organization_id)
        while deleted := _delete_some(kind, rows):
            yield deleted


@transaction.atomic
def _delete_some(kind: RetentionKind, rows: QuerySet[Any]) -> int:
    # A row that is locked is in use, as a session whose next turn begins.
    locked = rows.order_by("pk").only("pk").select_for_update(of=("self",), skip_locked=True)
    keys = [row.pk for row in locked[: kind.batch]]
    if keys and kind.before:
        kind.before(keys)
    QuerySet(kind.model).filter(pk__in=keys).delete()
    return len(keys)


def due(kind: RetentionKind, organization_id: UUID | None = None) -> QuerySet[Any]:
    """Returns the rows that are older than their period: of one organization, or of all."""
    rows: QuerySet[Any] = QuerySet(kind.model)
    if not days_of(kind):
        return rows.none()
    own = rows if organization_id is None else rows.filter(organization=organization_id)
    return own.filter(kind.older(timezone.now() - timedelta(days=days_of(kind))))


def days_of(kind: RetentionKind) -> int:
    """Returns the retention period in days; 0 for ever."""
    return int(getattr(settings, kind.setting))
