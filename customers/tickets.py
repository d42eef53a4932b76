"""Writes tickets and their messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from customers import bulk_writes, companies, customers
from customers.identification.field_values import InvalidField
from customers.lookup_keys import email_key, has_external_id
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
# What a server says of a ticket in words, and what follows from that.
SAID: Final = ("subject", "status", "priority", "category", "inbox", "external_id")
CHANGEABLE: Final = (*SAID, "assignee_id", "resolved_at")
# The first response is the first message of one of these to the customer.
RESPONDERS: Final = frozenset({AuthorKind.AGENT, AuthorKind.TEAMMATE})


class NoSuchTicket(Exception):
    """The organization has no ticket with this id."""


class KnownTicket(Exception):
    """Another ticket of the organization has this external id."""


@dataclass(frozen=True, slots=True)
class NewTicketMessage:
    """A message as sent. An internal note is never shown to the customer."""

    text: str
    author_kind: AuthorKind = AuthorKind.CUSTOMER
    author_name: str = ""
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class TicketChange:
    """What a server says of a ticket; None leaves it as it is.

    `assignee` is the address of a member of the organization, or empty for nobody. `resolved_at` is
    for a ticket that is resolved, and now without it.
    """

    subject: str | None = None
    status: TicketStatus | None = None
    priority: TicketPriority | None = None
    category: str | None = None
    inbox: str | None = None
    external_id: str | None = None
    assignee: str | None = None
    resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewTicket:
    """A ticket as sent, and the customer who wrote it, if known; `created_at` is None for now.

    `email` is the author's address, unless it is that of the customer.
    """

    subject: str
    email: str = ""
    is_email_proven: bool = False
    message: NewTicketMessage | None = None
    customer: Customer | None = None
    source: str = "api"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    change: TicketChange = field(default_factory=TicketChange)
    created_at: datetime | None = None


@transaction.atomic
def create(organization_id: UUID, new: NewTicket) -> Ticket:
    """Adds a ticket, with its first message if there is one.

    Raises InvalidField, and KnownTicket for an external id that another one has.
    """
    at = new.created_at or timezone.now()
    ticket = Ticket(
        created_at=at,
        organization_id=organization_id,
        subject=new.subject,
        source=new.source,
        customer=new.customer,
        company_id=new.customer.company_id if new.customer else None,
        email_key=email_key(new.email),
        email_proven_at=timezone.now() if new.is_email_proven else None,
        metadata=new.metadata,
    )
    ticket.updated_at = ticket.created_at
    _apply(ticket, new.change)
    _save(ticket, is_new=True)
    if new.message:
        _append(ticket, new.message, ticket.created_at)
    return ticket


@transaction.atomic
def change(organization_id: UUID, ticket_id: str, sent: TicketChange) -> tuple[str, ...]:
    """Changes a ticket, and returns which of its columns have another value now.

    Raises NoSuchTicket, KnownTicket and InvalidField.
    """
    ticket = _lock_ticket(organization_id, ticket_id)
    before = {name: getattr(ticket, name) for name in CHANGEABLE}
    _apply(ticket, sent)
    changed = tuple(name for name in CHANGEABLE if getattr(ticket, name) != before[name])
    if changed:
        ticket.updated_at = timezone.now()
        _save(ticket, is_new=False)
    if "subject" in changed:
        message = ticket.messages.filter(position=1).first()
        if message:
            message.heading = ticket.subject
            message.save()
    return changed


@transaction.atomic
def reply(organization_id: UUID, ticket_id: str, message: NewTicketMessage) -> TicketMessage:
    """Adds a message to a ticket. Raises NoSuchTicket.

    A customer's message opens a resolved ticket again.
    """
    ticket = _lock_ticket(organization_id, ticket_id)
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


def _lock_ticket(organization_id: UUID, named: str) -> Ticket:
    """Returns the ticket with this id, or else with this external id. Raises NoSuchTicket."""
    if not named or storable.has_unstorable_text(named):
        raise NoSuchTicket
    # With all columns: `search_text` is written with the subject.
    rows = access.tickets(Access(organization_id)).defer(None).select_for_update()
    ticket = rows.filter(pk=named).first() or rows.filter(has_external_id([named])).first()
    if ticket is None:
        raise NoSuchTicket
    return ticket


def _apply(ticket: Ticket, sent: TicketChange) -> None:
    for name in SAID:
        value = getattr(sent, name)
        if value is not None:
            setattr(ticket, name, value)
    if sent.assignee is not None:
        ticket.assignee_id = _find_member(ticket.organization_id, sent.assignee)
    if ticket.status != TicketStatus.RESOLVED:
        if sent.resolved_at is not None:
            raise InvalidField("resolved_at", "Send it with the status resolved only.")
        ticket.resolved_at = None
        return
    ticket.resolved_at = sent.resolved_at or ticket.resolved_at or timezone.now()
    if ticket.resolved_at < ticket.created_at:
        raise InvalidField("resolved_at", "It is before the ticket was created.")


def _find_member(organization_id: UUID, address: str) -> UUID | None:
    if not address:
        return None
    members = access.teammates(Access(organization_id))
    found = members.filter(email=email_key(address)).values_list("pk", flat=True).first()
    if found is None:
        raise InvalidField("assignee", "No member of the organization has this address.")
    return found


def _save(ticket: Ticket, *, is_new: bool) -> None:
    try:
        with transaction.atomic():
            ticket.save(force_insert=is_new)
    except IntegrityError:
        rows = access.tickets(Access(ticket.organization_id)).exclude(pk=ticket.pk)
        if ticket.external_id and rows.filter(has_external_id([ticket.external_id])).exists():
            raise KnownTicket from None
        raise


def _append(ticket: Ticket, new: NewTicketMessage, at: datetime) -> TicketMessage:
    """Adds the next message; the caller has locked the ticket."""
    message = _next_message(ticket, new, at)
    message.save(force_insert=True)
    ticket.save()
    if new.author_kind == AuthorKind.TEAMMATE and not new.is_internal:
        if ticket.customer_id:
            customers.note_contact(ticket.organization_id, ticket.customer_id, at)
        if ticket.company_id:
            companies.note_contact(ticket.organization_id, ticket.company_id, at)
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
