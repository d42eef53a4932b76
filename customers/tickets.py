"""Writes tickets and their messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers import bulk_writes
from foundation.db import storable
from workspace import access
from workspace.access import Access
from workspace.models import (
    AuthorKind,
    Customer,
    Ticket,
    TicketMessage,
    TicketPriority,
    TicketStatus,
)

MAX_MESSAGE: Final = 50_000
MAX_METADATA_BYTES: Final = 50_000
# The first response is the first message of one of these to the customer.
RESPONDERS: Final = frozenset({AuthorKind.AGENT, AuthorKind.TEAMMATE})


class NoSuchTicket(Exception):
    """The organization has no ticket with this id."""


@dataclass(frozen=True, slots=True)
class NewTicketMessage:
    """A message as sent. An internal note is never shown to the customer."""

    text: str
    author_kind: AuthorKind = AuthorKind.CUSTOMER
    author_name: str = ""
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class NewTicket:
    """A ticket as sent, and the customer who wrote it, if known."""

    subject: str
    message: NewTicketMessage | None = None
    customer: Customer | None = None
    source: str = "api"
    category: str = ""
    priority: TicketPriority = TicketPriority.NORMAL
    metadata: Mapping[str, Any] = field(default_factory=dict)


@transaction.atomic
def create(organization_id: UUID, new: NewTicket) -> Ticket:
    """Adds an open ticket, with its first message if there is one."""
    ticket = Ticket(
        organization_id=organization_id,
        subject=new.subject,
        priority=new.priority,
        source=new.source,
        category=new.category,
        customer=new.customer,
        company_id=new.customer.company_id if new.customer else None,
        metadata=new.metadata,
    )
    ticket.updated_at = ticket.created_at
    ticket.save(force_insert=True)
    if new.message:
        _append(ticket, new.message, ticket.created_at)
    return ticket


@transaction.atomic
def reply(organization_id: UUID, ticket_id: str, message: NewTicketMessage) -> TicketMessage:
    """Adds a message to a ticket. Raises NoSuchTicket.

    A customer's message opens a resolved ticket again.
    """
    if storable.has_unstorable_text(ticket_id):
        raise NoSuchTicket
    rows = access.tickets(Access(organization_id)).select_for_update()
    ticket = rows.filter(pk=ticket_id).first()
    if ticket is None:
        raise NoSuchTicket
    if message.author_kind == AuthorKind.CUSTOMER and ticket.status == TicketStatus.RESOLVED:
        ticket.status = TicketStatus.OPEN
        ticket.resolved_at = None
    return _append(ticket, message, timezone.now())


def keep_all(
    new: Sequence[Ticket], changed: Sequence[Ticket], messages: Sequence[TicketMessage]
) -> None:
    """Saves many tickets at once, and the first messages of new ones.

    The caller has locked the tickets that are changed.
    """
    for ticket in changed:
        ticket.updated_at = timezone.now()
    bulk_writes.store(Ticket, new, changed)
    TicketMessage.objects.bulk_create(messages, batch_size=bulk_writes.BATCH)


def first_message(ticket: Ticket, new: NewTicketMessage) -> TicketMessage:
    """Returns the first message of a new ticket; neither of them is saved yet."""
    return _next_message(ticket, new, ticket.created_at)


def _append(ticket: Ticket, new: NewTicketMessage, at: datetime) -> TicketMessage:
    """Adds the next message; the caller has locked the ticket."""
    message = _next_message(ticket, new, at)
    message.save(force_insert=True)
    ticket.save()
    return message


def _next_message(ticket: Ticket, new: NewTicketMessage, at: datetime) -> TicketMessage:
    """Returns the next message, and notes it on the ticket."""
    ticket.message_count += 1
    if ticket.first_response_at is None and new.author_kind in RESPONDERS and not new.is_internal:
        ticket.first_response_at = at
    ticket.updated_at = ticket.last_message_at = at
    ticket.last_author_kind, ticket.last_author_name = new.author_kind, new.author_name
    return TicketMessage(
        organization_id=ticket.organization_id,
        ticket=ticket,
        position=ticket.message_count,
        heading=ticket.subject if ticket.message_count == 1 else "",
        author_kind=new.author_kind,
        author_name=new.author_name,
        text=new.text,
        is_internal=new.is_internal,
        at=at,
    )
