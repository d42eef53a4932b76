"""The only way to read an organization's customers and what it records about them.

Every function takes an `Access` and returns rows of its organization only. Rows of another one and
rows that do not exist look the same. A call that is bound to a customer reads that customer's rows
only, and of companies the customer's own.
"""

from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from workspace.models import (
    ACTIVE_MEMBERSHIP,
    Agent,
    Company,
    Conversation,
    ConversationMessage,
    Customer,
    CustomerAlias,
    ErasedName,
    Event,
    Feedback,
    Join,
    KnowledgeChunk,
    KnowledgeSource,
    KpiChange,
    KpiSnapshot,
    Lead,
    Membership,
    Organization,
    Ticket,
    TicketMessage,
    User,
)

M = TypeVar("M", bound=Model)


class CannotNarrow(Exception):
    """The rows belong to no customer, so a call that is bound to one cannot read them."""


@dataclass(frozen=True, slots=True)
class Access:
    """Whose rows a caller reads: an organization's, or those of one of its customers.

    `company_id` is the customer's company, or empty. Both are read again for every call.
    """

    organization_id: UUID
    customer_id: str = ""
    company_id: str = ""


def organization(access: Access) -> Organization:
    """Returns the organization itself: its name, time zone and currency."""
    return Organization.objects.get(pk=access.organization_id)


def customers(access: Access) -> QuerySet[Customer]:
    """Returns customers, without those who are being erased."""
    rows = _own(Customer, access).filter(erased_at__isnull=True)
    return rows.filter(pk=access.customer_id) if access.customer_id else rows


def customer_aliases(access: Access) -> QuerySet[CustomerAlias]:
    """Returns other ids and earlier addresses of customers."""
    return _customer_rows(CustomerAlias, access)


def joins(access: Access) -> QuerySet[Join]:
    """Returns the records of what was joined to customers."""
    return _customer_rows(Join, access)


def companies(access: Access) -> QuerySet[Company]:
    rows = _own(Company, access)
    return rows.filter(pk=access.company_id) if access.customer_id else rows


def agents(access: Access) -> QuerySet[Agent]:
    """Returns the organization's AI agents, which a bound call may name too."""
    return _own(Agent, access)


def tickets(access: Access) -> QuerySet[Ticket]:
    return _customer_rows(Ticket, access).defer("search_text")


def ticket_messages(access: Access) -> QuerySet[TicketMessage]:
    """Returns messages, internal notes included; a bound call does not read those."""
    rows = _own(TicketMessage, access).defer("search_text")
    if not access.customer_id:
        return rows
    return rows.filter(ticket__customer=access.customer_id, is_internal=False)


def teammates(access: Access) -> QuerySet[User]:
    """Returns the organization's members; for a bound call, who is assigned to its tickets."""
    rows = User.objects.filter(memberships__organization=access.organization_id)
    return rows.filter(pk__in=tickets(access).values("assignee")) if access.customer_id else rows


def active_memberships(access: Access) -> QuerySet[Membership]:
    """Returns who works in the organization now. Raises CannotNarrow for a bound call."""
    return _organization_rows(Membership, access).filter(ACTIVE_MEMBERSHIP)


def erased_names(access: Access) -> QuerySet[ErasedName]:
    """Returns the hashes of names that are refused. Raises CannotNarrow for a bound call."""
    return _organization_rows(ErasedName, access)


def conversations(access: Access) -> QuerySet[Conversation]:
    return _customer_rows(Conversation, access)


def conversation_messages(access: Access) -> QuerySet[ConversationMessage]:
    rows = _own(ConversationMessage, access).defer("search_text")
    if not access.customer_id:
        return rows
    return rows.filter(conversation__customer=access.customer_id)


def feedback(access: Access) -> QuerySet[Feedback]:
    return _customer_rows(Feedback, access)


def events(access: Access) -> QuerySet[Event]:
    return _customer_rows(Event, access)


def bound_customer_events(access: Access) -> QuerySet[Event]:
    """Returns the events of the customer that a call is bound to, by the index of customers.

    The customer is of the organization. With a condition on the organization of events, SQLite may
    take an index of those, and read all events of the organization.
    """
    return QuerySet(Event).filter(
        customer__organization=access.organization_id, customer=access.customer_id
    )


def leads(access: Access) -> QuerySet[Lead]:
    """Raises CannotNarrow for a bound call: a lead belongs to no customer."""
    return _organization_rows(Lead, access).defer("search_text")


def key_figures(access: Access) -> QuerySet[KpiSnapshot]:
    """Raises CannotNarrow for a bound call: figures are computed over all customers."""
    return _organization_rows(KpiSnapshot, access)


def key_figure_changes(access: Access) -> QuerySet[KpiChange]:
    return _own(KpiChange, access)


def knowledge_sources(access: Access) -> QuerySet[KnowledgeSource]:
    """Raises CannotNarrow for a bound call: documents belong to no customer."""
    return _organization_rows(KnowledgeSource, access)


def knowledge_chunks(access: Access) -> QuerySet[KnowledgeChunk]:
    """Raises CannotNarrow for a bound call: documents belong to no customer."""
    return _organization_rows(KnowledgeChunk, access)


def _own(model: type[M], access: Access) -> QuerySet[M]:
    return QuerySet(model).filter(organization=access.organization_id)


def _customer_rows(model: type[M], access: Access) -> QuerySet[M]:
    rows = _own(model, access)
    return rows.filter(customer=access.customer_id) if access.customer_id else rows


def _organization_rows(model: type[M], access: Access) -> QuerySet[M]:
    if access.customer_id:
        raise CannotNarrow
    return _own(model, access)
