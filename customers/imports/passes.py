"""Goes through a file from its first row to its last: to check it, or to store it."""

import csv
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from django.db import connection

from customers.bulk_writes import BATCH
from customers.imports import companies, customers, reading, tickets
from customers.imports.choices import Guess
from customers.imports.columns import (
    CUSTOM,
    CellProblem,
    FileKind,
    ImportPlan,
    Row,
    Seen,
    Unusable,
)
from customers.imports.inspection import InspectedLine, Inspection
from foundation.spreadsheets import escape_cell
from workspace.models import ImportKind, Organization

T = TypeVar("T")

KINDS: Final[Mapping[str, FileKind]] = {
    ImportKind.CUSTOMERS: customers.KIND,
    ImportKind.COMPANIES: companies.KIND,
    ImportKind.TICKETS: tickets.KIND,
}
MAX_PROBLEMS: Final = 1_000
PREVIEWED: Final = 10
MAX_SHOWN: Final = 200
TURN: Final = 0x696D706F  # "impo": the advisory locks of imports, one for each organization


class Unclear(Exception):
    """A file can be read in several ways. `questions` are what a person has to choose."""

    def __init__(self, questions: Sequence[Guess], problems: Sequence[CellProblem]) -> None:
        super().__init__(f"{len(questions)} questions")
        self.questions, self.problems = questions, problems


@dataclass(slots=True)
class ImportOutcome:
    """What a file comes to. `problems` are the first of `problem_count`.

    `refused_rows` are those rows as a CSV file, unless a problem concerns the file as a whole.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: int = 0
    problem_count: int = 0
    problems: list[CellProblem] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    preview: list[Mapping[str, Any]] = field(default_factory=list)
    refused_rows: bytes | None = None

    @property
    def rows(self) -> int:
        return self.added + self.changed + self.unchanged + self.refused

    def __str__(self) -> str:
        return f"{self.added} added, {self.changed} changed, {self.unchanged} unchanged"

    def note(self, problems: Sequence[CellProblem]) -> None:
        self.problem_count += len(problems)
        self.problems += problems[: MAX_PROBLEMS - len(self.problems)]


def check(
    organization: Organization, inspected: Inspection, advance: Callable[[int], None]
) -> ImportOutcome:
    """Returns what an import would do, or all that is wrong with the file; stores nothing.

    `advance` is called with the number of rows that have been read. Raises Unclear.
    """
    return _run(organization, inspected, advance, is_storing=False)


def store(
    organization: Organization,
    inspected: Inspection,
    advance: Callable[[int], None],
    *,
    without_refused: bool = False,
) -> ImportOutcome:
    """Stores the rows of a file in the transaction that the caller has open.

    The caller has locked the imports of the organization. Raises Unusable if a row is refused, but
    `without_refused` stores the others; raises Unclear. Then the caller rolls back.
    """
    outcome = _run(organization, inspected, advance, is_storing=True, skips=without_refused)
    is_whole = outcome.problem_count and not (without_refused and outcome.refused_rows is not None)
    if is_whole:
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
    inspected: Inspection,
    advance: Callable[[int], None],
    *,
    is_storing: bool,
    skips: bool = False,
) -> ImportOutcome:
    if inspected.questions:
        raise Unclear(inspected.questions, inspected.problems)
    outcome, seen = ImportOutcome(), Seen()
    outcome.columns = [column.name for column in inspected.columns]
    outcome.note(inspected.problems)
    if inspected.problems:
        return outcome
    refused = _RefusedRows(inspected)
    try:
        for part in _parts(inspected.read_rows()):
            read = [line.read for line in part if isinstance(line.read, Row)]
            planned = inspected.kind.plan(organization.pk, read, seen)
            _count(outcome, planned, part)
            refused.add(part, planned)
            if len(outcome.preview) < PREVIEWED:
                outcome.preview += _preview_rows(inspected, read, planned)
                del outcome.preview[PREVIEWED:]
            if is_storing and (skips or not outcome.problem_count):
                inspected.kind.store(planned)
            advance(outcome.rows)
    except Unusable as unusable:
        outcome.note(unusable.problems)
    else:
        outcome.refused_rows = refused.content
    return outcome


class _RefusedRows:
    """Collects the rows that are refused as a CSV file, with the reasons in its last column.

    `reading.read_lines` reads its cells as they were in the file that was uploaded.
    """

    def __init__(self, inspected: Inspection) -> None:
        self._text = io.StringIO()
        self._rows = csv.writer(self._text)
        self._width = len(inspected.headers)
        names = [header.name if header.is_named else "" for header in inspected.headers]
        self._write((*names, *reading.REFUSED_COLUMNS))
        self.is_empty = True

    def add(self, part: Sequence[InspectedLine], planned: ImportPlan) -> None:
        if len(planned.results) == len(part):
            return
        reasons: dict[int, list[CellProblem]] = {}
        for problem in planned.problems:
            reasons.setdefault(problem.line, []).append(problem)
        for line in part:
            if line.line in planned.results:
                continue
            found = line.read if isinstance(line.read, list) else reasons.get(line.line, [])
            why = "; ".join(f"{each.column}: {each.reason}".removeprefix(": ") for each in found)
            cells = [*line.cells, *[""] * (self._width - len(line.cells))]
            self._write((*cells, str(line.line), why))
            self.is_empty = False

    def _write(self, cells: Sequence[str]) -> None:
        self._rows.writerow([escape_cell(cell) for cell in cells])

    @property
    def content(self) -> bytes:
        """Returns the file, or nothing without a refused row."""
        return b"" if self.is_empty else self._text.getvalue().encode()


def _count(outcome: ImportOutcome, planned: ImportPlan, part: Sequence[InspectedLine]) -> None:
    results = Counter(planned.results.values())
    outcome.added += results["new"]
    outcome.changed += results["changed"]
    outcome.unchanged += results["unchanged"]
    outcome.refused += len(part) - len(planned.results)
    found = [problem for line in part if isinstance(line.read, list) for problem in line.read]
    outcome.note(sorted([*found, *planned.problems], key=lambda problem: problem.line))


def _preview_rows(
    inspected: Inspection, rows: Sequence[Row], planned: ImportPlan
) -> Iterator[Mapping[str, Any]]:
    """Yields the first rows as the table on the page shows them, with times in the file's zone."""
    zone = inspected.reader.formats.zone if inspected.reader else "UTC"
    for row in rows[:PREVIEWED]:
        values = {**row.values, **{CUSTOM + name: value for name, value in row.custom.items()}}
        yield {
            "line": row.line,
            "result": planned.results.get(row.line, "refused"),
            "cells": [_format_cell(values.get(each.name), zone) for each in inspected.columns],
        }


def _format_cell(value: Any, zone: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f"{value.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S} {zone}"
    if isinstance(value, date | Decimal):
        return str(value)
    text = str(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _parts(rows: Iterator[T]) -> Iterator[list[T]]:
    while part := list(islice(rows, BATCH)):
        yield part
