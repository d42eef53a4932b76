"""Query plans of statements, and the tables that a statement would read as a whole."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from django.db import connection
from django.db.models import Model
from psycopg import sql

from tests.drivers.statements import Statement

_names = count(1)


def whole_tables(statement: Statement) -> list[str]:
    """The tables, or indices, that the statement would read from end to end."""
    if connection.vendor == "sqlite":
        return [step for step in sqlite_steps(statement) if step.startswith("SCAN")]
    lasting = list(_walk(_lasting(statement)))
    steps = [*_walk(_for_these_values(statement)), *lasting]
    tables = [step["Relation Name"] for step in steps if step["Node Type"] == "Seq Scan"]
    # An index of few rows may be read whole once or twice, but not for good: with every change
    # that is under way, and every one since the last vacuum, it grows.
    whole = [step["Index Name"] for step in lasting if _reads_an_index_whole(step)]
    return [*tables, *whole]


def sqlite_steps(statement: Statement) -> list[str]:
    """How SQLite executes the statement, a text for each step."""
    rows = _fetch(f"EXPLAIN QUERY PLAN {statement.sql}", statement.values)
    return [str(row[-1]) for row in rows]


def index_conditions(statement: Statement) -> list[str]:
    """By what the statement searches the indexes that it uses, as the database writes it."""
    if connection.vendor == "sqlite":
        return [step for step in sqlite_steps(statement) if step.startswith("SEARCH")]
    steps = _walk(_for_these_values(statement))
    return [step["Index Cond"] for step in steps if "Index Cond" in step]


def index_names(statement: Statement) -> set[str]:
    """The indexes that PostgreSQL uses for the statement."""
    steps = _walk(_for_these_values(statement))
    return {step["Index Name"] for step in steps if "Index Name" in step}


def has_subplan(statement: Statement) -> bool:
    """Whether PostgreSQL executes a subquery of the statement for each row, and not before it."""
    steps = _walk(_for_these_values(statement))
    return any(step.get("Parent Relationship") == "SubPlan" for step in steps)


def start_empty(model: type[Model]) -> None:
    """Give a table files of its own for the transaction of this test.

    The rows that earlier tests rolled back stay in PostgreSQL's files until somebody vacuums, and
    tip what reading a small table costs.
    """
    if connection.vendor == "postgresql":
        _execute(f"TRUNCATE {model._meta.db_table} CASCADE")


def gather_statistics() -> None:
    """What autovacuum would have done by the time that the tables are this large.

    Nobody does it for SQLite, so its plans are made without.
    """
    if connection.vendor == "postgresql":
        _execute("ANALYZE")


def _reads_an_index_whole(step: dict[str, Any]) -> bool:
    return "Index Name" in step and "Index Cond" not in step


def _for_these_values(statement: Statement) -> dict[str, Any]:
    explained = _fetch(f"EXPLAIN (FORMAT JSON) {statement.sql}", statement.values)
    return _plan(explained)


def _lasting(statement: Statement) -> dict[str, Any]:
    """The plan that a prepared statement keeps once it no longer looks at the values."""
    name = sql.Identifier(f"plan_{next(_names)}")
    marks = [f"${number}" for number in range(1, len(statement.values) + 1)]
    numbered = sql.SQL(statement.sql.replace("%s", "{}")).format(*map(sql.SQL, marks))
    _execute("SET LOCAL plan_cache_mode = force_generic_plan")
    _execute(sql.SQL("PREPARE {} AS {}").format(name, numbered))
    values = sql.SQL(", ").join(map(sql.Literal, statement.values))
    explained = _fetch(sql.SQL("EXPLAIN (FORMAT JSON) EXECUTE {} ({})").format(name, values))
    _execute(sql.SQL("DEALLOCATE {}").format(name))
    _execute("SET LOCAL plan_cache_mode = auto")
    return _plan(explained)


def _plan(explained: list[Any]) -> dict[str, Any]:
    (row,) = explained
    # Django reads JSON as text, a connection of one's own reads it as what it says.
    read = json.loads(row[0]) if isinstance(row[0], str) else row[0]
    plan: dict[str, Any] = read[0]["Plan"]
    return plan


def _walk(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from _walk(inner)


def _execute(command: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(command)


def _fetch(command: Any, values: tuple[Any, ...] = ()) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(command, values or None)
        return list(cursor.fetchall())
