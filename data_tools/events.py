"""data_search_events and data_user_journey: what people did in the product, and with support."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from itertools import groupby, islice
from operator import or_
from typing import Annotated, Any, Final, Literal

from django.db.models import Q, QuerySet

from data_tools.query import (
    ALL_TIME,
    LAST_7_DAYS,
    PAGE,
    CompanyName,
    DataToolCall,
    Detail,
    Filters,
    Listing,
    Page,
    RowOrder,
    TimeRange,
    UserName,
    cursors,
    data_tool,
    groups,
    listing,
    one_of,
    periods,
    results,
    text,
    texts,
    who,
)
from data_tools.query.arguments import TIME
from data_tools.query.cursors import Cursor
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.access import Access
from workspace.models import Event

TOOLSET: Final = Toolset(scope="data:read", title="Events")

MAX_TITLE: Final = 200
# No index has these, so that rows with them are counted only a little further than a page.
UNINDEXED: Final = frozenset({"page_url", "element_selector"})
MAX_UNINDEXED: Final = 100
# Repeats are one entry of a journey, so more rows than entries are read.
ROWS_OF_ENTRY: Final = 5


@data_tool(
    TOOLSET,
    title="Search events",
    description=(
        "List or count product events by type, page, element, customer or time; with group_by "
        "user, distinct is the number of people. All that one customer did: data_user_journey."
    ),
)
def data_search_events(
    call: DataToolCall,
    *,
    event_type: Annotated[str, text(100, "Such as page_view, click, form_submit, error")]
    | None = None,
    page_url: Annotated[str, text(500, "Part of the address")] | None = None,
    element_selector: Annotated[str, text(500, "Such as #upgrade")] | None = None,
    user: UserName | None = None,
    company: CompanyName | None = None,
    session_id: Annotated[str, text(200)] | None = None,
    time: TimeRange = LAST_7_DAYS,
    group_by: Literal["event_type", "page_url", "user", "day"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    filters = Filters()
    _add_type(filters, event_type, call.access)
    _add_selector(filters, element_selector)
    filters.add_equal("session_id", session_id)
    if page_url is not None:
        filters.add("page_url", Q(page_url__icontains=page_url))
    filters.add_row("user", who.find_row(call, who.USERS, user), "customer")
    filters.add_row("company", who.find_row(call, who.COMPANIES, company), "customer__company")
    events = Listing(
        noun="events",
        rows=access.events(call.access).select_related("customer"),
        filters=filters,
        order=RowOrder("-at", "-pk"),
        items=lambda rows: [_event(call, row) for row in rows],
        time="at",
        known={"element_selector": "element_selector"},
        unindexed=UNINDEXED,
        max_total=None if UNINDEXED.isdisjoint(filters.conditions) else MAX_UNINDEXED,
        groupings={
            "event_type": groups.column("event_type"),
            "page_url": groups.column("page_url"),
            "user": groups.reference("customer", access.customers(call.access)),
            "day": groups.day("at", call.zone),
        },
    )
    return listing.answer(call, events, page, time, group_by)


def _add_type(filters: Filters, event_type: str | None, reads: Access) -> None:
    if reads.customer_id:
        rows = access.bound_customer_events(reads)
        filters.add_known("event_type", event_type, rows, are_few=True)
    else:
        filters.add_known("event_type", event_type, access.events(reads))


def _add_selector(filters: Filters, selector: str | None) -> None:
    """Adds the condition that an element has this selector, in any case, or this id or class."""
    if selector:
        same = (Q(element_selector__iexact=f"{sign}{selector}") for sign in ("", "#", "."))
        filters.add("element_selector", reduce(or_, same))


def _event(call: DataToolCall, event: Event) -> dict[str, Json]:
    return {
        "id": event.pk,
        "at": call.when(event.at),
        "event_type": event.event_type,
        "page_url": call.text(event.page_url),
        "element_selector": event.element_selector,
        "user": who.reference(event.customer),
        "session_id": event.session_id if call.is_detailed else None,
        "metadata": results.limit_members(event.metadata) if call.is_detailed else None,
    }


@dataclass(frozen=True, slots=True)
class JourneySource:
    """A kind of entries of a journey: rows of a customer at a moment, and how one is called."""

    kind: str
    rows: Callable[[Access], QuerySet[Any]]
    at: str
    title: Callable[[Any], str]


SOURCES: Final[Mapping[str, JourneySource]] = {
    "events": JourneySource(
        "event",
        access.events,
        "at",
        lambda row: f"{row.event_type} {row.element_selector} {row.page_url}",
    ),
    "feedback": JourneySource(
        "feedback", access.feedback, "at", lambda row: f"{row.rating} {row.comment}"
    ),
    "tickets": JourneySource("ticket", access.tickets, "created_at", lambda row: str(row.subject)),
    "transcripts": JourneySource(
        "transcript", access.conversations, "started_at", lambda row: str(row.question)
    ),
}


@dataclass(frozen=True, slots=True)
class JourneyEntry:
    """A row in a journey. Rows of the same time are in the order of kind and key."""

    at: datetime
    kind: str
    key: Any
    title: str


@data_tool(
    TOOLSET,
    title="Follow a customer's journey",
    description=(
        "One customer's events, conversations, tickets and feedback in order; repeated events are "
        "one entry with a count. Events of several customers: data_search_events."
    ),
)
def data_user_journey(
    call: DataToolCall,
    *,
    user: UserName,
    include: Annotated[str, one_of("all", *SOURCES)] = "all",
    time: TimeRange = ALL_TIME,
    sort: Literal["at_desc", "at_asc"] = "at_desc",
    page: Page = PAGE,
) -> Facts:
    customer = who.get_row(call, who.USERS, user)
    cursor = cursors.read_cursor(call, page.cursor)
    period = cursor.period if cursor else periods.from_call(call, time)
    chosen = [one for name, one in SOURCES.items() if include in {"all", name}]
    rows = [
        one.rows(call.access).filter(
            period.q(one.rows(call.access).model, one.at, call.zone), customer=customer.pk
        )
        for one in chosen
    ]
    limit = page.page_size * ROWS_OF_ENTRY
    sources = list(zip(chosen, rows, strict=True))
    entries = _entries(sources, cursor, limit + 1, descending=sort == "at_desc")
    items, read = _items(call, entries[:limit], page.page_size)
    total = sum(one.count() for one in rows)
    more = None
    if read < len(entries):
        last = entries[read - 1]
        more = cursors.seal(call, Cursor(period, (last.at, f"{last.kind} {last.key}")))
    return results.answer(
        call,
        items=items,
        returned=len(items),
        rows=len(items),
        total=total,
        next_cursor=more,
        period=period.describe(call, "at"),
        searched={"user": who.reference(customer)},
        hints=[] if items else [_nothing(call)],
    )


def _entries(
    sources: Sequence[tuple[JourneySource, QuerySet[Any]]],
    cursor: Cursor | None,
    limit: int,
    *,
    descending: bool,
) -> list[JourneyEntry]:
    """The next rows of all sources together."""
    minus = "-" if descending else ""
    found = []
    for source, rows in sources:
        following = (
            Q() if cursor is None else _cursor_condition(source, cursor, descending=descending)
        )
        for row in rows.filter(following).order_by(f"{minus}{source.at}", f"{minus}pk")[:limit]:
            at = getattr(row, source.at)
            found.append(JourneyEntry(at, source.kind, row.pk, " ".join(source.title(row).split())))
    found.sort(key=lambda entry: (entry.at, entry.kind, entry.key), reverse=descending)
    return found[:limit]


def _cursor_condition(source: JourneySource, cursor: Cursor, *, descending: bool) -> Q:
    """The condition for what follows the last row of the page before, in the order of entries."""
    lookup = "lt" if descending else "gt"
    at, last = cursor.keys
    kind, _, key = last.partition(" ")
    later = Q(**{f"{source.at}__{lookup}": at})
    if source.kind == kind:
        return later | Q(**{source.at: at, f"pk__{lookup}": key})
    follows = source.kind < kind if descending else source.kind > kind
    return later | Q(**{source.at: at}) if follows else later


def _items(
    call: DataToolCall, entries: Sequence[JourneyEntry], size: int
) -> tuple[list[Json], int]:
    """The items of a page, and how many of the entries they stand for."""
    items: list[Json] = []
    read = 0
    for _, repeats in islice(groupby(entries, _grouping_key), size):
        same = list(repeats)
        item = {
            "at": call.when(same[0].at),
            "kind": same[0].kind,
            "id": same[0].key,
            "title": texts.cut(call.text(same[0].title), MAX_TITLE),
            "count": len(same) if len(same) > 1 else None,
            "until": call.when(same[-1].at) if len(same) > 1 else None,
        }
        items.append(item)
        read += len(same)
    sent = results.fitting(items)
    return items[:sent], read if sent == len(items) else sum(_many(one) for one in items[:sent])


def _many(item: Mapping[str, Json]) -> int:
    return item["count"] or 1


def _grouping_key(entry: JourneyEntry) -> tuple[str, Json]:
    """What is the same for entries that become one item: only events do."""
    return (entry.kind, entry.title if entry.kind == "event" else entry.key)


def _nothing(call: DataToolCall) -> str:
    if TIME & call.given:
        return "Nothing in this period. Try period all_time."
    return "Nothing was recorded of this customer."
