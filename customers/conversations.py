"""Writes conversations, also called transcripts, with their messages and ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers import companies, customers
from customers.identification.field_values import InvalidField
from customers.identification.trait_names import IgnoredField
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
STARTED: Final = "The conversation has a start already: its day never changes."


class ConversationOfAnother(Exception):
    """The conversation of this session belongs to another customer."""


@dataclass(frozen=True, slots=True)
class NewConversationMessage:
    """A message as sent; `at` is None for now, or for when it was sent first."""

    text: str
    author_kind: AuthorKind
    author_name: str = ""
    at: datetime | None = None
    sentiment: float | None = None


@dataclass(frozen=True, slots=True)
class NewRating:
    """A rating of the message at `position`, which counts from 1; `at` is None for its time."""

    position: int
    rating: Rating
    comment: str = ""
    given_by: GivenBy = GivenBy.CUSTOMER
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation as sent, or a part of it: its first message is number `offset` + 1.

    `is_complete`: there are no messages after these.
    """

    session_id: str
    customer: Customer | None = None
    agent_id: UUID | None = None
    offset: int = 0
    is_complete: bool = False
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
class StoredConversation:
    """The conversation's id, the number of its messages, and what was not stored."""

    id: str
    messages: int = 0
    ignored: Sequence[IgnoredField] = ()


@transaction.atomic
def upsert(organization_id: UUID, sent: Transcript) -> StoredConversation:
    """Writes the conversation of a session, new or not.

    A message that is sent again replaces the one at its position, so a request can be repeated.
    Customer, company and start are set once. Raises InvalidField and ConversationOfAnother.
    """
    conversation, is_new = _lock_conversation(organization_id, sent)
    if sent.offset > conversation.message_count:
        reason = f"The conversation has {conversation.message_count} messages. Send the next part."
        raise InvalidField("offset", reason)
    times = _message_times(conversation, sent)
    if is_new:
        conversation.started_at = sent.started_at or _find_start(conversation, sent, times)
    ignored = [] if is_new else _set_start(conversation, sent, times)
    _set_details(conversation, sent)
    _set_customer(conversation, sent)
    _write_messages(conversation, sent, times)
    if sent.is_complete:
        _delete_later_messages(conversation, sent)
    conversation.updated_at = timezone.now()
    conversation.save()
    _write_ratings(conversation, sent.ratings)
    _note_seen(conversation, sent, times)
    _note_contact(conversation, sent, times)
    return StoredConversation(conversation.pk, conversation.message_count, ignored)


def _lock_conversation(organization_id: UUID, sent: Transcript) -> tuple[Conversation, bool]:
    """Returns the conversation, and whether it is new."""
    # Of two concurrent first parts, one adds the row and the other one finds it.
    new = Conversation(organization_id=organization_id, session_id=sent.session_id)
    own = Access(organization_id)
    rows = access.conversations(own).filter(session_id=sent.session_id)
    known = rows.values_list("customer").first()
    if sent.customer is None and known is not None and known[0]:
        # As everywhere, the customer first.
        list(access.customers(own).filter(pk=known[0]).select_for_update().values_list("pk"))
    if known is None:
        Conversation.objects.bulk_create([new], ignore_conflicts=True)
    conversation = rows.select_for_update().get()
    return conversation, conversation.pk == new.pk


def _message_times(conversation: Conversation, sent: Transcript) -> list[datetime]:
    """Returns the times of the messages; one that is sent again keeps its own."""
    now = timezone.now()
    first, end = sent.offset + 1, sent.offset + len(sent.messages)
    stored = conversation.messages.filter(position__range=(first, end))
    known = dict(stored.values_list("position", "at"))
    return [
        one.at or known.get(position, now)
        for position, one in enumerate(sent.messages, start=first)
    ]


def _find_start(
    conversation: Conversation, sent: Transcript, times: Sequence[datetime]
) -> datetime:
    """Returns the earliest time that is known of a new conversation.

    Messages without a time have that of arrival, which is after a conversation that has ended.
    """
    known = [*times, *([sent.ended_at] if sent.ended_at else [])]
    return min(known, default=conversation.started_at)


