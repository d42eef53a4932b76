"""Writes conversations, also called transcripts, with their messages and ratings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers.identification.field_values import InvalidField
from workspace import access
from workspace.access import Access
from workspace.models import (
    Agent,
    AuthorKind,
    Conversation,
    ConversationMessage,
    Customer,
    Feedback,
    GivenBy,
    Rating,
)

MAX_MESSAGE: Final = 10_000
MAX_MESSAGES: Final = 50
# What an empty value in a request leaves as it is.
DETAILS: Final = ("mode", "mood", "outcome", "confidence", "score", "started_at", "ended_at")


@dataclass(frozen=True, slots=True)
class NewConversationMessage:
    """A message as sent; `at` is None for now."""

    text: str
    author_kind: AuthorKind
    author_name: str = ""
    at: datetime | None = None
    sentiment: float | None = None


@dataclass(frozen=True, slots=True)
class NewRating:
    """A rating of the message at `position`, which counts from 1."""

    position: int
    rating: Rating
    comment: str = ""
    given_by: GivenBy = GivenBy.CUSTOMER


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation as sent, or a part of it: its first message is number `offset` + 1."""

    session_id: str
    customer: Customer | None = None
    agent_id: UUID | None = None
    offset: int = 0
    messages: Sequence[NewConversationMessage] = ()
    ratings: Sequence[NewRating] = ()
    mode: str = ""
    mood: str = ""
    outcome: str = ""
    confidence: int | None = None
    score: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """The conversation's id, and the number of its messages."""

    id: str
    messages: int = field(default=0)


@transaction.atomic
def upsert(organization_id: UUID, sent: Transcript) -> Stored:
    """Writes the conversation of a session, new or not. Raises InvalidField.

    A message that is sent again replaces the one at its position, so a request can be repeated.
    """
    conversation = _lock_conversation(organization_id, sent)
    _set_details(conversation, sent)
    _write_messages(conversation, sent)
    conversation.updated_at = timezone.now()
    conversation.save()
    _write_ratings(conversation, sent.ratings)
    return Stored(conversation.pk, conversation.message_count)


def _lock_conversation(organization_id: UUID, sent: Transcript) -> Conversation:
    # Of two concurrent first parts, one adds the row and the other one finds it.
    new = Conversation(organization_id=organization_id, session_id=sent.session_id)
    rows = access.conversations(Access(organization_id)).filter(session_id=sent.session_id)
    if not rows.exists():
        Conversation.objects.bulk_create([new], ignore_conflicts=True)
    return rows.select_for_update().get()


def _set_details(conversation: Conversation, sent: Transcript) -> None:
    values: dict[str, Any] = {name: getattr(sent, name) for name in DETAILS}
    for name, value in values.items():
        if value not in {"", None}:
            setattr(conversation, name, value)
    if sent.customer:
        conversation.customer = sent.customer
        conversation.company_id = sent.customer.company_id
    if sent.agent_id:
        agents = Agent.objects.filter(organization=conversation.organization_id)
        conversation.agent = agents.filter(pk=sent.agent_id).first()
        if conversation.agent is None:
            raise InvalidField("agent_id", "There is no such agent.")


def _write_messages(conversation: Conversation, sent: Transcript) -> None:
    if sent.offset > conversation.message_count:
        reason = f"The conversation has {conversation.message_count} messages. Send the next part."
        raise InvalidField("offset", reason)
    now = timezone.now()
    ConversationMessage.objects.bulk_create(
        [
            ConversationMessage(
                organization_id=conversation.organization_id,
                conversation=conversation,
                position=position,
                author_kind=one.author_kind,
                author_name=one.author_name,
                text=one.text,
                sentiment=one.sentiment,
                at=min(one.at or now, now),
            )
            for position, one in enumerate(sent.messages, start=sent.offset + 1)
        ],
        update_conflicts=True,
        unique_fields=["conversation", "position"],
        update_fields=["author_kind", "author_name", "text", "search_text", "sentiment", "at"],
    )
    end = sent.offset + len(sent.messages)
    conversation.message_count = max(conversation.message_count, end)
    conversation.question = conversation.question or _question(sent.messages)


def _question(messages: Sequence[NewConversationMessage]) -> str:
    asked = (one.text for one in messages if one.author_kind == AuthorKind.CUSTOMER)
    return next(asked, "")


def _write_ratings(conversation: Conversation, ratings: Sequence[NewRating]) -> None:
    for place, one in enumerate(ratings):
        if one.position > conversation.message_count:
            reason = f"The conversation has {conversation.message_count} messages."
            raise InvalidField(f"ratings[{place}].position", reason)
    # A statement writes a row once: the last rating of a message counts.
    last = {(one.position, one.given_by): one for one in ratings}
    Feedback.objects.bulk_create(
        [
            Feedback(
                organization_id=conversation.organization_id,
                conversation=conversation,
                position=one.position,
                rating=one.rating,
                comment=one.comment,
                given_by=one.given_by,
                agent_id=conversation.agent_id,
                customer_id=conversation.customer_id,
                company_id=conversation.company_id,
            )
            for one in last.values()
        ],
        update_conflicts=True,
        unique_fields=["conversation", "position", "given_by"],
        update_fields=["rating", "comment"],
    )
