"""data_search_tickets and data_get_ticket: tickets and what was written in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

from django.db.models import Q

from customers import words
from data_tools.query import (
    ALL_TIME,
    PAGE,
    PAGE_OF_MESSAGES,
    CompanyName,
    DataToolCall,
    Detail,
    Filters,
    Grouping,
    Listing,
    Name,
    Page,
    Query,
    RowOrder,
    TimeRange,
    UserName,
    data_tool,
    groups,
    listing,
    messages,
    one_of,
    results,
    text,
    texts,
    who,
)
from foundation.text.values import value_key
from foundation.text.words import WordQuery
from tools_registry.api import Facts, Json, Keywords, NotFound, Toolset
from workspace import access
from workspace.models import UNRESOLVED, Ticket, TicketMessage, TicketPriority, TicketStatus

TOOLSET: Final = Toolset(scope="data:read", title="Tickets")

Item = dict[str, Json]

ORDERS: Final = {
    "created_at_desc": RowOrder("-created_at"),
    "created_at_asc": RowOrder("created_at", "-pk"),
    "updated_at_desc": RowOrder("-updated_at"),
}
StatusFilter: TypeAlias = Literal["any", "unresolved"] | TicketStatus
ME: Final = "me"
UNASSIGNED: Final = frozenset({"unassigned", "nobody", "none", "noone"})


@dataclass(frozen=True, slots=True)
class TicketFilters:
    """What tickets are chosen by, besides words and time."""

    status: Annotated[
        StatusFilter,
        Keywords(description="any: all but spam; unresolved: open, priority, in_progress, snoozed"),
    ] = "any"
    priority: TicketPriority | Literal["any"] | None = None
    assignee: Annotated[str, text(254, "Name, e-mail, me or unassigned")] | None = None
    inbox: Name | None = None
    category: Name | None = None
    source: Annotated[str, text(50)] | None = None
    user: UserName | None = None
    company: CompanyName | None = None


EVERY_TICKET: Final = TicketFilters()


@data_tool(
    TOOLSET,
    title="Search tickets",
    description=(
        "List or count support tickets by words, status, assignee, customer or time. Open tickets "
        "are those with status unresolved. Chats: data_search_transcripts."
    ),
)
def data_search_tickets(
    call: DataToolCall,
    *,
    query: Query | None = None,
    chosen_by: TicketFilters = EVERY_TICKET,
    time: TimeRange = ALL_TIME,
    time_field: Literal["created_at", "updated_at", "resolved_at"] = "created_at",
    sort: Annotated[str, one_of(*ORDERS)] = "created_at_desc",
    group_by: Literal["status", "priority", "assignee", "category", "company", "day"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    found = messages.terms(query)
    filters, max_total = Filters(), None
    if found:
        condition, max_total = words.having(access.ticket_messages(call.access), found, "ticket")
        filters.add("query", condition)
    _add_filters(filters, call, chosen_by)
    tickets = Listing(
        noun="tickets",
        rows=access.tickets(call.access).select_related("customer", "company", "assignee"),
        filters=filters,
        order=ORDERS[sort],
        items=lambda rows: _items(call, rows, found),
        time=time_field,
        groupings=_groupings(call, time_field),
        known={"inbox": "inbox", "category": "category", "source": "source"},
        max_total=max_total,
        query=found,
    )
    return listing.answer(call, tickets, page, time, group_by)


@data_tool(
    TOOLSET,
    title="Get a ticket",
    description=(
        "One ticket with its messages, the oldest first, internal notes marked. "
        "Find ids with data_search_tickets."
    ),
    result=results.schema(
        ticket=results.OBJECT,
        items=results.LIST,
        returned=results.WHOLE,
        total=results.WHOLE,
        at_least=results.WHOLE,
        next_cursor=results.TEXT,
    ),
)
def data_get_ticket(
    call: DataToolCall,
    ticket_id: Annotated[str, text(64)],
    page: Page = PAGE_OF_MESSAGES,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    named = ticket_id.strip()
    rows = access.tickets(call.access).select_related("customer", "company", "assignee")
    ticket = rows.filter(pk=named).first()
    if ticket is None:
        raise NotFound(f"No ticket {texts.line(named)}. Find ids with data_search_tickets.")
    thread = Listing(
        noun="messages of this ticket",
        rows=access.ticket_messages(call.access).filter(ticket=ticket),
        filters=Filters(),
        order=RowOrder("position"),
        items=lambda rows: [_message(call, row) for row in rows],
        members={"ticket": _profile(call, ticket)},
    )
    return listing.answer(call, thread, page)


def _add_filters(filters: Filters, call: DataToolCall, chosen_by: TicketFilters) -> None:
    filters.add("status", _status_condition(chosen_by.status))
    filters.add_equal("priority", chosen_by.priority, unless="any")
    _add_assignee(filters, call, chosen_by.assignee)
    filters.add_ignoring_case("inbox", chosen_by.inbox)
    filters.add_ignoring_case("category", chosen_by.category)
    filters.add_ignoring_case("source", chosen_by.source)
    filters.add_row("user", who.find_row(call, who.USERS, chosen_by.user), "customer")
    filters.add_row("company", who.find_row(call, who.COMPANIES, chosen_by.company))


def _status_condition(value: StatusFilter) -> Q:
    if value == "any":
        return ~Q(status=TicketStatus.SPAM)
    return Q(status__in=UNRESOLVED) if value == "unresolved" else Q(status=value)


def _add_assignee(filters: Filters, call: DataToolCall, assignee: str | None) -> None:
    named = value_key(assignee or "")
    if named in UNASSIGNED:
        filters.add("assignee", Q(assignee=None))
    elif named == ME:
        filters.add("assignee", Q(assignee=call.user_id))
    elif person := who.find_row(call, who.TEAMMATES, assignee):
        filters.add("assignee", Q(assignee=person.pk), shown=who.person(person))


def _groupings(call: DataToolCall, time_field: str) -> dict[str, Grouping]:
    return {
        "status": groups.column("status"),
        "priority": groups.column("priority"),
        "assignee": groups.reference("assignee", access.teammates(call.access), who.person),
        "category": groups.text_column("category"),
        "company": groups.reference("company", access.companies(call.access)),
        "day": groups.day(time_field, call.zone),
    }


def _items(call: DataToolCall, tickets: Sequence[Ticket], found: WordQuery) -> list[Item]:
    rows = access.ticket_messages(call.access)
    # Without words, what the customer wrote first.
    quoted = rows if found else rows.filter(messages.BY_CUSTOMER)
    excerpts = messages.excerpts(call, quoted, "ticket", tickets, found)
    return [
        {
            **_ticket(call, ticket),
            "excerpt": excerpts[ticket.pk][0] if ticket.pk in excerpts else None,
        }
        for ticket in tickets
    ]


def _ticket(call: DataToolCall, ticket: Ticket) -> Item:
    """A ticket in a list."""
    item = {
        "id": ticket.pk,
        "subject": ticket.subject,
        "status": ticket.status,
        "priority": ticket.priority,
        "assignee": who.person(ticket.assignee),
        "user": results.reference(ticket.customer),
        "company": results.reference(ticket.company),
        "last_author": _last_author(call, ticket),
        "created_at": call.when(ticket.created_at),
        "updated_at": call.when(ticket.updated_at),
        "resolved_at": call.when(ticket.resolved_at),
    }
    return {**item, **_details(call, ticket)} if call.is_detailed else item


def _last_author(call: DataToolCall, ticket: Ticket) -> Item | None:
    # The last message may be an internal note, which a bound call does not read.
    if call.access.customer_id:
        return None
    return {"kind": ticket.last_author_kind, "name": ticket.last_author_name}


def _details(call: DataToolCall, ticket: Ticket) -> Item:
    return {
        "inbox": ticket.inbox,
        "category": ticket.category,
        "source": ticket.source,
        "transcript_id": ticket.conversation_id,
        "first_response_at": call.when(ticket.first_response_at),
    }


def _profile(call: DataToolCall, ticket: Ticket) -> Item:
    """Everything about one ticket but its messages."""
    profile = {**_ticket(call, ticket), **_details(call, ticket)}
    if not call.is_detailed:
        return profile
    return {**profile, "metadata": results.limit_members(ticket.metadata)}


def _message(call: DataToolCall, message: TicketMessage) -> Item:
    return {**messages.item(call, message), "internal": True if message.is_internal else None}
