"""Counts by a value of rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from django.db.models import Count, Expression, F, Func, IntegerField, QuerySet, Value
from django.db.models.functions import TruncDate

from data_tools.query import results
from data_tools.query.texts import cut
from tools_registry.api import Json

N = TypeVar("N", int, float)

MAX_GROUPS: Final = 50
MAX_VALUE: Final = 200
# Of values that are counted together if they differ in case only; the rarest of more are left out.
MAX_SPELLINGS: Final = 2_000
# The value of rows that have none.
NONE: Final = "(none)"


def as_text(values: Sequence[Any]) -> Mapping[Any, Json]:
    """Shows each value as text."""
    return {value: cut(str(value), MAX_VALUE) for value in values}


@dataclass(frozen=True, slots=True)
class Grouping:
    """What rows are counted by; `shown` returns how each of the values is shown.

    With `ignores_case`, values that differ in case only are counted together.
    """

    by: Expression | F
    shown: Callable[[Sequence[Any]], Mapping[Any, Json]] = as_text
    ignores_case: bool = False


def column(name: str) -> Grouping:
    """Counts by the value of a column."""
    return Grouping(F(name))


def text_column(name: str) -> Grouping:
    """Counts by the text of a column in any case, as `Filters.add_ignoring_case` finds it."""
    return Grouping(F(name), ignores_case=True)


def reference(
    name: str, rows: QuerySet[Any], show: Callable[[Any], Json] = results.reference
) -> Grouping:
    """Counts by the row that a column refers to; `rows` are those that the caller may read."""

    def show_rows(ids: Sequence[Any]) -> Mapping[Any, Json]:
        return {row.pk: show(row) for row in rows.filter(pk__in=ids)}

    return Grouping(F(f"{name}_id"), show_rows)


def day(name: str, zone: ZoneInfo) -> Grouping:
    """Counts by the day of a column of times."""
    return Grouping(TruncDate(name, tzinfo=zone))


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The largest groups, or the latest days, and how many rows and values all groups have.

    `distinct` is the number of different values, without that of rows that have none; None if it
    is not known.
    """

    groups: list[dict[str, Json]]
    rows: int
    distinct: int | None = None


def count_all(rows: QuerySet[Any], grouping: Grouping) -> GroupCounts:
    """Returns the groups of all rows."""
    counts = _counts(rows, grouping)
    if not counts:
        return GroupCounts([], 0, 0)
    by_value: list[tuple[Any, int]] = [(value, many) for value, many, *_ in counts]
    *_, whole, distinct = counts[0]
    if grouping.ignores_case:
        is_all = len(by_value) < MAX_SPELLINGS
        by_value = add_cases_up(by_value)
        distinct = sum(not _is_none(value) for value, _ in by_value) if is_all else None
    return GroupCounts(_format_counts(by_value[:MAX_GROUPS], grouping), whole, distinct)


def count_first(rows: QuerySet[Any], grouping: Grouping, limit: int) -> tuple[GroupCounts, bool]:
    """Returns the groups of the first `limit` rows, and if those are all rows."""
    found = rows.annotate(group_value=grouping.by).values_list("group_value", flat=True)
    values = list(found[: limit + 1])
    counts = [*Counter(values[:limit]).items()]
    if grouping.ignores_case:
        counts = add_cases_up(counts)
    if isinstance(grouping.by, TruncDate):
        ordered = sorted(counts, key=lambda one: str(one[0] or ""), reverse=True)
    else:
        ordered = sorted(counts, key=_largest_first)
    shown = _format_counts(ordered[:MAX_GROUPS], grouping)
    distinct = sum(not _is_none(value) for value, _ in ordered)
    is_all = len(values) <= limit
    found = GroupCounts(shown, min(len(values), limit), distinct if is_all else None)
    return found, is_all


def add_cases_up(counts: Iterable[tuple[Any, N]]) -> list[tuple[Any, N]]:
    """Returns one count for texts that differ in case only, with the most frequent one of them."""
    texts: dict[Any, Any] = {}
    total: dict[Any, N] = {}
    for value, many in sorted(counts, key=_largest_first):
        key = value.lower() if isinstance(value, str) else value
        text = texts.setdefault(key, value)
        total[text] = total[text] + many if text in total else many
    return sorted(total.items(), key=_largest_first)


def _largest_first(count: tuple[Any, float]) -> tuple[float, str]:
    value, many = count
    return -many, str(value)


def _format_counts(counts: Sequence[tuple[Any, int]], grouping: Grouping) -> list[dict[str, Json]]:
    shown = grouping.shown([value for value, _ in counts if not _is_none(value)])
    return [
        {"value": NONE if _is_none(value) else shown.get(value, str(value)), "count": many}
        for value, many in counts
    ]


class _Whole(Func):
    """The rows of all groups, those that LIMIT leaves out too: the table is read only once."""

    template = "CAST(SUM(COUNT(*)) OVER () AS BIGINT)"
    contains_aggregate = True
    output_field = IntegerField()


class _Distinct(Func):
    """The number of groups with a value, those that LIMIT leaves out too."""

    template = "COUNT(NULLIF(CAST(%(expressions)s AS TEXT), '')) OVER ()"
    contains_aggregate = True
    output_field = IntegerField()


def _counts(rows: QuerySet[Any], grouping: Grouping) -> list[tuple[Any, int, int, int | None]]:
    order = ("-group_value",) if isinstance(grouping.by, TruncDate) else ("-many", "group_value")
    grouped = rows.order_by().annotate(group_value=grouping.by).values("group_value")
    # Of rows, not of ids: those need not be read.
    # PostgreSQL takes an expression with parameters for another one than that it groups by.
    is_column = isinstance(grouping.by, F)
    distinct = _Distinct(F("group_value")) if is_column else Value(None, IntegerField())
    counts = grouped.annotate(many=Count("*"), whole=_Whole(), distinct=distinct).order_by(*order)
    limit = MAX_SPELLINGS if grouping.ignores_case else MAX_GROUPS
    return list(counts.values_list("group_value", "many", "whole", "distinct")[:limit])


def _is_none(value: Any) -> bool:
    return value is None or value == ""
