"""data_search_tickets and data_get_ticket: tickets and what was written in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, TypeAlias

from django.db.models import Q, QuerySet

from customers import waiting, words
from customers.tickets import RESPONDERS
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
from workspace.models import (
    UNRESOLVED,
    AuthorKind,
    Customer,
    Ticket,
    TicketMessage,
    TicketPriority,
    TicketStatus,
)

TOOLSET: Final = Toolset(scope="data:read", title="Tickets")

Item = dict[str, Json]

BY_WAITING_TIME: Final = "waiting_since_asc"
ORDERS: Final = {
    **listing.orders_by_time("created_at", "updated_at", "resolved_at"),
    "priority_desc": RowOrder("-priority", then=("created_at",)),
    BY_WAITING_TIME: RowOrder("waiting_since"),
}
QUERY_IN: Final = ("subject", "messages")
# A longer page without words is read as a table: its items are short.
MAX_LONG_ITEMS: Final = 10
MAX_SHORT_SUBJECT: Final = 44
StatusFilter: TypeAlias = Literal["any", "unresolved"] | TicketStatus
LAST_AUTHORS: Final[Mapping[str | None, Q]] = {
    "customer": Q(last_writer=AuthorKind.CUSTOMER),
    "us": Q(last_writer__in=RESPONDERS),
}
FIRST_RESPONSES: Final[Mapping[str | None, Q]] = {
    "missing": Q(first_response_at=None),
    "given": Q(first_response_at__isnull=False),
}
ME: Final = "me"
# Of the forms of one number: with # or without it, in three cases.
MAX_NUMBERED: Final = 6
UNASSIGNED: Final = frozenset({"unassigned", "nobody", "none", "noone"})


@dataclass(frozen=True, slots=True)
class TicketFilters:
    """What tickets are chosen by, besides words and time."""

    status: Annotated[
        tuple[StatusFilter, ...],
        Keywords(description="any: all but spam; unresolved: open, priority, in_progress, snoozed"),
    ] = ("any",)
    priority: TicketPriority | Literal["any"] | None = None
    last_author: Annotated[
        Literal["any", "customer", "us"] | None,
        Keywords(description="Of the last message that is no internal note"),
    ] = None
    first_response: Literal["any", "missing", "given"] | None = None
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
        "List or count support tickets by words, status, assignee, customer or time. Open tickets: "
        "status unresolved. Those that wait for us: sort waiting_since_asc. "
        "Chats: data_search_transcripts."
    ),
)
def data_search_tickets(
    call: DataToolCall,
    *,
    query: Query | None = None,
    chosen_by: TicketFilters = EVERY_TICKET,
    time: TimeRange = ALL_TIME,
    time_field: Literal["created_at", "updated_at", "resolved_at"] = "created_at",
    sort: Annotated[
        str, one_of(*ORDERS, description="By time_field, if that is sent without sort")
    ] = "created_at_desc",
    group_by: Literal["status", "priority", "assignee", "category", "company", "day"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    sort = listing.choose_sort(call, sort, time_field)
    found = messages.terms(query)
    filters, max_total = Filters(), None
    filters.show("sort", sort)
    if found:
        condition, max_total = words.build_ticket_condition(
            access.tickets(call.access),
            access.ticket_messages(call.access),
            found,
            query or "",
            # A bound call reads no internal note, which may be the message with the subject.
            Q() if call.access.customer_id else words.WITHOUT_MESSAGES,
        )
        filters.add("query", condition)
    user = who.find_row(call, who.USERS, chosen_by.user)
    _add_filters(filters, call, chosen_by, user)
    is_short = page.page_size > MAX_LONG_ITEMS and not found and not call.is_detailed
    tickets = Listing(
        noun="tickets",
        rows=_rows(call, filters, chosen_by, sort),
        filters=filters,
        order=ORDERS[sort],
        items=lambda rows: _table(call, rows, sort) if is_short else _items(call, rows, found),
        time=time_field,
        groupings=_groupings(call, time_field),
        known={"inbox": "inbox", "category": "category", "source": "source"},
        max_total=max_total,
        query=found,
        query_in=QUERY_IN,
        notes=who.unclaimed_tickets_hints(call, user),
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
    ticket_id: Annotated[str, text(201, "Id, or number such as 4711 or #4711")],
    page: Page = PAGE_OF_MESSAGES,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    named = ticket_id.strip()
    ticket = _find(call, named)
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


def _rows(
    call: DataToolCall, filters: Filters, chosen_by: TicketFilters, sort: str
) -> QuerySet[Any]:
    """The tickets that the filters choose from, with what they and the order compute."""
    rows = access.tickets(call.access).select_related("customer", "company", "assignee")
    if chosen_by.last_author in LAST_AUTHORS:
        rows = waiting.with_last_writer(rows, call.access)
        filters.add("last_author", LAST_AUTHORS[chosen_by.last_author])
    if sort == BY_WAITING_TIME:
        rows = waiting.with_waiting_since(rows, call.access)
        filters.add("sort", Q(waiting_since__isnull=False), shown=sort)
    return rows


def _find(call: DataToolCall, named: str) -> Ticket | None:
    """Returns the ticket with this id, or else with this external id; as it is typed first."""
    rows = access.tickets(call.access).select_related("customer", "company", "assignee")
    by_id = rows.filter(pk=named).first()
    if by_id is not None:
        return by_id
    numbered = rows.filter(words.has_ticket_number(named)).order_by("pk")[:MAX_NUMBERED]
    return min(numbered, key=lambda ticket: ticket.external_id != named, default=None)


def _add_filters(
    filters: Filters, call: DataToolCall, chosen_by: TicketFilters, user: Customer | None
) -> None:
    filters.add("status", reduce(or_, map(_status_condition, chosen_by.status)))
    filters.add_equal("priority", chosen_by.priority, unless="any")
    if chosen_by.first_response in FIRST_RESPONSES:
        filters.add("first_response", FIRST_RESPONSES[chosen_by.first_response])
    _add_assignee(filters, call, chosen_by.assignee)
    filters.add_ignoring_case("inbox", chosen_by.inbox)
    filters.add_ignoring_case("category", chosen_by.category)
    filters.add_ignoring_case("source", chosen_by.source)
    filters.add_row("user", user, "customer")
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


def _table(call: DataToolCall, tickets: Sequence[Ticket], sort: str) -> list[Item]:
    """Tickets of a long page: who and what in one line each, and the time that they are sorted by.

    Rows are referred to by their names, and `data_get_ticket` has their ids.
    """
    time = sort.rpartition("_")[0] if sort != "priority_desc" else "created_at"
    return [
        {
            "id": ticket.pk,
            "subject": texts.cut(ticket.subject, MAX_SHORT_SUBJECT),
            "status": ticket.status,
            "priority": ticket.priority if ticket.priority != TicketPriority.NORMAL else None,
            "assignee": ticket.assignee and {"name": ticket.assignee.get_full_name()},
            "user": ticket.customer and {"name": str(ticket.customer)},
            "company": ticket.company and {"name": str(ticket.company)},
            time: call.when(getattr(ticket, time)),
        }
        for ticket in tickets
    ]


def _ticket(call: DataToolCall, ticket: Ticket) -> Item:
    """A ticket in a list."""
    item = {
        "id": ticket.pk,
        "external_id": ticket.external_id,
        "subject": ticket.subject,
        "status": ticket.status,
        "priority": ticket.priority,
        "assignee": who.person(ticket.assignee),
        "user": results.reference(ticket.customer),
        **_author_address(ticket),
        "company": results.reference(ticket.company),
        "last_author": _last_author(call, ticket),
        "waiting_since": call.when(getattr(ticket, "waiting_since", None)),
        "created_at": call.when(ticket.created_at),
        "updated_at": call.when(ticket.updated_at),
        "resolved_at": call.when(ticket.resolved_at),
    }
    return {**item, **_details(call, ticket)} if call.is_detailed else item


def _author_address(ticket: Ticket) -> Item:
    """The address that the author of a ticket of no customer gave."""
    if ticket.customer_id or not ticket.email_key:
        return {}
    is_proven = ticket.email_proven_at is not None
    return {"author_email": ticket.email_key, "author_email_verified": is_proven}


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
