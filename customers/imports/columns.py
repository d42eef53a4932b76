"""What a file may contain: the columns of a kind of row, how a cell is read, and what is stored."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db.models import Model

from customers.identification import currencies, external_ids, field_values
from customers.identification.field_values import InvalidValue, Reader
from customers.identification.traits import AMOUNTS, CURRENCY
from customers.imports.formats import CellShape, Formats
from workspace.models import ImportKind

# Takes the text of a cell that is not empty, returns the typed value. Raises Refused.
CellReader: TypeAlias = Callable[[str], Any]

CUSTOM: Final = "custom."
MAX_CUSTOM_NAME: Final = 100
MAX_CUSTOM_VALUE: Final = 10_000
YES_AND_NO: Final = {"true": True, "yes": True, "false": False, "no": False}
# The characters of the category Cc, without line breaks and tabs in a column that may have them.
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
CONTROL_BUT_BREAKS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class CellProblem:
    """Why a cell is refused. Line 0 is the whole file, an empty column the whole row."""

    line: int
    column: str
    reason: str

    def __str__(self) -> str:
        place = ", ".join(filter(None, (f"Line {self.line}" if self.line else "", self.column)))
        return f"{place}: {self.reason}" if place else self.reason


class Unusable(Exception):
    """A file is refused and nothing was imported. `problems` are the first of `count`."""

    def __init__(self, problems: Sequence[CellProblem], count: int = 0) -> None:
        self.problems, self.count = problems, count or len(problems)
        super().__init__(f"{self.count} problems")


@dataclass(frozen=True, slots=True)
class ImportColumn:
    """A column of a file. `example` is its cell in the template file.

    `shape` is that of cells that files write in different ways: `read` gets the one form.
    """

    name: str
    read: CellReader
    example: str = ""
    shape: CellShape = CellShape.TEXT
    is_required: bool = False
    may_have_line_breaks: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """The typed cells of a line that are not empty; an empty cell changes nothing."""

    line: int
    values: Mapping[str, Any]
    custom: Mapping[str, str] = field(default_factory=dict)

    def text(self, column: str) -> str:
        """Returns the value of a column of text, or an empty text."""
        return str(self.values.get(column, ""))

    def some(self, columns: Sequence[str]) -> dict[str, Any]:
        """Returns the values of these columns, where the row has one."""
        return {name: self.values[name] for name in columns if name in self.values}


@dataclass(slots=True)
class ImportPlan:
    """What some rows of a file come to: rows to store, and cells that are refused.

    `results` are `new`, `changed` or `unchanged` by line. `after` stores what depends on the rows.
    """

    new: list[Any] = field(default_factory=list)
    changed: list[Any] = field(default_factory=list)
    results: dict[int, str] = field(default_factory=dict)
    problems: list[CellProblem] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    after: list[Callable[[], object]] = field(default_factory=list)

    def add(self, line: int, row: Model, *, is_new: bool, has_changed: bool) -> None:
        if is_new:
            self.new.append(row)
        elif has_changed:
            self.changed.append(row)
        self.results[line] = "new" if is_new else "changed" if has_changed else "unchanged"

    def refuse(self, line: int, column: str, reason: str) -> None:
        self.problems.append(CellProblem(line, column, reason))


@dataclass(slots=True)
class Seen:
    """What earlier rows of a file have named: their lines, by what they named.

    `before` has the external id and the email key that a customer had before the file, by id; both
    are empty for one that the file adds. `by_email` has ids by this email key.
    """

    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    before: dict[str, tuple[str, str]] = field(default_factory=dict)
    by_email: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def first(self, kind: str, key: str, line: int) -> int:
        """Returns the first line that named this; 0 if it is this one."""
        earlier = self.lines.setdefault((kind, key), line)
        return 0 if earlier == line else earlier


def state(row: Model) -> tuple[Any, ...]:
    """Returns the values of the columns, by which a change is noticed.

    When a trait was written is none: a file that says what is stored changes nothing.
    """
    return _state_getter(type(row))(row)


@cache
def _state_getter(model: type[Model]) -> Callable[[Model], tuple[Any, ...]]:
    names = [field.attname for field in model._meta.fields if field.attname != "trait_times"]
    return attrgetter(*names)


# Decides what some rows come to, with the existing rows locked if a transaction is open.
Planner: TypeAlias = Callable[[UUID, Sequence[Row], Seen], ImportPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A kind of file. A row has a value in at least one of the columns `named_by`.

    A column of `parts` may be written as several, which are joined with a space.
    """

    kind: ImportKind
    columns: tuple[ImportColumn, ...]
    named_by: tuple[str, ...]
    plan: Planner
    store: Callable[[ImportPlan], None]
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns_by_name(self) -> Mapping[str, ImportColumn]:
        return {column.name: column for column in self.columns}

    @property
    def targets(self) -> tuple[str, ...]:
        """Returns what a header may be, but for custom fields."""
        return (*self.columns_by_name, *(name for names in self.parts.values() for name in names))


