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
# Days in the future: a list of them begins with the next one.
DUE: Final = frozenset({"renewal_date"})
IGNORED: Final = "Ignored in query: {words}. Words in quotes are not ignored."
OTHERS: Final = "other: {other} {noun} of {more} more values of {by}."
TOO_LONG: Final = (
    "Stopped at {sent} of {read} items: the result would be longer than {limit} characters. "
    "Continue with next_cursor."
)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of rows: a column, with a minus if descending, and a unique one for equal keys.

    Rows without a key come last. `then` are columns between both, which are never NULL.
    """

    by: str
    tie: str = "pk"
    then: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.by.removeprefix("-")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.by, *self.then, self.tie

    @property
    def following(self) -> tuple[str, ...]:
        """The columns that order rows with equal keys."""
        return *self.then, self.tie

    def keys_of(self, row: Model) -> tuple[Any, ...]:
        """The values of the columns in a row, for a cursor."""
        return tuple(getattr(row, one.removeprefix("-")) for one in self.columns)


def choose_sort(call: DataToolCall, sort: str, time_field: str) -> str:
    """Returns the `sort` of a call, or else the order by the time that it names.

    The latest is first, but of days that are due the earliest.
    """
    if "sort" in call.given or "time_field" not in call.given:
        return sort
    return f"{time_field}_asc" if time_field in DUE else f"{time_field}_desc"


def orders_by_time(*columns: str) -> dict[str, RowOrder]:
    """Returns the orders by times, the latest or the earliest first, as `sort` names them."""
    return {
        name: order
        for one in columns
        for name, order in (
            (f"{one}_desc", RowOrder(f"-{one}")),
            (f"{one}_asc", RowOrder(one, "-pk")),
        )
    }


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
    words looks for: the result says which words were ignored. `query_in` are the texts that words
    are looked for in. `notes` are further hints.
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
    query_in: Sequence[str] = ()
    notes: Sequence[str] = ()


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
        found = _groups(listing, rows, group_by)
    else:
        found = _page(call, listing, rows, period, cursor, size=page.page_size)
    hints = found.pop("hints", None) or _explain_no_results(call, listing, found)
    ignored = listing.query.ignored
    if ignored:
        hints = [*hints, IGNORED.format(words=", ".join(ignored))]
    query_in = listing.query_in if call.arguments.get("query") else ()
    hints = [*hints, *listing.notes]
    return results.answer(
        call,
        searched={
            **listing.filters.shown,
            "query_in": [*query_in],
            "ignored_words": [*ignored],
        },
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
    is_past_keys = after is not None and after.keys[0] is None
    keyed = rows.filter(**{f"{order.key}__isnull": False})
    found = [] if is_past_keys else _list_keyed_rows(keyed, order, after, limit)
    if len(found) == limit:
        return found
    others = rows.filter(**{f"{order.key}__isnull": True})
    if after is not None and is_past_keys:
        others = others.filter(_cursor_condition(order.following, after.keys[1:]))
    return [*found, *others.order_by(*order.following)[: limit - len(found)]]


def _list_keyed_rows(
    rows: QuerySet[M], order: RowOrder, after: Cursor | None, limit: int
) -> list[M]:
    if after is not None:
        # The first condition is implied; an index finds the place by it.
        reached = _following_condition(order.by, after.keys[0], "e")
        rows = rows.filter(reached, _cursor_condition(order.columns, after.keys))
    return list(rows.order_by(*order.columns)[:limit])


def _cursor_condition(columns: Sequence[str], keys: Sequence[Any]) -> Q:
    """The condition that a row follows one with these keys: by the first column that differs."""
    (column, *columns), (key, *keys) = columns, keys
    follows = _following_condition(column, key)
    if not columns:
        return follows
    return follows | (Q(**{column.removeprefix("-"): key}) & _cursor_condition(columns, keys))


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
    everything = QueryPeriod(periods.ALL_TIME, None, None)
    return cursors.seal(call, Cursor(period or everything, order.keys_of(last)))


def _groups(listing: Listing[Any], rows: QuerySet[Any], group_by: str) -> dict[str, Any]:
    grouping, is_all = listing.groupings[group_by], True
    if listing.max_total is None:
        counts = groups.count_all(rows, grouping)
    else:
        ordered = rows.order_by(*listing.order.columns)
        counts, is_all = groups.count_first(ordered, grouping, MAX_GROUPED)
    other = counts.rows - sum(one["count"] for one in counts.groups)
    hints = [] if is_all else [NOT_ALL_GROUPED]
    if other and counts.distinct is not None:
        values = sum(one["value"] != groups.NONE for one in counts.groups)
        more = counts.distinct - values
        hints.append(OTHERS.format(other=other, noun=listing.noun, more=more, by=group_by))
    return {
        "groups": counts.groups,
        "total" if is_all else "at_least": counts.rows,
        "distinct": counts.distinct,
        "other": other or None,
        "hints": hints,
    }


def _explain_no_results(
    call: DataToolCall, listing: Listing[Any], found: Mapping[str, Any]
) -> list[str]:
    """Why nothing was found: what there is without each filter, and the values to choose from."""
    if found.get("items") or found.get("groups") or found.get("total"):
        return []
    if not listing.rows.exists():
        return [listing.why_none or f"No {listing.noun} were ever recorded."]
    hints = _count_without_each(call, listing)
    for argument, column in listing.known.items():
        if argument in listing.filters.conditions:
            hints.append(_list_known_values(call, argument, listing.rows, column))
    for argument, (tool, rows) in listing.elsewhere.items():
        if condition := listing.filters.conditions.get(argument):
            many = _count(listing, rows.filter(condition))
            if many != "0":
                hints.append(f"{tool} with this {argument}: {many}.")
    hints += [
        _name_values(what, wanted, values)
        for what, (wanted, values) in listing.filters.known.items()
        if values
    ]
    return hints


def _count_without_each(call: DataToolCall, listing: Listing[Any]) -> list[str]:
    """What there is without each filter; of one that is a default, only if there is something."""
    conditions = listing.filters.conditions
    left_out = {"period"} if listing.unindexed.intersection(conditions) else set()
    defaults = call.arguments.keys() - call.given
    return [
        f"Without {argument}: {many}."
        for argument in conditions
        if argument not in left_out
        and ((many := _count_without(listing, argument)) != "0" or argument not in defaults)
    ]


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
    sent = call.arguments[argument]
    wanted = sent if isinstance(sent, str) else ", ".join(sent)
    return _name_values(f"{known.quantity} values of {argument}", wanted, common)


def _name_values(what: str, value: str, known: Sequence[str]) -> str:
    """Known values, all of them or the nearest to this one."""
    near = [texts.line(one) for one in find_nearest_values(value, known)]
    all_of = f"; the nearest {len(near)} of {len(known)}" if len(near) < len(known) else ""
    return f"{what}: {', '.join(near)}{all_of}."
