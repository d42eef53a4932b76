"""Finds the newest audit rows that match conditions, without reading the whole table.

No index serves every combination of filters. So each statement here reads one index backwards from
its newest entry, at most `LOOKED_AT` rows of it, and applies the other conditions to those rows
only. If the search ends at that limit, the caller learns from which row to continue. Of the indexes
that fit, the one whose limited part reaches back furthest is used.

The statement is written so that no other index can serve it: `(column, id)` is compared and ordered
as one value. With `column = value ORDER BY id` PostgreSQL may read the primary key instead, and
with it most of the table if the value is rare.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import Col
from django.db.models.lookups import Exact, GreaterThanOrEqual, In, LessThan
from django.db.models.sql.where import OR, WhereNode

from audit.models import ActionExecution

LOOKED_AT: Final = 5_000
SMALLEST, GREATEST = UUID(int=0), UUID(int=(1 << 128) - 1)
# The columns with an index of (column, id), and the value that a partial index leaves out. The
# value is a literal in SQL: with a parameter, no database uses a partial index.
LEFT_OUT: Final = {
    "organization_id": None,
    "authorization_id": None,
    "request_id": None,
    "client_id": None,
    "user_email": None,
    "integration": "",
    "outcome": "success",
    "reason": "",
    "actor_kind": "mcp_client",
}
TABLE: Final = ActionExecution._meta.db_table
# The columns that a condition may compare. `tool` and `surface` have no index: they are filtered in
# the rows of another condition or of the time range.
COMPARED: Final = (*LEFT_OUT, "tool", "surface")
_READ: Final = ", ".join(("id", "client_name", *COMPARED))

# One value of one indexed column. None is the primary key, which contains every row.
Branch: TypeAlias = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class MatchingKeys:
    """The matching rows, newest first, at most as many as requested.

    `has_more`: there are older matches. `continue_from`: the search ended at its limit before it
    had that many; rows with smaller keys were not read.
    """

    keys: Sequence[UUID] = ()
    has_more: bool = False
    continue_from: UUID | None = None


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of a queryset: of each set in `indexed`, one value must match.

    `others` counts the conditions without an index.
    """

    low: UUID
    high: UUID
    indexed: tuple[tuple[Branch, ...], ...]
    others: int = 0
    is_empty: bool = False

    @property
    def plain(self) -> tuple[Branch, ...] | None:
        """The index to read if every row in it matches; None if rows have to be filtered."""
        if len(self.indexed) + self.others > 1:
            return None
        return self.indexed[0] if self.indexed else None if self.others else (None,)


def newest(rows: QuerySet[ActionExecution], limit: int) -> MatchingKeys:
    """Returns the newest rows of this queryset: one statement, or two if it has conditions.

    The conditions may compare the columns of `COMPARED` with values, and the key with bounds.
    """
    if rows.query.is_empty():
        return MatchingKeys()
    asked = _conditions(rows)
    if asked.is_empty:
        return MatchingKeys()
    if asked.plain:
        keys = _matching(rows, _walks(asked, asked.plain, limit + 1), None, limit + 1)
        return MatchingKeys(keys[:limit], has_more=len(keys) > limit)
    branches, floor = _widest(asked)
    walks = _walks(asked, branches, _share(branches))
    keys = _matching(rows, walks, floor, limit + 1)
    if len(keys) > limit:
        return MatchingKeys(keys[:limit], has_more=True)
    return MatchingKeys(keys, continue_from=floor)


