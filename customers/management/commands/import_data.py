"""manage.py import_data: import customers, companies or tickets from a CSV file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from customers.imports import reading, uploads
from customers.imports.choices import OPTIONS, Choices, Guess
from customers.imports.columns import CUSTOM, CellProblem, Unusable, column_for
from customers.imports.formats import DateOrder, NumberFormat
from customers.imports.inspection import Inspection
from customers.imports.passes import KINDS, ImportOutcome, Unclear
from workspace.models import Organization
from workspace.models.people import available_time_zones

BAR: Final = 40
WITHOUT_REFUSED: Final = "--refused-rows"


class Command(BaseCommand):
    help = (
        "Add and change customers, companies or tickets from a CSV file: all of it, or nothing. "
        "How the file is read is guessed and printed; what is unclear has an option."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organization", required=True, help="short name of the organization")
        parser.add_argument(
            "--kind", required=True, choices=[*KINDS], help="what the file contains"
        )
        add_file_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = _find_organization(options["organization"])
        choices, content = _read_choices(options), _read(options["file"])
        inspected = uploads.inspect(organization, options["kind"], content, choices)
        _check_headers(inspected, choices)
        self._print(inspected)
        kept: Path | None = options["refused_rows"]
        try:
            with self._bar(inspected.rows) as advance:
                outcome = uploads.import_now(
                    organization,
                    inspected=inspected,
                    file_name=options["file"].name,
                    advance=advance,
                    without_refused=kept is not None,
                )
        except Unclear as unclear:
            raise CommandError(_explain(unclear)) from unclear
        except Unusable as unusable:
            text = _list_problems(unusable.problems, unusable.count)
            raise CommandError(f"Nothing was imported.\n{text}") from unusable
        self.stdout.write(f"{outcome}.")
        if kept and outcome.refused:
            self._keep_refused(kept, outcome)

    def _print(self, inspected: Inspection) -> None:
        if inspected.product:
            self.stdout.write(f"This is an export of {inspected.product}.")
        for guess in inspected.guesses:
            if not guess.is_certain:
                continue
            if guess.name in OPTIONS:
                self.stdout.write(f"{guess.label}: {guess.display_value}")
            elif guess.value != guess.label:
                self.stdout.write(f"Column “{guess.label}”: {guess.value or 'left out'}")

    @contextmanager
    def _bar(self, rows: int) -> Iterator[Callable[[int], None]]:
        """Yields a function that shows how many rows are done, if a person sees the output."""
        is_shown = self.stderr.isatty() and rows

        def advance(done: int) -> None:
            if is_shown:
                filled = "#" * (BAR * done // rows)
                self.stderr.write(f"\r[{filled:{BAR}}] {done:,} of {rows:,} rows", ending="")

        advance(0)
        yield advance
        if is_shown:
            self.stderr.write("")

    def _keep_refused(self, file: Path, outcome: ImportOutcome) -> None:
        file.write_bytes(b"\xef\xbb\xbf" + (outcome.refused_rows or b""))
        self.stdout.write(f"{outcome.refused} refused rows are in {file}:")
        self.stdout.write(_list_problems(outcome.problems, outcome.problem_count))


def add_file_arguments(parser: CommandParser) -> None:
    """Adds the arguments about the file itself."""
    parser.add_argument("file", type=Path, help="CSV with a header row")
    parser.add_argument("--encoding", choices=[*reading.ENCODINGS], help="default: guessed")
    parser.add_argument(
        "--delimiter", help="a character, or “tab”; default: guessed", type=_delimiter
    )
    parser.add_argument(
        "--number-format",
        choices=[*NumberFormat],
        help="the decimal separator; default: guessed from all numbers",
    )
    parser.add_argument(
        "--date-format",
        choices=[*DateOrder],
        help="the order of dates such as 11/04/2026; default: guessed from all dates",
    )
    parser.add_argument("--time-zone", help="of times without an offset, such as Europe/Berlin")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="HEADER=COLUMN",
        help="what a column of the file is, such as “Phone=custom.Phone”; “Phone=” leaves it out",
    )
    parser.add_argument(
        "--leave-out-others", action="store_true", help="leave out columns without a known name"
    )
    parser.add_argument(
        WITHOUT_REFUSED,
        type=Path,
        metavar="FILE",
        help="import the other rows, and write those that are refused to this file",
    )


def _delimiter(text: str) -> str:
    delimiter = "\t" if text in {"tab", "\\t"} else text
    if delimiter not in reading.DELIMITERS:
        raise ValueError
    return delimiter


def _read_choices(options: dict[str, Any]) -> Choices:
    zone = options["time_zone"] or ""
    if zone and zone not in available_time_zones():
        raise CommandError(f"No time zone has the name {zone!r}. An example is Europe/Berlin.")
    columns: dict[str, str] = {}
    for each in options["map"]:
        header, sign, column = each.rpartition("=")
        if not sign or not header:
            raise CommandError(f"--map {each!r} is not of the form HEADER=COLUMN.")
        columns[header.strip()] = column.strip()
    return Choices(
        encoding=options["encoding"] or "",
        delimiter=options["delimiter"] or "",
        number=options["number_format"] or "",
        date=options["date_format"] or "",
        zone=zone,
        columns=columns,
        leaves_out_others=options["leave_out_others"],
    )


def _check_headers(inspected: Inspection, choices: Choices) -> None:
    """Raises CommandError for a header or a column that does not exist."""
    if not inspected.headers:
        return
    guesses = {guess.header: guess for guess in inspected.guesses if guess.name not in OPTIONS}
    for header, column in choices.columns.items():
        if header not in guesses:
            names = ", ".join(guesses)
            raise CommandError(f"The file has no column “{header}”. Its columns: {names}.")
        allowed = [value for value, _ in guesses[header].options if value]
        is_custom = column.startswith(CUSTOM) and column_for(inspected.kind, column)
        if column and column not in allowed and not is_custom:
            text = f"“{header}” cannot be “{column}”. It can be: {', '.join(allowed)}."
            raise CommandError(text)


def _explain(unclear: Unclear) -> str:
    lines = ["Nothing was imported. The file can be read in several ways; choose with the options:"]
    lines += [line for question in unclear.questions for line in _options_of(question)]
    if any(question.name not in OPTIONS for question in unclear.questions):
        lines.append("  or --leave-out-others for all columns without a known name")
    return "\n".join([*lines, *map(str, unclear.problems)])


def _options_of(question: Guess) -> Sequence[str]:
    if question.name in OPTIONS:
        option = OPTIONS[question.name]
        chosen = [f"  {option} {value}: {label}" for value, label in question.options]
        shown = f" ({', '.join(question.examples)})" if question.examples else ""
        return [f"{question.reason}{shown}", *(chosen or [f"  {option} {question.value}"])]
    guessed = question.value or f"{CUSTOM}{question.header}"
    return [
        f"Column “{question.label}”: {question.reason}",
        f'  --map "{question.header}={guessed}" or --map "{question.header}="',
    ]


def _list_problems(problems: Sequence[CellProblem], count: int) -> str:
    lines = [str(problem) for problem in problems]
    if count > len(lines):
        lines.append(f"{count - len(lines)} more problems.")
    return "\n".join(lines)


def _find_organization(slug: str) -> Organization:
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return organization


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(reading.MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
