"""data_search_events and data_user_journey: what people did in the product, and with support."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Final

from django.db.models import Q, QuerySet

from data_tools.query import (
    COMPANY,
    DETAIL,
    PAGE,
    USER,
    DataToolCall,
    Filters,
    Listing,
    RowOrder,
    choice,
    cursors,
    data_tool,
    groups,
    invalid_argument,
    listing,
    optional_choice,
    periods,
    results,
    text,
    texts,
    time_of,
    who,
)
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
        "List or count product events by type, page, element, customer or time. "
        "All that one customer did: data_user_journey."
    ),
    arguments={
        "event_type": text("Such as page_view, click, form_submit, error", longest=100),
        "page_url": text("Part of the address", longest=500),
        "element_selector": text("Such as #upgrade", longest=500),
        **USER,
        **COMPANY,
        "session_id": text(longest=200),
        **time_of("last_7_days"),
        "group_by": optional_choice("event_type", "page_url", "user", "day"),
        **PAGE,
        **DETAIL,
    },
)
def data_search_events(call: DataToolCall) -> Facts:
    filters = Filters(call)
    filters.add_equal("event_type", "event_type")
    filters.add_equal("element_selector", "element_selector")
    filters.add_equal("session_id", "session_id")
    if "page_url" in call.arguments:
        filters.add("page_url", Q(page_url__icontains=call.arguments["page_url"]))
    if user := who.find_row(call, who.USERS):
        filters.add("user", Q(customer=user.pk), shown=who.reference(user))
    if company := who.find_row(call, who.COMPANIES):
        filters.add("company", Q(customer__company=company.pk), shown=who.reference(company))
    return listing.answer(
        call,
        Listing(
            noun="events",
            rows=access.events(call.access).select_related("customer"),
            filters=filters,
            order=RowOrder("-at", "-pk"),
            items=lambda rows: [_event(call, row) for row in rows],
            time="at",
            unindexed=UNINDEXED,
            max_total=None if UNINDEXED.isdisjoint(filters.conditions) else MAX_UNINDEXED,
            groupings={
                "event_type": groups.column("event_type"),
                "page_url": groups.column("page_url"),
                "user": groups.reference("customer", access.customers(call.access)),
                "day": groups.day("at", call.zone),
            },
        ),
    )


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
    arguments={
        **USER,
        "include": choice("all", *SOURCES),
        **time_of("all_time"),
        "sort": choice("at_desc", "at_asc"),
        **PAGE,
    },
    required=("user",),
)
def data_user_journey(call: DataToolCall) -> Facts:
    user = who.find_row(call, who.USERS)
    if user is None:
        raise invalid_argument("user", "send one.")
    cursor = cursors.read_cursor(call)
    period = cursor.period if cursor else periods.from_call(call)
    include, size = call.arguments["include"], call.arguments["page_size"]
    chosen = [one for name, one in SOURCES.items() if include in {"all", name}]
    rows = [
        one.rows(call.access).filter(
            period.q(one.rows(call.access).model, one.at, call.zone), customer=user.pk
        )
        for one in chosen
    ]
    limit = size * ROWS_OF_ENTRY
    entries = _entries(call, list(zip(chosen, rows, strict=True)), cursor, limit + 1)
    items, read = _items(call, entries[:limit], size)
    total = sum(one.count() for one in rows)
    more = None
    if read < len(entries):
        last = entries[read - 1]
        more = cursors.seal(call, Cursor(period, last.at, f"{last.kind} {last.key}"))
    return results.answer(
        call,
        items=items,
        returned=len(items),
        rows=len(items),
        total=total,
        next_cursor=more,
        period=period.describe(call, "at"),
        searched={"user": who.reference(user)},
        hints=[] if items else [_nothing(call)],
    )


def _entries(
    call: DataToolCall,
    sources: Sequence[tuple[JourneySource, QuerySet[Any]]],
    cursor: Cursor | None,
    limit: int,
) -> list[JourneyEntry]:
    """The next rows of all sources together."""
    descending = call.arguments["sort"] == "at_desc"
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
    kind, _, key = cursor.tie.partition(" ")
    later = Q(**{f"{source.at}__{lookup}": cursor.key})
    if source.kind == kind:
        return later | Q(**{source.at: cursor.key, f"pk__{lookup}": key})
    follows = source.kind < kind if descending else source.kind > kind
    return later | Q(**{source.at: cursor.key}) if follows else later


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
    if {"from", "to", "period"} & call.given.keys():
        return "Nothing in this period. Try period all_time."
    return "Nothing was recorded of this customer."
