"""data_search_tickets and data_get_ticket: tickets and what was written in them."""

from collections.abc import Sequence
from typing import Final

from django.db.models import Q

from customers import words
from data_tools.query import (
    COMPANY,
    DETAIL,
    PAGE,
    QUERY,
    USER,
    DataToolCall,
    Filters,
    Grouping,
    Listing,
    RowOrder,
    choice,
    data_tool,
    filter_choice,
    groups,
    listing,
    messages,
    optional_choice,
    results,
    text,
    texts,
    time_of,
    who,
)
from data_tools.query.arguments import page_of
from tools_registry.api import Facts, Json, NotFound, Toolset
from workspace import access
from workspace.models import UNRESOLVED, Ticket, TicketMessage, TicketPriority, TicketStatus

TOOLSET: Final = Toolset(scope="data:read", title="Tickets")

Item = dict[str, Json]

ORDERS: Final = {
    "created_at_desc": RowOrder("-created_at"),
    "created_at_asc": RowOrder("created_at", "-pk"),
    "updated_at_desc": RowOrder("-updated_at"),
}
GROUPS: Final = ("status", "priority", "assignee", "category", "company", "day")
ME: Final = "me"
UNASSIGNED: Final = "unassigned"


@data_tool(
    TOOLSET,
    title="Search tickets",
    description=(
        "List or count support tickets by words, status, assignee, customer or time. Open tickets "
        "are those with status unresolved. Chats: data_search_transcripts."
    ),
    arguments={
        **QUERY,
        "status": choice(
            "any",
            "unresolved",
            *TicketStatus.values,
            description="any: all but spam; unresolved: open, priority, in_progress, snoozed",
        ),
        "priority": filter_choice(*TicketPriority.values),
        "assignee": text("Name, e-mail, me or unassigned", longest=254),
        "inbox": text(longest=100),
        "category": text(longest=100),
        "source": text(longest=50),
        **USER,
        **COMPANY,
        **time_of("all_time"),
        "time_field": choice("created_at", "updated_at", "resolved_at"),
        "sort": choice(*ORDERS),
        "group_by": optional_choice(*GROUPS),
        **PAGE,
        **DETAIL,
    },
)
def data_search_tickets(call: DataToolCall) -> Facts:
    found = messages.terms(call)
    filters, max_total = Filters(call), None
    if found:
        condition, max_total = words.having(access.ticket_messages(call.access), found, "ticket")
        filters.add("query", condition)
    _add_filters(filters)
    return listing.answer(
        call,
        Listing(
            noun="tickets",
            rows=access.tickets(call.access).select_related("customer", "company", "assignee"),
            filters=filters,
            order=ORDERS[call.arguments["sort"]],
            items=lambda rows: _items(call, rows, found),
            time=call.arguments["time_field"],
            groupings=_groupings(call),
            known={"inbox": "inbox", "category": "category", "source": "source"},
            max_total=max_total,
        ),
    )


@data_tool(
    TOOLSET,
    title="Get a ticket",
    description=(
        "One ticket with its messages, the oldest first, internal notes marked. "
        "Find ids with data_search_tickets."
    ),
    arguments={"ticket_id": text(longest=64), **page_of(30), **DETAIL},
    required=("ticket_id",),
    result=results.schema(
        ticket=results.OBJECT,
        items=results.LIST,
        returned=results.WHOLE,
        total=results.WHOLE,
        at_least=results.WHOLE,
        next_cursor=results.TEXT,
    ),
)
def data_get_ticket(call: DataToolCall) -> Facts:
    named = call.arguments["ticket_id"].strip()
    rows = access.tickets(call.access).select_related("customer", "company", "assignee")
    ticket = rows.filter(pk=named).first()
    if ticket is None:
        raise NotFound(f"No ticket {texts.line(named)}. Find ids with data_search_tickets.")
    return listing.answer(
        call,
        Listing(
            noun="messages of this ticket",
            rows=access.ticket_messages(call.access).filter(ticket=ticket),
            filters=Filters(call),
            order=RowOrder("position"),
            items=lambda rows: [_message(call, row) for row in rows],
            members={"ticket": _profile(call, ticket)},
        ),
    )


def _add_filters(filters: Filters) -> None:
    call = filters.call
    filters.add("status", _status(call.arguments["status"]))
    filters.add_equal("priority", "priority", unless="any")
    _add_assignee(filters)
    filters.add_ignoring_case("inbox", "inbox")
    filters.add_ignoring_case("category", "category")
    filters.add_ignoring_case("source", "source")
    if user := who.find_row(call, who.USERS):
        filters.add("user", Q(customer=user.pk), shown=results.reference(user))
    if company := who.find_row(call, who.COMPANIES):
        filters.add("company", Q(company=company.pk), shown=results.reference(company))


def _status(value: str) -> Q:
    if value == "any":
        return ~Q(status=TicketStatus.SPAM)
    return Q(status__in=UNRESOLVED) if value == "unresolved" else Q(status=value)


def _add_assignee(filters: Filters) -> None:
    named = filters.call.arguments.get("assignee", "").strip().casefold()
    if named == UNASSIGNED:
        filters.add("assignee", Q(assignee=None))
    elif named == ME:
        filters.add("assignee", Q(assignee=filters.call.user_id))
    elif person := who.find_row(filters.call, who.TEAMMATES):
        filters.add("assignee", Q(assignee=person.pk), shown=who.person(person))


def _groupings(call: DataToolCall) -> dict[str, Grouping]:
    return {
        "status": groups.column("status"),
        "priority": groups.column("priority"),
        "assignee": groups.reference("assignee", access.teammates(call.access), who.person),
        "category": groups.column("category"),
        "company": groups.reference("company", access.companies(call.access)),
        "day": groups.day(call.arguments["time_field"], call.zone),
    }


def _items(call: DataToolCall, tickets: Sequence[Ticket], found: Sequence[str]) -> list[Item]:
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
