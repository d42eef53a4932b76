"""Lists of rows: filtered, counted, in pages by key, or counted by group."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from data_tools.query import cursors, groups, periods, results, texts
from data_tools.query.arguments import Page, TimeRange
from data_tools.query.call import DataToolCall
from data_tools.query.cursors import Cursor
from data_tools.query.filters import Filters
from data_tools.query.groups import Grouping
from data_tools.query.known_values import KnownValues
from data_tools.query.periods import QueryPeriod
from foundation.text.values import find_nearest_values
from foundation.text.words import WordQuery
from tools_registry.api import Facts, Json

M = TypeVar("M", bound=Model)

# How many rows are read for the known values in a hint.
MAX_READ: Final = 2_000
# How many rows are grouped if counting all of them is too expensive.
MAX_GROUPED: Final = 1_000
NOT_ALL_GROUPED: Final = (
    f"Only the first {MAX_GROUPED} rows in the order of the list are grouped. "
    "Use more filters or a shorter period."
)
IGNORED: Final = "Ignored in query: {words}. Words in quotes are not ignored."
TOO_LONG: Final = (
    "Stopped at {sent} of {read} items: the result would be longer than {limit} characters. "
    "Continue with next_cursor."
)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of rows: a column, with a minus if descending, and a unique one for equal keys.

    Rows without a key come last.
    """

    by: str
    tie: str = "pk"

    @property
    def key(self) -> str:
        return self.by.removeprefix("-")

    @property
    def columns(self) -> tuple[str, str]:
        return self.by, self.tie


@dataclass(frozen=True, kw_only=True)
class Listing(Generic[M]):
    """A list of rows of an organization.

    `rows` are all that the caller may read, `filters` what narrows them. `time` is the column that
    the period is about. `items` turns the rows of a page into items, `groupings` has what
    `group_by` may name. `known` has columns by argument whose values help if nothing is found.
    With an argument of `unindexed`, rows are only looked for in the period. `members` are further
    members of the result. `max_total` is up to where rows are counted, if it is not the usual one.
    `elsewhere` has tools by argument, with rows of theirs that a hint counts if nothing is found.
    `why_none` is the hint if there are no rows even without filters. `query` is what a search by
    words looks for: the result says which words were ignored.
    """

    noun: str
    rows: QuerySet[M]
    filters: Filters
    order: RowOrder
    items: Callable[[Sequence[M]], Sequence[Mapping[str, Json]]]
    time: str = ""
    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    unindexed: frozenset[str] = frozenset()
    members: Mapping[str, Json] = field(default_factory=dict)
    max_total: int | None = None
    elsewhere: Mapping[str, tuple[str, QuerySet[Any]]] = field(default_factory=dict)
    why_none: str = ""
    query: WordQuery = field(default_factory=WordQuery)


def answer(
    call: DataToolCall,
    listing: Listing[Any],
    page: Page,
    time: TimeRange | None = None,
    group_by: str | None = None,
) -> Facts:
    """Returns the groups of `group_by`, or a page of items."""
    cursor = cursors.read_cursor(call, page.cursor)
    period = cursor.period if cursor else periods.from_call(call, time) if time else None
    if period is not None and (period.start or period.end):
        listing.filters.add("period", period.q(listing.rows.model, listing.time, call.zone))
    rows = listing.rows.filter(listing.filters.combine_without())
    if group_by is not None:
        found = _groups(listing, rows, listing.groupings[group_by])
    else:
        found = _page(call, listing, rows, period, cursor, size=page.page_size)
    hints = found.pop("hints", None) or _explain_no_results(call, listing, found)
    ignored = listing.query.ignored
    if ignored:
        hints = [*hints, IGNORED.format(words=", ".join(ignored))]
    return results.answer(
        call,
        searched={**listing.filters.shown, "ignored_words": [*ignored]},
        hints=hints,
        rows=found.get("returned", 0),
        **found,
        **listing.members,
        period=period and period.describe(call, listing.time),
    )


def read(rows: QuerySet[M], order: RowOrder, after: Cursor | None, limit: int) -> list[M]:
    """Returns the rows that follow a cursor; those without a key after all others."""
    if not _may_be_null(rows.model, order.key):
        return _list_keyed_rows(rows, order, after, limit)
    is_past_keys = after is not None and after.key is None
    keyed = rows.filter(**{f"{order.key}__isnull": False})
    found = [] if is_past_keys else _list_keyed_rows(keyed, order, after, limit)
    if len(found) == limit:
        return found
    others = rows.filter(**{f"{order.key}__isnull": True})
    if after is not None and is_past_keys:
        others = others.filter(_following_condition(order.tie, after.tie))
    return [*found, *others.order_by(order.tie)[: limit - len(found)]]


def _list_keyed_rows(
    rows: QuerySet[M], order: RowOrder, after: Cursor | None, limit: int
) -> list[M]:
    if after is not None:
        tied = Q(**{order.key: after.key}) & _following_condition(order.tie, after.tie)
        # The first condition is implied; an index finds the place by it.
        reached = _following_condition(order.by, after.key, "e")
        rows = rows.filter(reached, _following_condition(order.by, after.key) | tied)
    return list(rows.order_by(*order.columns)[:limit])


