"""Reads CSV files as spreadsheets write them, a row at a time."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from workspace.imports.columns import (
    CUSTOM,
    Column,
    Kind,
    Problem,
    Row,
    Unusable,
    column_for,
    read_row,
)

MAX_BYTES: Final = 16 * 1_048_576
MAX_ROWS: Final = 100_000
MAX_COLUMNS: Final = 200
NOT_UTF8: Final = "The file is not UTF-8. Save it as “CSV UTF-8”."
FIRST_LINE: Final = 65_536

Lines: TypeAlias = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True, slots=True)
class File:
    """A file whose header is valid. `columns` are in its order."""

    columns: tuple[Column, ...]
    rows: Iterator[Row | list[Problem]]


def open_file(kind: Kind, data: bytes) -> File:
    """Returns the columns and rows of a file. Raises Unusable, also while rows are read.

    Rows are decoded while they are read, so that memory holds one at a time.
    """
    if len(data) > MAX_BYTES:
        text = f"The file is larger than {MAX_BYTES // 1_048_576} MB. Split it."
        raise Unusable([Problem(0, "", text)])
    lines = _lines(data)
    columns = _columns(kind, *next(lines, (0, [])))
    return File(columns, _rows(kind, columns, lines))


def count_lines(data: bytes) -> int:
    """Returns about how many rows a file has; quoted line breaks count too."""
    return min(max(0, data.count(b"\n") - data.endswith(b"\n")), MAX_ROWS)


def _rows(kind: Kind, columns: Sequence[Column], lines: Lines) -> Iterator[Row | list[Problem]]:
    named = [place for place, column in enumerate(columns) if column.name in kind.named_by]
    for line, cells in islice(lines, MAX_ROWS):
        if len(cells) != len(columns):
            reason = f"The row has {len(cells)} cells; expected {len(columns)}."
            yield [Problem(line, "", reason)]
        elif not any(cells[place] for place in named):
            yield [Problem(line, "", f"Enter {_either(kind)}.")]
        else:
            yield read_row(columns, line, cells)
    if next(lines, None):
        text = f"The file has more than {MAX_ROWS} rows. Split it."
        raise Unusable([Problem(0, "", text)])


def _lines(data: bytes) -> Lines:
    """Yields the rows that are not empty, each with the number of its last line."""
    # Spreadsheets write semicolons if the comma is the decimal separator.
    first = data[:FIRST_LINE].partition(b"\n")[0]
    delimiter = ";" if b";" in first and b"," not in first else ","
    # newline="" keeps the line breaks in quoted cells as they are.
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except UnicodeDecodeError:
        raise Unusable([Problem(0, "", NOT_UTF8)]) from None
    except csv.Error as error:
        reason = f"This is not a CSV file: {error}."
        raise Unusable([Problem(reader.line_num, "", reason)]) from None


def _columns(kind: Kind, line: int, head: Sequence[str]) -> tuple[Column, ...]:
    found = [(name, column_for(kind, name)) for name in head]
    problems = [Problem(line, "", _unknown(kind, name)) for name, column in found if not column]
    names = [column.name for _, column in found if column]
    problems += [
        Problem(line, name, "The column is there twice.")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if not {*names} & {*kind.named_by}:
        problems.append(Problem(line, "", f"A column {_either(kind, '')} is required."))
    problems += [
        Problem(line, "", f"A column {column.name} is required.")
        for column in kind.columns
        if column.is_required and column.name not in {*names, *kind.named_by}
    ]
    if len(head) > MAX_COLUMNS:
        problems = [Problem(line, "", f"The file has more than {MAX_COLUMNS} columns.")]
    if problems:
        raise Unusable(problems)
    return tuple(column for _, column in found if column)


def _unknown(kind: Kind, name: str) -> str:
    shown = name[:60]
    if shown.lower().startswith(CUSTOM):
        return f"“{shown}” cannot be the name of a custom field."
    known = ", ".join(kind.by_name)
    hint = f" To keep it as a custom field, name it {CUSTOM}{shown}." if shown else ""
    return f"Unknown column “{shown}”.{hint} Columns: {known}."


def _either(kind: Kind, article: str = "an ") -> str:
    return " or ".join(article + name for name in kind.named_by)
