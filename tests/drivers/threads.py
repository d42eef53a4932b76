"""Tickets and conversations with messages, as tests write them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.drivers.grants import Grant
from workspace.models import (
    AuthorKind,
    Conversation,
    ConversationMessage,
    Ticket,
    TicketMessage,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

# Who wrote it, and the text.
Said = tuple[AuthorKind, str]


def customer_message(text: str) -> Said:
    return AuthorKind.CUSTOMER, text


def agent_message(text: str) -> Said:
    return AuthorKind.AGENT, text


def teammate_message(text: str) -> Said:
    return AuthorKind.TEAMMATE, text


def ticket(grant: Grant, subject: str, *said: Said, note: str = "", **facts: Any) -> Ticket:
    """A ticket with these messages, a minute apart, and an internal note at the end."""
    at = facts.pop("created_at", NOON)
    made = Ticket.objects.create(
        organization=grant.organization,
        subject=subject,
        created_at=at,
        updated_at=facts.pop("updated_at", at),
        message_count=len(said),
        last_author_kind=said[-1][0] if said else "",
        last_author_name=said[-1][0].label if said else "",
        # The API and imports fill it in when they write a ticket.
        **{"email_key": "", **facts},
    )
    written = [*said, *([teammate_message(note)] if note else [])]
    for position, (kind, text) in enumerate(written, start=1):
        TicketMessage.objects.create(
            ticket=made,
            heading=subject if position == 1 else "",
            is_internal=position > len(said),
            **_message(grant, position, kind, text, at),
        )
    return made


def conversation(grant: Grant, *said: Said, **facts: Any) -> Conversation:
    """A conversation with these messages, a minute apart."""
    at = facts.pop("started_at", NOON)
    made = Conversation.objects.create(
        organization=grant.organization, started_at=at, message_count=len(said), **facts
    )
    for position, (kind, text) in enumerate(said, start=1):
        ConversationMessage.objects.create(
            conversation=made, **_message(grant, position, kind, text, at)
        )
    return made


def _message(grant: Grant, position: int, kind: AuthorKind, text: str, at: Any) -> dict[str, Any]:
    return {
        "organization": grant.organization,
        "position": position,
        "at": at + position * MINUTE,
        "author_kind": kind,
        "author_name": str(kind.label),
        "text": text,
    }
