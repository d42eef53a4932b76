"""Looks through a whole file before its rows are read: how it is written, and what is unclear."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from customers.imports import mapping, reading
from customers.imports.choices import Choices, Guess
from customers.imports.columns import (
    CellProblem,
    FileKind,
    ImportColumn,
    Row,
    RowReader,
    Unusable,
    column_for,
)
from customers.imports.formats import (
    DATES,
    NUMBERS,
    CellShape,
    DateOrder,
    Evidence,
    Formats,
    NumberFormat,
    describe_date,
    describe_number,
    find_zone,
    is_day,
)
from customers.imports.mapping import Header
from workspace.models import Organization
from workspace.models.people import available_time_zones

SAMPLES: Final = 20
NUMBER_LABELS: Final = {
    NumberFormat.POINT: "Decimal point",
    NumberFormat.COMMA: "Decimal comma",
}
DATE_LABELS: Final = {
    DateOrder.DAY_FIRST: "Day first",
    DateOrder.MONTH_FIRST: "Month first",
}


@dataclass(frozen=True, slots=True)
class InspectedLine:
    """A row of a file: its cells as they are, and what they are read as."""

    line: int
    cells: Sequence[str]
    read: Row | list[CellProblem]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """How a file is read, as far as that is known.

    `problems` concern the file as a whole. `rows` are counted. The rows can be read if there is
    neither a problem nor a question.
    """

    kind: FileKind
    data: bytes
    guesses: tuple[Guess, ...] = ()
    problems: tuple[CellProblem, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    headers: tuple[Header, ...] = ()
    reader: RowReader | None = None
    product: str = ""
    rows: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def questions(self) -> list[Guess]:
        return [guess for guess in self.guesses if not guess.is_certain]

    @property
    def columns(self) -> list[ImportColumn]:
        return [column for column in self.reader.columns if column] if self.reader else []

    def read_rows(self) -> Iterator[InspectedLine]:
        """Yields the rows. Raises Unusable."""
        assert self.reader is not None  # noqa: S101  there is no question
        lines = reading.read_lines(self.data, self.encoding, self.delimiter)
        next(lines, None)
        for line, cells in lines:
            yield InspectedLine(line, cells, self.reader.read(line, cells))


def inspect(
    organization: Organization,
    kind: FileKind,
    data: bytes,
    choices: Choices,
    remembered: Mapping[str, str],
) -> Inspection:
    """Returns what the whole file shows about itself, with what was chosen.

    `remembered` has the columns of the organization's last imports, by the key of their header.
    """
    found = Inspection(kind=kind, data=data)
    try:
        reading.check_content(data)
        encoding = reading.guess_encoding(data, choices.encoding)
        found = replace(found, guesses=(encoding,), encoding=encoding.value)
        if not encoding.value:
            return found
        delimiter = reading.guess_delimiter(
            data, encoding.value, choices.delimiter, mapping.is_known(kind)
        )
        found = replace(found, guesses=(encoding, delimiter), delimiter=delimiter.value)
        found = _find_headers(found)
        found = _find_columns(found, choices, remembered)
        return _find_formats(found, organization, choices)
    except Unusable as unusable:
        return replace(found, problems=(*found.problems, *unusable.problems))


def _read_head(data: bytes, encoding: str, delimiter: str) -> list[str]:
    _, head = next(reading.read_lines(data, encoding, delimiter), (0, []))
    reading.check_header(head)
    return head


def _find_headers(found: Inspection) -> Inspection:
    """Returns the headers with the first values of each, and the number of rows."""
    head = _read_head(found.data, found.encoding, found.delimiter)
    samples: list[dict[str, None]] = [{} for _ in head]
    lacking = set(range(len(head)))
    lines = reading.read_lines(found.data, found.encoding, found.delimiter)
    rows = 0
    for _, cells in islice(lines, 1, reading.MAX_ROWS + 2):
        rows += 1
        if not lacking:
            continue
        for place in [*lacking]:
            if place < len(cells) and cells[place]:
                samples[place][cells[place]] = None
                if len(samples[place]) == SAMPLES:
                    lacking.discard(place)
    if rows > reading.MAX_ROWS:
        text = f"The file has more than {reading.MAX_ROWS} rows. Split it."
        raise Unusable([CellProblem(0, "", text)])
    headers = mapping.make_headers(head, [tuple(each) for each in samples])
    return replace(found, headers=headers, rows=rows)


def _find_columns(found: Inspection, choices: Choices, remembered: Mapping[str, str]) -> Inspection:
    kind = found.kind
    guesses = mapping.guess_columns(kind, found.headers, choices, remembered)
    columns = [column_for(kind, guess.value) if guess.value else None for guess in guesses]
    names = [column.name for column in columns if column]
    export = mapping.find_export(kind, found.headers)
    problems = [
        CellProblem(0, name, "Two columns of the file are read as this one.")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    problems += [
        CellProblem(0, whole, f"Choose either {whole} or {' and '.join(parts)}.")
        for whole, parts in kind.parts.items()
        if whole in names and {*parts} & {*names}
    ]
    if not {*names} & {*kind.named_by}:
        text = f"A column {' or '.join(kind.named_by)} is required."
        problems.append(CellProblem(0, "", text))
    problems += [
        CellProblem(0, "", f"A column {column.name} is required.")
        for column in kind.columns
        if column.is_required and column.name not in {*names, *kind.named_by}
    ]
    fields = {
        mapping.header_key(header.name): guess.value
        for header, guess in zip(found.headers, guesses, strict=True)
        if header.is_named
    }
    return replace(
        found,
        guesses=(*found.guesses, *guesses),
        problems=tuple(problems),
        reader=RowReader(kind, columns, values=export.values if export else {}),
        product=export.product if export else "",
        fields=fields,
    )


def _find_formats(found: Inspection, organization: Organization, choices: Choices) -> Inspection:
    """Returns the formats of numbers and dates, which all cells of the file decide."""
    assert found.reader is not None  # noqa: S101  the columns are found
    places = {
        place: column
        for place, column in enumerate(found.reader.columns)
        if column and column.shape in NUMBERS | DATES
    }
    numbers, dates = Evidence(), Evidence()
    local: dict[int, str] = {}
    days: dict[int, str] = {}
    lines = reading.read_lines(found.data, found.encoding, found.delimiter)
    for _, cells in islice(lines, 1, None) if places else ():
        for place, column in places.items():
            cell = cells[place] if place < len(cells) else ""
            if not cell:
                continue
            if column.shape in NUMBERS:
                numbers.note_number(column.shape, cell)
            elif dates.note_date(cell) and column.shape == CellShape.TIME:
                local.setdefault(place, cell)
            elif column.shape == CellShape.TIME and is_day(cell):
                days.setdefault(place, cell)
    guesses = [
        *_guess_numbers(numbers, choices),
        *_guess_dates(dates, choices),
        *_guess_zone(found, local, days, organization, choices),
    ]
    values = {guess.name: guess.value for guess in guesses if guess.value}
    formats = Formats(
        NumberFormat(choices.number or values.get("number", NumberFormat.POINT)),
        DateOrder(choices.date or values.get("date", DateOrder.DAY_FIRST)),
        choices.zone or values.get("zone", organization.time_zone),
        organization.currency,
    )
    whole, columns = found.guesses[:2], found.guesses[2:]
    return replace(
        found,
        guesses=(*whole, *guesses, *columns),
        reader=replace(found.reader, formats=formats),
    )


def _guess_numbers(evidence: Evidence, choices: Choices) -> Iterator[Guess]:
    if evidence.is_empty:
        return
    shown = evidence.examples()[:2]
    yield Guess(
        name="number",
        label="Numbers",
        value=choices.number
        or ("" if evidence.is_unclear else evidence.find_format() or NumberFormat.POINT),
        is_certain=bool(choices.number) or not evidence.is_unclear,
        options=[
            (each, f"{label}: {', '.join(describe_number(cell, each) for cell in shown)}")
            for each, label in NUMBER_LABELS.items()
        ],
        examples=shown,
        reason="" if choices.number else _why(evidence, "numbers"),
    )


def _guess_dates(evidence: Evidence, choices: Choices) -> Iterator[Guess]:
    if not (evidence.only or evidence.unclear):
        return
    shown = [*dict.fromkeys(evidence.unclear[:2] + evidence.examples())][:2]
    yield Guess(
        name="date",
        label="Dates",
        value=choices.date or ("" if evidence.is_unclear else evidence.find_format()),
        is_certain=bool(choices.date) or not evidence.is_unclear,
        options=[
            (each, f"{label}: {', '.join(describe_date(cell, each) for cell in shown)}")
            for each, label in DATE_LABELS.items()
        ],
        examples=shown,
        reason="" if choices.date else _why(evidence, "dates"),
    )


def _guess_zone(
    found: Inspection,
    local: Mapping[int, str],
    days: Mapping[int, str],
    organization: Organization,
    choices: Choices,
) -> Iterator[Guess]:
    """Days alone are those of the organization; times without a zone are a question."""
    places = {**days, **local}
    if not places:
        return
    named = find_zone((found.headers[place].name for place in places), available_time_zones())
    export = mapping.find_export(found.kind, found.headers)
    known = choices.zone or named or (export.zone if export else "")
    yield Guess(
        name="zone",
        label="Time zone",
        value=known or organization.time_zone,
        is_certain=bool(known) or not local,
        examples=[*{**local, **days}.values()][:3],
        reason=_why_zone(known, has_times=bool(local)),
    )


def _why_zone(known: str, *, has_times: bool) -> str:
    if known:
        return ""
    if has_times:
        return "The times of the file do not name their time zone."
    return "Days begin at midnight in the time zone of the organization."


def _why(evidence: Evidence, what: str) -> str:
    if not evidence.is_unclear:
        return ""
    if evidence.only:
        return f"The {what} of the file are written in both ways."
    return f"The {what} of the file can be read in both ways."
