"""Adds a ticket or a conversation with its messages, and the columns that repeat them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from customers.demo.population import DemoPerson
from customers.demo.texts import Dice, Topic, details, phrases
from customers.demo.world import HELPER, World
from customers.demo.writing import RowBatch
from workspace.models import (
    AuthorKind,
    Conversation,
    ConversationMessage,
    Mode,
    Ticket,
    TicketMessage,
    TicketStatus,
)

ANSWERED_BY: Final = (AuthorKind.AGENT, AuthorKind.TEAMMATE)


@dataclass(slots=True)
class DemoMessage:
    """A message of a thread, before it has its number."""

    at: datetime
    kind: str
    name: str
    text: str
    sentiment: float | None = None
    is_internal: bool = False


@dataclass(slots=True)
class Talk:
    """Who talks about what: the texts of one thread have the same board, month and colleague."""

    world: World
    dice: Dice
    person: DemoPerson
    topic: Topic
    agent: str = HELPER
    values: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        person = self.person
        self.values = details(self.dice) | {
            "first": person.first,
            "name": person.name,
            "firm": person.firm.name if person.firm else "",
            "agent": self.agent.partition(" ")[0],
            "plan": person.plan.capitalize(),
        }

    def one_of(self, texts: Sequence[str]) -> str:
        return self.dice.pick(texts).format_map(self.values)

    def mail(self, texts: Sequence[str]) -> str:
        """Returns what a customer writes by mail, most often with a greeting and a name."""
        body = self.one_of(texts)
        if self.dice.chance(0.15):
            return body
        greeting, closing = self.dice.pick(phrases("greetings")), self.one_of(phrases("closings"))
        return f"{greeting}\n\n{body}\n\n{closing}".rstrip()

    def reply(self, texts: Sequence[str]) -> str:
        """Returns what somebody of the team answers by mail."""
        greeting, closing = self.one_of(phrases("reply_greetings")), "reply_closings"
        return f"{greeting}\n\n{self.one_of(texts)}\n\n{self.one_of(phrases(closing))}"


def add_ticket(
    world: World, batch: RowBatch, ticket: dict[str, Any], thread: Sequence[DemoMessage]
) -> None:
    """Adds a ticket; `ticket` has the columns that do not follow from its messages."""
    last = thread[-1]
    answers = (said.at for said in thread if said.kind in ANSWERED_BY and not said.is_internal)
    resolved_at = last.at if ticket["status"] == TicketStatus.RESOLVED else None
    batch.add(
        Ticket,
        organization_id=world.organization.pk,
        created_at=thread[0].at,
        updated_at=last.at,
        first_response_at=next(answers, None),
        resolved_at=resolved_at,
        message_count=len(thread),
        last_message_at=last.at,
        last_author_kind=last.kind,
        last_author_name=last.name,
        **ticket,
    )
    for position, said in enumerate(thread, 1):
        batch.add(
            TicketMessage,
            organization_id=world.organization.pk,
            ticket_id=ticket["id"],
            heading=ticket["subject"] if position == 1 else "",
            position=position,
            at=said.at,
            author_kind=said.kind,
            author_name=said.name,
            text=said.text,
            is_internal=said.is_internal,
        )


def add_conversation(
    world: World, batch: RowBatch, columns: dict[str, Any], thread: Sequence[DemoMessage]
) -> None:
    """Adds a conversation; `columns` has those that do not follow from its messages."""
    is_over = bool(columns.get("outcome"))
    batch.add(
        Conversation,
        **{"mode": Mode.CHAT, "agent_id": world.helper} | columns,
        organization_id=world.organization.pk,
        question=next(said.text for said in thread if said.kind == AuthorKind.CUSTOMER),
        message_count=len(thread),
        started_at=thread[0].at,
        ended_at=thread[-1].at if is_over else None,
        updated_at=thread[-1].at,
    )
    for position, said in enumerate(thread, 1):
        batch.add(
            ConversationMessage,
            organization_id=world.organization.pk,
            conversation_id=columns["id"],
            position=position,
            at=said.at,
            author_kind=said.kind,
            author_name=said.name,
            text=said.text,
            sentiment=said.sentiment,
        )


def person_columns(world: World, person: DemoPerson) -> dict[str, Any]:
    """Returns the columns that name a customer and their company."""
    return {"customer_id": world.customer(person), "company_id": world.company(person.firm)}


def so_far(thread: Sequence[DemoMessage], now: datetime) -> Iterator[DemoMessage]:
    """Yields the messages that were written until now."""
    return (said for said in thread if said.at <= now)
