"""A file of customers: CSV as spreadsheets write it, read whole before any of it counts."""

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from workspace import customers
from workspace.models import Customer

# A page takes no larger body, and rows are written in one transaction.
MOST_BYTES: Final = 1_000_000
MOST_ROWS: Final = 10_000
COLUMNS: Final = ("external_id", "email", "name", *customers.VENDOR_IDS)
NAMING: Final = ("external_id", "email")
LONGEST: Final = {
    column.name: column.max_length
    for column in Customer._meta.concrete_fields
    if column.name in COLUMNS
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file, and on which line; line 0 is the file itself."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"Line {self.line}: {self.text}" if self.line else self.text


class Unusable(Exception):
    """Nothing of the file was taken. `problems` are in the order of its lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row. A cell that is empty, or whose column is not there, says nothing."""

    line: int
    external_id: str = ""
    email: str = ""
    name: str = ""
    vendor_ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def email_key(self) -> str:
        return customers.folded(self.email)


def parse(data: bytes) -> list[Entry]:
    """The rows of a file. Raises Unusable with everything that is wrong with it."""
    head, *rows = _records(_text(data)) or [(0, [])]
    columns = _columns(*head)
    if len(rows) > MOST_ROWS:
        raise Unusable([Problem(0, f"The file has more than {MOST_ROWS} rows. Divide it.")])
    problems = [Problem(line, text) for line, row in rows for text in _wrong(columns, row)]
    if problems:
        raise Unusable(problems)
    entries = [_entry(line, dict(zip(columns, row, strict=True))) for line, row in rows]
    repeated = list(_repeated(entries))
    if repeated:
        raise Unusable(sorted(repeated, key=lambda problem: problem.line))
    return entries


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise Unusable([Problem(0, f"The file is larger than {MOST_BYTES} bytes. Divide it.")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unusable([Problem(0, "The file is not UTF-8. Save it as “CSV UTF-8”.")]) from error


def _records(text: str) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its last line."""
    # Spreadsheets write semicolons where the comma parts a number's decimals.
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise Unusable([Problem(reader.line_num, f"This is no CSV: {error}.")]) from error
    return [(line, row) for line, row in rows if any(row)]


def _columns(line: int, head: Sequence[str]) -> list[str]:
    names = [name.lower() for name in head]
    problems = [
        Problem(line, f"There is no column {name[:60]!r}. There are: {', '.join(COLUMNS)}.")
        for name in names
        if name not in COLUMNS
    ]
    if len({*names}) < len(names):
        problems.append(Problem(line, "A column stands there twice."))
    if not {*names} & {*NAMING}:
        problems.append(Problem(line, "A column external_id or email is needed."))
    if problems:
        raise Unusable(problems)
    return names


def _wrong(columns: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    if len(row) != len(columns):
        yield f"{len(row)} cells under {len(columns)} columns."
        return
    cells = dict(zip(columns, row, strict=True))
    if not any(cells.get(name) for name in NAMING):
        yield "Neither external_id nor email."
    for name, cell in cells.items():
        if cell:
            yield from _wrong_cell(name, cell)


def _wrong_cell(name: str, cell: str) -> Iterator[str]:
    vendor, longest = customers.VENDOR_IDS.get(name), LONGEST.get(name)
    if any(unicodedata.category(character) == "Cc" for character in cell):
        yield f"{name} holds a line break or another control character."
    elif longest and len(cell) > longest:
        yield f"{name} is longer than {longest} characters."
    elif vendor and not vendor.pattern.fullmatch(cell):
        yield f"{name} is no id of that vendor. {vendor.shape}"
    elif name == "email" and not _is_email(cell):
        yield "email is no e-mail address."


def _is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def _entry(line: int, cells: Mapping[str, str]) -> Entry:
    own = {name: cell for name, cell in cells.items() if name not in customers.VENDOR_IDS}
    vendor_ids = {name: cell for name, cell in cells.items() if name not in own and cell}
    return Entry(line=line, vendor_ids=vendor_ids, **own)


def _repeated(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Rows that cannot be told from another of the same file."""
    by_id: dict[str, int] = {}
    by_email: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.external_id in by_id:
            first = by_id[entry.external_id]
            yield Problem(entry.line, f"The external_id stands on line {first} already.")
        elif entry.external_id:
            by_id[entry.external_id] = entry.line
        if entry.email:
            by_email[entry.email_key].append(entry)
    for sharing in by_email.values():
        unnamed = [entry for entry in sharing if not entry.external_id]
        if unnamed and len(sharing) > 1:
            others = ", ".join(str(each.line) for each in sharing[:5] if each is not unnamed[-1])
            text = f"The email stands on line {others} too. Give each an external_id."
            yield Problem(unnamed[-1].line, text)