def recent_values(rows: QuerySet[ActionExecution], columns: Sequence[str], among: int) -> Any:
    """Returns the distinct values of these columns in about `among` of the newest rows."""
    asked = _conditions(rows)
    if asked.is_empty:
        return []
    branches = asked.indexed[0] if asked.indexed else (None,)
    inner, values = _walks(asked, branches, max(among // len(branches), 1))
    return _fetch(f"SELECT DISTINCT {', '.join(columns)} FROM ({inner}) AS recent", values)  # noqa: S608  our names


def span(rows: QuerySet[ActionExecution]) -> tuple[datetime, datetime] | None:
    """Returns when the oldest and the newest row of this queryset were written, or None."""
    asked = _conditions(rows)
    branches = asked.indexed[0] if asked.indexed else (None,)
    if asked.is_empty:
        return None
    ends = [
        _walk(asked, branch, ("id",), "ASC" if first else "DESC", "LIMIT 1")
        for branch in branches
        for first in (True, False)
    ]
    (row,) = _fetch(f"SELECT {', '.join(f'({sql})' for sql, _ in ends)}", _join_values(ends))
    keys = [UUID(str(key)) for key in row if key is not None]
    return (moment(min(keys)), moment(max(keys))) if keys else None


def moment(key: UUID) -> datetime:
    """Returns the time of a key, to the millisecond (RFC 9562 section 5.7)."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, UTC)


def _conditions(rows: QuerySet[ActionExecution]) -> _Conditions:
    low, high = SMALLEST, GREATEST
    indexed: list[tuple[Branch, ...]] = []
    others, is_empty = 0, False
    for one in _parts(rows.query.where):
        if isinstance(one, GreaterThanOrEqual) and _column(one) == "id":
            low = max(low, one.rhs)
        elif isinstance(one, LessThan) and _column(one) == "id":
            high = min(high, one.rhs)
        else:
            branches = tuple(dict.fromkeys(_branches(one)))
            is_empty = is_empty or not branches
            if all(map(_has_index, branches)):
                indexed.append(branches)
            else:
                others += 1
    return _Conditions(low, high, tuple(indexed), others, is_empty)


def _parts(where: WhereNode) -> Iterator[Any]:
    """Yields the conditions that are combined with AND."""
    for child in where.children:
        if isinstance(child, WhereNode) and not child.negated and child.connector != OR:
            yield from _parts(child)
        else:
            yield child


def _branches(condition: Any) -> Iterator[tuple[str, str]]:
    """Yields the values of which one has to match. Raises TypeError for other conditions."""
    if isinstance(condition, WhereNode) and not condition.negated and condition.connector == OR:
        for child in condition.children:
            yield from _branches(child)
    elif isinstance(condition, Exact | In) and _column(condition) in COMPARED:
        values = [condition.rhs] if isinstance(condition, Exact) else condition.rhs
        yield from ((_column(condition), str(value)) for value in values)
    else:
        raise TypeError(f"The audit list has no bounded way to look for {condition!r}.")


def _column(condition: Any) -> str:
    return str(condition.lhs.target.column) if isinstance(condition.lhs, Col) else ""


def _has_index(branch: Branch) -> bool:
    if branch is None:
        return True
    column, value = branch
    return column in LEFT_OUT and value != LEFT_OUT[column]


def _widest(asked: _Conditions) -> tuple[tuple[Branch, ...], UUID | None]:
    """Returns the branches to read, and the last row within the limit (None for the oldest)."""
    candidates = [*asked.indexed, (None,)]
    bounds = [
        _walk(asked, branch, ("id",), "DESC", f"LIMIT 1 OFFSET {_share(branches) - 1}")
        for branches in candidates
        for branch in branches
    ]
    (row,) = _fetch(f"SELECT {', '.join(f'({sql})' for sql, _ in bounds)}", _join_values(bounds))
    found = iter([SMALLEST if key is None else UUID(str(key)) for key in row])
    # For older keys than the newest end, one of the branches was not read.
    floors = [max(next(found) for _ in branches) for branches in candidates]
    at = floors.index(min(floors))
    return candidates[at], None if floors[at] == SMALLEST else floors[at]


def _share(branches: Sequence[Branch]) -> int:
    return max(LOOKED_AT // len(branches), 1)


def _matching(
    rows: QuerySet[ActionExecution],
    walks: tuple[str, tuple[Any, ...]],
    floor: UUID | None,
    limit: int,
) -> list[UUID]:
    inner, values = walks
    # With the table's own name, so that the queryset's conditions are valid.
    compiler = rows.query.get_compiler(connection=connection)
    where, more = compiler.compile(rows.query.where) if rows.query.where else ("1 = 1", ())
    # One branch is in order already, and the statement stops at the last row needed. Several have
    # to be merged, and a row that matches two of them is returned once.
    distinct, order = ("DISTINCT", "ORDER BY id DESC") if "UNION" in inner else ("", "")
    sql = (
        f"SELECT {distinct} id FROM ({inner}) AS {TABLE}"  # noqa: S608  our names
        f" WHERE {where} AND id >= %s {order} LIMIT {limit}"
    )
    found = _fetch(sql, (*values, *more, _prepare_key(floor or SMALLEST)))
    return [UUID(str(key)) for (key,) in found]


def _walks(
    asked: _Conditions, branches: Sequence[Branch], each: int
) -> tuple[str, tuple[Any, ...]]:
    """Returns SQL for the newest `each` rows of each branch."""
    walks = [_walk(asked, branch, (_READ,), "DESC", f"LIMIT {each}") for branch in branches]
    if len(walks) == 1:
        return walks[0]
    union = " UNION ALL ".join(
        f"SELECT * FROM ({sql}) AS branch_{number}"  # noqa: S608  our names
        for number, (sql, _) in enumerate(walks)
    )
    return union, _join_values(walks)


def _walk(
    asked: _Conditions, branch: Branch, columns: Sequence[str], order: str, limit: str
) -> tuple[str, tuple[Any, ...]]:
    selected = f"SELECT {', '.join(columns)} FROM {TABLE}"  # noqa: S608  our names
    low, high = _prepare_key(asked.low), _prepare_key(asked.high)
    if branch is None:
        return f"{selected} WHERE id >= %s AND id < %s ORDER BY id {order} {limit}", (low, high)
    column, value = branch
    left_out = LEFT_OUT[column]
    partial = "" if left_out is None else f" AND NOT ({column} = '{left_out}')"
    sql = (
        f"{selected} WHERE ({column}, id) >= (%s, %s) AND ({column}, id) < (%s, %s){partial}"
        f" ORDER BY {column} {order}, id {order} {limit}"
    )
    return sql, (value, low, value, high)


def _join_values(parts: Sequence[tuple[str, tuple[Any, ...]]]) -> tuple[Any, ...]:
    return tuple(value for _, values in parts for value in values)


def _prepare_key(key: UUID) -> Any:
    return ActionExecution._meta.pk.get_db_prep_value(key, connection)


def _fetch(sql: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
