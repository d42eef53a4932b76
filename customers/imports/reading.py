"""Reads the rows of a CSV file as spreadsheets and other products write it, one at a time.

Its encoding and delimiter are guessed, or chosen by a person.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, TypeAlias

from customers.imports.choices import Guess
from customers.imports.columns import CellProblem, Unusable
from foundation.spreadsheets import unescape_cell

MAX_BYTES: Final = 16 * 1_048_576
MAX_ROWS: Final = 100_000
MAX_COLUMNS: Final = 200
# Of a row: a quotation mark that is never closed, or millions of columns, do not fill the memory.
MAX_ROW: Final = 1_048_576
MAX_CELL: Final = 131_072
# Of a file, with those in quoted cells: empty lines are no rows, and cost as much as others.
MAX_LINES: Final = 1_000_000

ENCODINGS: Final[Mapping[str, str]] = {
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "windows-1252": "Western European (Windows-1252)",
    "windows-1250": "Central European (Windows-1250)",
    "windows-1251": "Cyrillic (Windows-1251)",
    "windows-1253": "Greek (Windows-1253)",
    "windows-1254": "Turkish (Windows-1254)",
    "mac-roman": "Western European (Mac)",
    "shift_jis": "Japanese (Shift JIS)",
    "gb18030": "Chinese (GB 18030)",
}
UNICODE: Final = frozenset({"utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"})
DELIMITERS: Final[Mapping[str, str]] = {
    ",": "Comma",
    ";": "Semicolon",
    "\t": "Tab",
    "|": "Vertical bar",
}
SEPARATOR_LINE: Final = re.compile(r"\ufeff?\"?sep=([,;\t|:~^])\"?\r?\n?", re.IGNORECASE)

# The last two columns of a file of refused rows, whose cells `foundation.spreadsheets` has escaped.
REFUSED_COLUMNS: Final = ("refused line", "refused because")

# What a file of another kind begins with.
SIGNATURES: Final[Mapping[bytes, str]] = {
    b"PK\x03\x04": "This is a zip file or a workbook, not a CSV file. Unpack it, or save the sheet "
    "as “CSV UTF-8”.",
    b"\xd0\xcf\x11\xe0": "This is a workbook, not a CSV file. Save the sheet as “CSV UTF-8”.",
    b"%PDF-": "This is a PDF, not a CSV file.",
    b"\x1f\x8b": "This is a gzip file, not a CSV file. Unpack it.",
    b"\x89PNG": "This is an image, not a CSV file.",
    b"\xff\xd8\xff": "This is an image, not a CSV file.",
    b"SQLite format 3": "This is a database, not a CSV file.",
    b"{": "This is a JSON file, not a CSV file.",
    b"[": "This is a JSON file, not a CSV file.",
    b"<": "This is an HTML or XML file, not a CSV file.",
}
SAMPLE_BYTES: Final = 65_536
SAMPLE_ROWS: Final = 500
# Of the bytes of a text, so many per hundred are control characters at most.
MAX_CONTROLS: Final = 5
CONTROLS: Final = bytes(set(range(32)) - {9, 10, 11, 12, 13, 26, 27})
MAX_WORDS: Final = 4

Lines: TypeAlias = Iterator[tuple[int, list[str]]]


def check_content(data: bytes) -> None:
    """Raises Unusable for a file that is too large, or of another kind than text."""
    if len(data) > MAX_BYTES:
        _refuse(f"The file is larger than {MAX_BYTES // 1_048_576} MB. Split it.")
    start = data[:SAMPLE_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    for signature, reason in SIGNATURES.items():
        if start.startswith(signature):
            _refuse(reason)
    if _find_unicode(data):
        return
    controls = sum(start.count(byte) for byte in CONTROLS)
    if controls * 100 > len(start) * MAX_CONTROLS:
        _refuse("This is not a text file. Save the table as “CSV UTF-8”.")


def guess_encoding(data: bytes, chosen: str) -> Guess:
    """Returns the encoding: certain for Unicode, else a question with words in each that fits."""
    found = chosen or _find_unicode(data)
    fitting = [found] if found in UNICODE else [*_find_legacy(data)]
    options = [(name, _describe(data, name)) for name in fitting]
    if chosen and chosen not in fitting:
        options.append((chosen, ENCODINGS[chosen]))
    return Guess(
        name="encoding",
        label="Encoding",
        value=found,
        is_certain=bool(found),
        options=options,
        reason="" if found else "The file is not UTF-8. Choose the line with the right letters.",
    )


def guess_delimiter(
    data: bytes, encoding: str, chosen: str, is_known: Callable[[str], bool]
) -> Guess:
    """Returns the delimiter: that of a line `sep=`, else the one that makes equal rows.

    A cell of the header may be a name that `is_known`. The guess is certain if no other delimiter
    makes several columns of every row, and as many known names.
    """
    named = _separator_of(data, encoding)
    scores = {each: _score(data, encoding, each, is_known) for each in DELIMITERS}
    best = max(scores, key=lambda each: scores[each])
    if scores[best][-1] <= 1:
        best = ","  # no delimiter makes several columns
    rivals = [
        each for each in scores if each != best and scores[each][:2] >= (scores[best][0], True)
    ]
    value = chosen or named or best
    options = [*DELIMITERS.items()]
    if value not in DELIMITERS:
        options.append((value, value))
    return Guess(
        name="delimiter",
        label="Delimiter",
        value=value,
        is_certain=bool(chosen or named) or not rivals,
        options=options,
        reason="" if chosen or named or not rivals else "The rows can be split in several ways.",
    )


def read_lines(data: bytes, encoding: str, delimiter: str) -> Lines:
    """Yields the rows that are not empty, each with the number of its last line.

    They are decoded while they are read, so that memory holds one at a time. Raises Unusable.
    """
    is_escaped: bool | None = None
    fed = _Feed(data, encoding)
    reader = csv.reader(fed, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            fed.characters = 0
            cells = [cell.strip() for cell in row]
            if any(cells):
                if is_escaped is None:
                    is_escaped = set(REFUSED_COLUMNS) <= {*cells}
                if is_escaped:
                    cells = [unescape_cell(cell) for cell in cells]
                yield reader.line_num + fed.skipped, cells
    except UnicodeError:
        shown = ENCODINGS[encoding]
        _refuse(f"The file is not {shown}.", reader.line_num + fed.skipped + 1)
    except csv.Error as error:
        reason = f"This is not a CSV file: {error}."
        if "field limit" in str(error):
            reason = f"A cell is longer than {MAX_CELL:,} characters."
        _refuse(reason, reader.line_num + fed.skipped)


def count_lines(data: bytes) -> int:
    """Returns about how many rows a file has; quoted line breaks count too."""
    return min(max(0, data.count(b"\n") - data.rstrip(b"\0").endswith(b"\n")), MAX_ROWS)


class _Feed:
    """The lines of a file without the line `sep=`. `characters` are those of the row so far."""

    def __init__(self, data: bytes, encoding: str) -> None:
        # newline="" keeps the line breaks in quoted cells as they are.
        self._text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")
        self.characters, self.skipped, self._read = 0, 0, 0

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        line = next(self._text)
        self._read += 1
        if self._read == 1 and not self.skipped and SEPARATOR_LINE.fullmatch(line):
            self.skipped, self._read = 1, 0
            return next(self)
        if self._read > MAX_LINES:
            _refuse(f"The file has more than {MAX_LINES:,} lines. Split it.", self._read)
        self.characters += len(line)
        if self.characters > MAX_ROW:
            reason = f"A row is longer than {MAX_ROW:,} characters. Is a quotation mark open?"
            _refuse(reason, self._read + self.skipped)
        return line


def _find_unicode(data: bytes) -> str:
    """Returns the encoding of a file in Unicode, by its mark or its bytes; else an empty text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    sample = data[: SAMPLE_BYTES // 2 * 2]
    half = len(sample) // 2
    for name, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if (
            half > 1
            and zeros.count(0) * 2 > half
            and sample.count(0) - zeros.count(0) < half // 50 + 1
        ):
            return name
    with suppress(UnicodeDecodeError):
        data.decode("utf-8")
        return "utf-8-sig"
    return ""


def _find_legacy(data: bytes) -> Iterator[str]:
    for name in ENCODINGS:
        if name not in UNICODE:
            with suppress(UnicodeDecodeError):
                data.decode(name)
                yield name


def _describe(data: bytes, encoding: str) -> str:
    """Returns the name of an encoding, with some words of the file that are spelled in it."""
    if encoding in UNICODE:
        return ENCODINGS[encoding]
    found = re.finditer(rb"[^\s,;|\"]*[\x80-\xff][^\s,;|\"]*", data)
    words = dict.fromkeys(
        "".join(filter(str.isprintable, each[0][:40].decode(encoding, "replace")))
        for each in islice(found, 50)
    )
    return f"{ENCODINGS[encoding]}: {', '.join(islice(words, MAX_WORDS))}"


def _separator_of(data: bytes, encoding: str) -> str:
    with suppress(UnicodeError, StopIteration):
        line = next(io.TextIOWrapper(io.BytesIO(data[:64]), encoding=encoding, newline=""))
        if found := SEPARATOR_LINE.fullmatch(line):
            return found[1]
    return ""


def _score(
    data: bytes, encoding: str, delimiter: str, is_known: Callable[[str], bool]
) -> tuple[int, bool, float, int]:
    """Returns how well a delimiter fits.

    These are the names that are known, whether there are several columns in every row, the share of
    rows of the usual length, and the number of columns.
    """
    rows: list[list[str]] = []
    feed = _Feed(data, encoding)
    with suppress(csv.Error, UnicodeError, Unusable):
        for row in csv.reader(feed, delimiter=delimiter):
            feed.characters = 0
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    if not rows:
        return (0, False, 0.0, 0)
    names = sum(is_known(cell.strip()) for cell in rows[0])
    lengths = Counter(map(len, rows))
    usual = lengths.most_common(1)[0][1] / len(rows)
    is_table = min(lengths) > 1 and len(rows) > 1
    return (names, is_table, usual, len(rows[0]))


def _refuse(reason: str, line: int = 0) -> None:
    raise Unusable([CellProblem(line, "", reason)])


def check_header(head: Sequence[str]) -> None:
    """Raises Unusable for a header with too many columns."""
    if len(head) > MAX_COLUMNS:
        _refuse(f"The file has more than {MAX_COLUMNS} columns.")