def _set_start(
    conversation: Conversation, sent: Transcript, times: Sequence[datetime]
) -> list[IgnoredField]:
    """Moves the start of a conversation that has no messages yet; returns what is ignored."""
    start = sent.started_at or conversation.started_at
    if conversation.message_count:
        is_other = start != conversation.started_at
        return [IgnoredField("started_at", STARTED)] if is_other else []
    conversation.started_at = sent.started_at or min([start, *times])
    return []


def _set_details(conversation: Conversation, sent: Transcript) -> None:
    values: dict[str, Any] = {name: getattr(sent, name) for name in DETAILS}
    for name, value in values.items():
        if name != "started_at" and value not in {"", None}:
            setattr(conversation, name, value)
    if sent.ended_at and sent.ended_at < conversation.started_at:
        raise InvalidField("ended_at", "It is before the conversation started.")
    if sent.agent_id:
        agents = Agent.objects.filter(organization=conversation.organization_id)
        conversation.agent = agents.filter(pk=sent.agent_id).first()
        if conversation.agent is None:
            raise InvalidField("agent_id", "There is no such agent.")


def _set_customer(conversation: Conversation, sent: Transcript) -> None:
    """Gives the conversation to its customer, whose company it keeps.

    Raises ConversationOfAnother: on a shared device, one person's session goes on under the next.
    """
    if sent.customer is None or conversation.customer_id == sent.customer.pk:
        return
    if conversation.customer_id is not None:
        raise ConversationOfAnother
    conversation.customer = sent.customer
    conversation.company_id = sent.customer.company_id


def _write_messages(
    conversation: Conversation, sent: Transcript, times: Sequence[datetime]
) -> None:
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
                at=at,
            )
            for position, (one, at) in enumerate(
                zip(sent.messages, times, strict=True), start=sent.offset + 1
            )
        ],
        update_conflicts=True,
        unique_fields=["conversation", "position"],
        update_fields=["author_kind", "author_name", "text", "search_text", "sentiment", "at"],
    )
    end = sent.offset + len(sent.messages)
    conversation.message_count = max(conversation.message_count, end)
    conversation.question = conversation.question or _question(sent.messages)


def _delete_later_messages(conversation: Conversation, sent: Transcript) -> None:
    """Deletes the messages that a shorter transcript no longer has, with their ratings."""
    end = sent.offset + len(sent.messages)
    conversation.messages.filter(position__gt=end).delete()
    conversation.feedback.filter(position__gt=end).delete()
    conversation.message_count = end
    asked = conversation.messages.filter(author_kind=AuthorKind.CUSTOMER).order_by("position")
    conversation.question = asked.values_list("text", flat=True).first() or ""


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
    rated = conversation.messages.filter(position__in=[one.position for one in ratings])
    times: Mapping[int, datetime] = dict(rated.values_list("position", "at")) if ratings else {}
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
                # Retention may have deleted the message.
                at=one.at or times.get(one.position, conversation.started_at),
            )
            for one in last.values()
        ],
        update_conflicts=True,
        unique_fields=["conversation", "position", "given_by"],
        update_fields=["rating", "comment"],
    )


def _note_contact(conversation: Conversation, sent: Transcript, times: Sequence[datetime]) -> None:
    """A teammate who wrote a message was in contact with the customer then."""
    wrote = [
        at
        for one, at in zip(sent.messages, times, strict=True)
        if one.author_kind == AuthorKind.TEAMMATE
    ]
    if wrote and conversation.customer_id:
        customers.note_contact(conversation.organization_id, conversation.customer_id, max(wrote))
    if wrote and conversation.company_id:
        companies.note_contact(conversation.organization_id, conversation.company_id, max(wrote))


def _note_seen(conversation: Conversation, sent: Transcript, times: Sequence[datetime]) -> None:
    """A customer who wrote a message was there then."""
    wrote = [
        at
        for one, at in zip(sent.messages, times, strict=True)
        if one.author_kind == AuthorKind.CUSTOMER
    ]
    if conversation.customer_id and wrote:
        rows = access.customers(Access(conversation.organization_id)).select_for_update()
        customer = rows.filter(pk=conversation.customer_id).first()
        if customer and customers.note_seen(customer, min(wrote), max(wrote)):
            customers.keep_seen([customer])
