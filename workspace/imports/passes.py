"""Goes through a file from its first row to its last: to check it, or to store it."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TypeVar

from django.db import connection

from workspace.bulk_writes import BATCH
from workspace.imports import companies, customers, reading, tickets
from workspace.imports.columns import CUSTOM, Column, Kind, Plan, Problem, Row, Seen, Unusable
from workspace.models import ImportKind, Organization

T = TypeVar("T")

KINDS: Final[Mapping[str, Kind]] = {
    ImportKind.CUSTOMERS: customers.KIND,
    ImportKind.COMPANIES: companies.KIND,
    ImportKind.TICKETS: tickets.KIND,
}
MAX_PROBLEMS: Final = 1_000
PREVIEWED: Final = 10
MAX_SHOWN: Final = 200
TURN: Final = 0x696D706F  # "impo": the advisory locks of imports, one for each organization


@dataclass(slots=True)
class Outcome:
    """What a file comes to. `problems` are the first of `problem_count`."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: int = 0
    problem_count: int = 0
    problems: list[Problem] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    preview: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.added + self.changed + self.unchanged + self.refused

    def __str__(self) -> str:
        return f"{self.added} added, {self.changed} changed, {self.unchanged} unchanged"

    def note(self, problems: Sequence[Problem]) -> None:
        self.problem_count += len(problems)
        self.problems += problems[: MAX_PROBLEMS - len(self.problems)]


def check(
    organization: Organization, kind: str, data: bytes, advance: Callable[[int], None]
) -> Outcome:
    """Returns what an import would do, or all that is wrong with the file; stores nothing.

    `advance` is called with the number of rows that have been read.
    """
    return _run(organization, KINDS[kind], data, advance, is_storing=False)


def store(
    organization: Organization, kind: str, data: bytes, advance: Callable[[int], None]
) -> Outcome:
    """Stores the rows of a file in the transaction that the caller has open.

    The caller has locked the imports of the organization. Raises Unusable, and then the caller
    rolls back.
    """
    outcome = _run(organization, KINDS[kind], data, advance, is_storing=True)
    if outcome.problem_count:
        raise Unusable(outcome.problems, outcome.problem_count)
    return outcome


def wait_for_others(organization: Organization) -> None:
    """Waits for another import into the organization: two would add the same row twice.

    Not by the row of the organization: an import takes long, and switches and memberships lock it.
    """
    _lock("SELECT pg_advisory_xact_lock(%s, %s)", organization)


def lock_or_leave(organization: Organization) -> bool:
    """As `wait_for_others`, without waiting; returns whether there is no other import."""
    return _lock("SELECT pg_try_advisory_xact_lock(%s, %s)", organization) is not False


def _lock(statement: str, organization: Organization) -> Any:
    # SQLite has one writer at a time.
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        key = zlib.crc32(organization.pk.bytes) - 2**31  # a signed integer of 32 bits
        cursor.execute(statement, [TURN, key])
        return cursor.fetchone()[0]


def _run(
    organization: Organization,
    kind: Kind,
    data: bytes,
    advance: Callable[[int], None],
    *,
    is_storing: bool,
) -> Outcome:
    outcome, seen = Outcome(), Seen()
    try:
        file = reading.open_file(kind, data)
        outcome.columns = [column.name for column in file.columns]
        for part in _parts(file.rows):
            read = [row for row in part if isinstance(row, Row)]
            planned = kind.plan(organization.pk, read, seen)
            _count(outcome, planned, part)
            if len(outcome.preview) < PREVIEWED:
                outcome.preview += _previewed(file.columns, read, planned)
                del outcome.preview[PREVIEWED:]
            if is_storing and not outcome.problem_count:
                kind.store(planned)
            advance(outcome.rows)
    except Unusable as unusable:
        outcome.note(unusable.problems)
    return outcome


def _count(outcome: Outcome, planned: Plan, part: Sequence[Row | list[Problem]]) -> None:
    results = [*planned.results.values()]
    outcome.added += results.count("new")
    outcome.changed += results.count("changed")
    outcome.unchanged += results.count("unchanged")
    outcome.refused += len(part) - len(results)
    found = [problem for row in part if not isinstance(row, Row) for problem in row]
    outcome.note(sorted([*found, *planned.problems], key=lambda problem: problem.line))


def _previewed(
    columns: Sequence[Column], rows: Sequence[Row], planned: Plan
) -> Iterator[Mapping[str, Any]]:
    """Yields the first rows as the table on the page shows them."""
    for row in rows[:PREVIEWED]:
        values = {**row.values, **{CUSTOM + name: value for name, value in row.custom.items()}}
        yield {
            "line": row.line,
            "result": planned.results.get(row.line, "refused"),
            "cells": [_shown(values.get(column.name)) for column in columns],
        }


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S UTC")
    if isinstance(value, date | Decimal):
        return str(value)
    text = str(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _parts(rows: Iterator[T]) -> Iterator[list[T]]:
    while part := list(islice(rows, BATCH)):
        yield part