def column_for(kind: FileKind, name: str) -> ImportColumn | None:
    """Returns the column of a header cell: a declared one, or a custom field; None for neither."""
    if name.lower() in kind.columns_by_name:
        return kind.columns_by_name[name.lower()]
    for whole, parts in kind.parts.items():
        if name.lower() in parts:
            return ImportColumn(name.lower(), kind.columns_by_name[whole].read)
    if not name.lower().startswith(CUSTOM):
        return None
    custom = name[len(CUSTOM) :].strip()
    if not custom or len(custom) > MAX_CUSTOM_NAME or custom.lower() in kind.columns_by_name:
        return None
    if CONTROL.search(custom):
        return None
    return ImportColumn(CUSTOM + custom, text(MAX_CUSTOM_VALUE))


@dataclass(frozen=True, slots=True)
class RowReader:
    """How the rows of one file are read. A column that is None is left out.

    `values` are other words for those of a column: of the product that wrote the file.
    """

    kind: FileKind
    columns: Sequence[ImportColumn | None]
    formats: Formats = field(default_factory=Formats)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def read(self, line: int, cells: Sequence[str]) -> Row | list[CellProblem]:
        """Returns the typed row, or all that is wrong with it. A row may lack its last cells."""
        if any(cells[len(self.columns) :]):
            reason = f"The row has {len(cells)} cells; expected {len(self.columns)}."
            return [CellProblem(line, "", reason)]
        values: dict[str, Any] = {}
        problems: list[CellProblem] = []
        given = {
            column.name: (column, self._word(column, cell))
            for column, cell in zip(self.columns, cells, strict=False)
            if column
        }
        for whole, parts in self.kind.parts.items():
            written = [given.pop(part) for part in parts if part in given]
            if joined := " ".join(cell for _, cell in written if cell):
                given[whole] = (self.kind.columns_by_name[whole], joined)
        if not any(given[name][1] for name in self.kind.named_by if name in given):
            either = " or ".join(f"an {name}" for name in self.kind.named_by)
            return [CellProblem(line, "", f"Enter {either}.")]
        problems += [
            CellProblem(line, column.name, "Enter a value.")
            for column in self.kind.columns
            if column.is_required and not given.get(column.name, ("", ""))[1]
        ]
        for name, (column, cell) in given.items():
            if not cell:
                continue
            try:
                values[name] = self._parse_cell(column, cell)
            except InvalidValue as refused:
                # The readers are those of the SDK API, which a program sends values to.
                reason = str(refused).replace("Send ", "Enter ", 1)
                problems.append(CellProblem(line, name, reason))
        if problems:
            return problems
        custom = {
            name[len(CUSTOM) :]: values.pop(name) for name in [*values] if name.startswith(CUSTOM)
        }
        if any(values.get(name) for name in AMOUNTS) and (
            foreign := currencies.describe_foreign(custom, self.formats.currency)
        ):
            return [CellProblem(line, f"{CUSTOM}{CURRENCY}", foreign.replace("Send", "Enter", 1))]
        return Row(line, values, custom)

    def _word(self, column: ImportColumn, cell: str) -> str:
        words = self.values.get(column.name)
        return words.get(cell.lower(), cell) if words else cell

    def _parse_cell(self, column: ImportColumn, cell: str) -> Any:
        if (CONTROL_BUT_BREAKS if column.may_have_line_breaks else CONTROL).search(cell):
            raise InvalidValue("Remove the line break or other control character.")
        normal = (
            self.formats.normalize(column.shape, cell) if column.shape != CellShape.TEXT else cell
        )
        value = column.read(normal)
        if column.shape == CellShape.MONEY:
            return currencies.round_amount(value, self.formats.currency)
        return value


def text(max_length: int) -> CellReader:
    return field_values.text(max_length)


def external_id(cell: str) -> str:
    return external_ids.parse_id(cell)


def email(cell: str) -> str:
    return str(field_values.email(cell))


def choice(read: Reader) -> CellReader:
    """Reads one of some words in any case."""
    return lambda cell: read(cell.lower())


def number(read: Reader) -> CellReader:
    """Reads a decimal number with a point, without separators of thousands: see `RowReader`."""

    def read_cell(cell: str) -> Any:
        return read(float(cell) if "." in cell else int(cell))

    return read_cell


def flag(cell: str) -> bool:
    if cell.lower() not in YES_AND_NO:
        raise InvalidValue("Enter true or false.")
    return YES_AND_NO[cell.lower()]


def time(cell: str) -> Any:
    """Reads an RFC 3339 time; `Formats` has made one of a day, which is its midnight."""
    return field_values.time(cell)


def sign_up_time(cell: str) -> Any:
    """Reads a time, as `time`, that is neither in the future nor absurdly early."""
    return field_values.check_happened(time(cell), field_values.FIRST_SIGN_UP)


def template_cells(kind: FileKind) -> Iterator[tuple[str, ...]]:
    """Yields the two rows of a template file: the names of the columns, and an example."""
    yield tuple(column.name for column in kind.columns)
    yield tuple(column.example for column in kind.columns)
