"""Rows of an organization, one or more of each kind, for the tools that read them."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from customers import companies
from tests.drivers.grants import Grant
from workspace.models import (
    Agent,
    AgentKind,
    AuthorKind,
    Company,
    Conversation,
    ConversationMessage,
    ConversationOutcome,
    Customer,
    Event,
    Feedback,
    KnowledgeChunk,
    KnowledgeSource,
    KpiSnapshot,
    Lead,
    Mood,
    Organization,
    Rating,
    SourceKind,
    Ticket,
    TicketMessage,
)

HOUR = timedelta(hours=1)


@dataclass
class Records:
    """What one organization has recorded; every text of row `n` contains `<word> n`."""

    grant: Grant
    word: str = "onboarding"
    customers: list[Customer] = field(default_factory=list)
    companies: list[Company] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)
    agent: Agent = field(init=False)

    def __post_init__(self) -> None:
        self.agent = Agent.objects.create(
            organization=self.organization, kind=AgentKind.CUSTOMER_FACING, name=f"{self.word} bot"
        )

    @property
    def organization(self) -> Organization:
        return self.grant.organization

    def add(self, many: int = 1) -> "Records":
        """Adds so many rows of each kind, each customer with a company and a lead of its own."""
        for number in range(len(self.customers) + 1, len(self.customers) + many + 1):
            self._add(number)
        return self

    def _add(self, number: int) -> None:
        at, text = timezone.now() - number * HOUR, f"{self.word} {number}"
        company = companies.keep(
            Company(
                organization=self.organization,
                name=f"{text} Ltd",
                domain=f"{self.word}{number}.example",
                industry=text,
                plan="pro",
                mrr=number,
                health_score=number % 101,
            )
        )
        customer = self.grant.customer(
            external_id=f"{self.word}-{number}",
            email=f"person@{company.domain}",
            name=f"{text} Person",
            company=company,
            plan="pro",
            role=text,
            mrr=number,
            last_seen=at,
            signed_up_at=at,
            custom_fields={"team": text},
        )
        about: dict[str, Any] = {
            "organization": self.organization,
            "customer": customer,
            "company": company,
        }
        conversation = self._conversation(text, at, about)
        self.tickets.append(self._ticket(text, at, about))
        self._feedback_and_events(text, at, about, conversation)
        self._add_without_customer(text, number, customer)
        self.customers.append(customer)
        self.companies.append(company)
        self.conversations.append(conversation)

    def _conversation(self, text: str, at: Any, about: Any) -> Conversation:
        conversation = Conversation.objects.create(
            **about,
            agent=self.agent,
            session_id=text,
            question=f"How does {text} work?",
            mood=Mood.ANGRY,
            outcome=ConversationOutcome.ESCALATED,
            confidence=20,
            score=10,
            message_count=2,
            started_at=at,
            ended_at=at + HOUR / 2,
        )
        for position, kind in enumerate((AuthorKind.CUSTOMER, AuthorKind.AGENT), start=1):
            ConversationMessage.objects.create(
                organization=self.organization,
                conversation=conversation,
                position=position,
                at=at,
                author_kind=kind,
                author_name=text,
                text=f"About {text}: message {position}.",
                sentiment=-0.9,
            )
        return conversation

    def _ticket(self, text: str, at: Any, about: Any) -> Ticket:
        ticket = Ticket.objects.create(
            **about,
            subject=f"A ticket on {text}",
            assignee=self.grant.user,
            inbox=text,
            category=text,
            created_at=at,
            updated_at=at,
            message_count=1,
            last_author_kind=AuthorKind.CUSTOMER,
            last_author_name=text,
        )
        TicketMessage.objects.create(
            organization=self.organization,
            ticket=ticket,
            position=1,
            at=at,
            author_kind=AuthorKind.CUSTOMER,
            author_name=text,
            heading=ticket.subject,
            text=f"Please help with {text}.",
        )
        return ticket

    def _feedback_and_events(
        self, text: str, at: Any, about: Any, conversation: Conversation
    ) -> None:
        Feedback.objects.create(
            **about,
            agent=self.agent,
            conversation=conversation,
            position=2,
            rating=Rating.BAD,
            comment=f"Not helpful on {text}",
            at=at,
        )
        Event.objects.create(
            organization=self.organization,
            customer=about["customer"],
            session_id=text,
            event_type="page_view",
            page_url=f"https://app.example/{text}",
            element_selector=f"#{text}",
            metadata={"note": text},
            at=at - HOUR / 4,
        )

    def _add_without_customer(self, text: str, number: int, customer: Customer) -> None:
        Lead.objects.create(
            organization=self.organization,
            email=f"lead@{self.word}{number}.example",
            email_key=f"lead@{self.word}{number}.example",
            name=f"{text} Lead",
            source=text,
            fields={"size": text},
            customer=customer,
        )
        day = timezone.now().date() - number * timedelta(days=1)
        KpiSnapshot.objects.update_or_create(
            organization=self.organization,
            day=day,
            metric="average_health",
            defaults={"value": number},
        )
        source = KnowledgeSource.objects.create(
            organization=self.organization, kind=SourceKind.MARKDOWN, title=f"Guide to {text}"
        )
        KnowledgeChunk.objects.create(
            organization=self.organization,
            source=source,
            position=1,
            title=source.title,
            text=f"All about {text}.",
        )