def _following_condition(order: str, value: Any, or_equal: str = "") -> Q:
    column = order.removeprefix("-")
    lookup = "lt" if order != column else "gt"
    return Q(**{f"{column}__{lookup}{or_equal}": value})


def _may_be_null(model: type[Model], column: str) -> bool:
    names = {one.name: one.null for one in model._meta.concrete_fields}
    # What is computed, such as a rank, is never NULL.
    return names.get(column, False)


def _page(
    call: DataToolCall,
    listing: Listing[M],
    rows: QuerySet[M],
    period: QueryPeriod | None,
    cursor: Cursor | None,
    *,
    size: int,
) -> dict[str, Any]:
    total = results.count_rows(rows, listing.max_total)
    # To find no row in the order of an index means to read all of it.
    found = read(rows, listing.order, cursor, size + 1) if total != {"total": 0} else []
    items = listing.items(found[:size])
    sent = results.fitting(items)
    more: dict[str, Any] = {}
    if sent < len(found):
        more["next_cursor"] = _next(call, listing.order, found[sent - 1], period)
    if sent < len(items):
        limit = results.MAX_CHARACTERS
        more["hints"] = [TOO_LONG.format(sent=sent, read=len(items), limit=limit)]
    return {"items": items[:sent], "returned": sent, **total, **more}


def _next(call: DataToolCall, order: RowOrder, last: Model, period: QueryPeriod | None) -> str:
    tie = getattr(last, order.tie.removeprefix("-"))
    everything = QueryPeriod(periods.ALL_TIME, None, None)
    return cursors.seal(call, Cursor(period or everything, getattr(last, order.key), tie))


def _groups(listing: Listing[Any], rows: QuerySet[Any], grouping: Grouping) -> dict[str, Any]:
    if listing.max_total is None:
        counts, total = groups.count_all(rows, grouping)
        return {"groups": counts, "total": total, "other": _others(counts, total)}
    ordered = rows.order_by(*listing.order.columns)
    counts, total, is_all = groups.count_first(ordered, grouping, MAX_GROUPED)
    found = {"groups": counts, "other": _others(counts, total)}
    if is_all:
        return {**found, "total": total}
    return {**found, "at_least": total, "hints": [NOT_ALL_GROUPED]}


def _others(counts: Sequence[Mapping[str, Json]], total: int) -> int | None:
    return total - sum(one["count"] for one in counts) or None


def _explain_no_results(
    call: DataToolCall, listing: Listing[Any], found: Mapping[str, Any]
) -> list[str]:
    """Why nothing was found: what there is without each filter, and the values to choose from."""
    if found.get("items") or found.get("groups") or found.get("total"):
        return []
    if not listing.rows.exists():
        return [listing.why_none or f"No {listing.noun} were ever recorded."]
    hints = [
        f"Without {argument}: {_count_without(listing, argument)}."
        for argument in listing.filters.conditions
        if argument != "period" or not listing.unindexed.intersection(listing.filters.conditions)
    ]
    for argument, column in listing.known.items():
        if argument in listing.filters.conditions:
            hints.append(_list_known_values(call, argument, listing.rows, column))
    for argument, (tool, rows) in listing.elsewhere.items():
        if condition := listing.filters.conditions.get(argument):
            many = _count(listing, rows.filter(condition))
            if many != "0":
                hints.append(f"{tool} with this {argument}: {many}.")
    hints += [
        _name_values(what, call.arguments[what.rpartition(" ")[2]], values)
        for what, values in listing.filters.known.items()
        if values
    ]
    return hints


def _count_without(listing: Listing[Any], argument: str) -> str:
    return _count(listing, listing.rows.filter(listing.filters.combine_without(argument)))


def _count(listing: Listing[Any], rows: QuerySet[Any]) -> str:
    counted = results.count_rows(rows, listing.max_total)
    return str(counted["total"]) if "total" in counted else f"over {counted['at_least']}"


def _list_known_values(call: DataToolCall, argument: str, rows: QuerySet[Any], column: str) -> str:
    read = list(rows.order_by().values_list(column, flat=True)[: MAX_READ + 1])
    counts = Counter(value or groups.NONE for value in read[:MAX_READ])
    common = sorted(counts, key=lambda value: (-counts[value], value))
    known = KnownValues(common, len(read) <= MAX_READ)
    return _name_values(f"{known.quantity} values of {argument}", call.arguments[argument], common)


def _name_values(what: str, value: str, known: Sequence[str]) -> str:
    """Known values, all of them or the nearest to this one."""
    near = [texts.line(one) for one in find_nearest_values(value, known)]
    all_of = f"; the nearest {len(near)} of {len(known)}" if len(near) < len(known) else ""
    return f"{what}: {', '.join(near)}{all_of}."
