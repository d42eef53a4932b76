"""How a file writes numbers and dates: what its cells show about it, and what a cell means."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from customers.identification.field_values import InvalidValue


class CellShape(StrEnum):
    """What a cell of a column is, where files write it in different ways."""

    TEXT = "text"
    MONEY = "money"
    WHOLE = "whole"
    DAY = "day"
    TIME = "time"


class NumberFormat(StrEnum):
    """The decimal separator."""

    POINT = "point"
    COMMA = "comma"


class DateOrder(StrEnum):
    """The order of a date such as 11/04/2026."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"


NUMBERS: Final = frozenset({CellShape.MONEY, CellShape.WHOLE})
DATES: Final = frozenset({CellShape.DAY, CellShape.TIME})
MAX_EXAMPLES: Final = 3
MAX_DIGITS: Final = 15
MONTHS_OF_A_YEAR: Final = 12
HOURS_OF_A_HALF: Final = 12

SPACES: Final = " \u00a0\u2009\u202f"
CURRENCY: Final = r"[A-Z]{3}|[A-Z]{1,2}\$|[$€£¥₹]"
AMOUNT: Final = re.compile(
    rf"(?P<sign>-?)(?P<before>{CURRENCY})?[{SPACES}]?(?P<number>[0-9][0-9.,'\u2019{SPACES}]*?)"
    rf"[{SPACES}]?(?P<after>{CURRENCY})?"
)
# The currencies of a sign; those of a code of three letters are the code itself.
SIGNS: Final[Mapping[str, frozenset[str]]] = {
    "$": frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "BRL", "ARS", "CLP", "COP"}),
    "US$": frozenset({"USD"}),
    "CA$": frozenset({"CAD"}),
    "A$": frozenset({"AUD"}),
    "AU$": frozenset({"AUD"}),
    "C$": frozenset({"CAD"}),
    "R$": frozenset({"BRL"}),
    "NZ$": frozenset({"NZD"}),
    "S$": frozenset({"SGD"}),
    "HK$": frozenset({"HKD"}),
    "€": frozenset({"EUR"}),
    "£": frozenset({"GBP"}),
    "¥": frozenset({"JPY", "CNY"}),
    "₹": frozenset({"INR"}),
}


def _number_pattern(decimal: str, group: str) -> re.Pattern[str]:
    # Groups of three digits, or of two before the last one as in India.
    grouped = "|".join(
        (
            rf"(?:{re.escape(group)}[0-9]{{2,3}})*{re.escape(group)}[0-9]{{3}}",
            rf"(?:[{SPACES}][0-9]{{3}})+",
            r"(?:['\u2019][0-9]{3})+",
        )
    )
    whole = rf"(?P<whole>[1-9][0-9]{{0,2}}(?:{grouped})|[0-9]{{1,{MAX_DIGITS}}})"
    return re.compile(rf"{whole}(?:{re.escape(decimal)}(?P<fraction>[0-9]{{1,6}}))?")


PATTERNS: Final = {
    NumberFormat.POINT: _number_pattern(".", ","),
    NumberFormat.COMMA: _number_pattern(",", "."),
}

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CLOCK: Final = (
    r"(?:(?:[T ]|, ?| at )(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?P<part>\.[0-9]{1,9})?)?"
    r"[\u202f ]?(?P<half>[AaPp][Mm])?(?: ?(?P<offset>[Zz]|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
MONTH: Final = r"(?P<name>[A-Za-z]{3,9})\.?"
YEAR: Final = r"(?P<year>[0-9]{4})"
WRITTEN: Final = tuple(
    re.compile(day + CLOCK)
    for day in (
        rf"{YEAR}(?P<between>[-/.])(?P<month>[0-9]{{1,2}})(?P=between)(?P<day>[0-9]{{1,2}})",
        rf"(?P<first>[0-9]{{1,2}})(?P<between>[-/.])(?P<other>[0-9]{{1,2}})(?P=between){YEAR}",
        rf"(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?[ -]{MONTH}[ -]{YEAR}",
        rf"{MONTH} (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,? {YEAR}",
        r"(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})",
    )
)
# Seconds since 1970 from 1973 to 2286, or milliseconds.
EPOCH: Final = re.compile(r"(?P<seconds>[1-9][0-9]{8,9})(?P<milliseconds>[0-9]{3})?")


@dataclass(frozen=True, slots=True)
class Formats:
    """How one file writes numbers, dates and times. `currency` is that of its organization."""

    number: NumberFormat = NumberFormat.POINT
    order: DateOrder = DateOrder.DAY_FIRST
    zone: str = "UTC"
    currency: str = "USD"

    def normalize(self, shape: CellShape, cell: str) -> str:
        """Returns the cell as the SDK API writes it: `1499.90`, `2026-04-11`, an RFC 3339 time.

        A cell that is no date is returned as it is: its column refuses it. Raises InvalidValue for
        a cell that is no number in this format, an amount in another currency, and a date that does
        not exist.
        """
        if shape in NUMBERS:
            return self._number(shape, cell)
        if shape in DATES:
            return self._date(shape, cell)
        return cell

    def _number(self, shape: CellShape, cell: str) -> str:
        amount = AMOUNT.fullmatch(cell)
        number = amount and _number(amount["number"], self.number)
        signs = [*filter(None, (amount["before"], amount["after"]))] if amount else []
        if amount is None or number is None or (signs and shape != CellShape.MONEY):
            example = "49.90" if self.number == NumberFormat.POINT else "49,90"
            raise InvalidValue(f"Enter a number such as {example}.")
        for sign in signs:
            if self.currency not in SIGNS.get(sign, {sign}):
                raise InvalidValue(f"The amount is in {sign}. Enter it in {self.currency}.")
        return str(amount["sign"]) + number

    def _date(self, shape: CellShape, cell: str) -> str:
        zone = ZoneInfo(self.zone)
        moment = _parse_epoch(cell)
        if moment is None:
            written = _match_date(cell)
            if written is None:
                return cell
            day = _to_day(written, self.order, cell)
            moment = _to_time(written, day, zone)
            if shape == CellShape.DAY and not (written["hour"] and written["offset"]):
                return day.isoformat()
        if shape == CellShape.DAY:
            return moment.astimezone(zone).date().isoformat()
        return moment.astimezone(UTC).isoformat()


@dataclass(slots=True)
class Evidence:
    """What the cells of a file show: examples of cells that only one format can read, by format.

    `unclear` are cells that both formats read, as different values.
    """

    only: dict[str, list[str]] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.only or self.unclear or self.same)

    def find_format(self) -> str:
        """Returns the only format that reads the cells, or an empty text if it is unclear."""
        if len(self.only) == 1:
            return next(iter(self.only))
        return ""

    @property
    def is_unclear(self) -> bool:
        return len(self.only) > 1 or bool(self.unclear and not self.only)

    def examples(self) -> list[str]:
        shown = [example for examples in self.only.values() for example in examples[:2]]
        return [*shown, *self.unclear, *self.same][:MAX_EXAMPLES]

    def _note(self, examples: list[str], cell: str) -> None:
        if len(examples) < MAX_EXAMPLES and cell not in examples:
            examples.append(cell)

    def note_number(self, shape: CellShape, cell: str) -> None:
        amount = AMOUNT.fullmatch(cell)
        if amount is None:
            return
        readings = {each: _number(amount["number"], each) for each in NumberFormat}
        able = {each: text for each, text in readings.items() if text is not None}
        if shape == CellShape.WHOLE:
            # A part of an employee is no reading of 1,200.
            whole = {each: text for each, text in able.items() if not _fraction(text)}
            able = whole or able
        if len(able) == 1:
            self._note(self.only.setdefault(str(next(iter(able))), []), cell)
        elif len({float(text) for text in able.values()}) > 1:
            self._note(self.unclear, cell)
        elif able:
            self._note(self.same, cell)

    def note_date(self, cell: str) -> bool:
        """Notes the order of a date; returns whether it is a time without its offset."""
        written = _match_date(cell)
        if written is None:
            if _parse_epoch(cell):
                self._note(self.same, cell)
            return False
        groups = written
        first, other = int(groups.get("first") or 0), int(groups.get("other") or 0)
        if not first or first == other or groups["between"] == ".":
            self._note(self.same, cell)
        elif first > MONTHS_OF_A_YEAR or other > MONTHS_OF_A_YEAR:
            order = DateOrder.DAY_FIRST if first > MONTHS_OF_A_YEAR else DateOrder.MONTH_FIRST
            self._note(self.only.setdefault(str(order), []), cell)
        else:
            self._note(self.unclear, cell)
        return bool(groups["hour"]) and not groups["offset"]


def describe_number(cell: str, number: NumberFormat) -> str:
    """Returns a number of a file with its value in one format, such as `1.499 = 1499`."""
    amount = AMOUNT.fullmatch(cell)
    value = amount and _number(amount["number"], number)
    return f"{cell} = {value}" if value else cell


def describe_date(cell: str, order: DateOrder) -> str:
    """Returns a date of a file with its meaning in one order."""
    try:
        day = datetime.fromisoformat(Formats(order=order).normalize(CellShape.TIME, cell))
    except ValueError:
        return cell
    return f"{cell} = {day.day} {day:%B %Y}"


def is_day(cell: str) -> bool:
    """Returns whether a cell is a date without a time of the day."""
    written = _match_date(cell)
    return written is not None and not written["hour"]


def find_zone(headers: Iterable[str], zones: frozenset[str]) -> str:
    """Returns the time zone that all headers name, as in `Created (UTC)`; else an empty text."""
    found = {_zone_of(header, zones) for header in headers}
    return found.pop() if len(found) == 1 else ""


def _zone_of(header: str, zones: frozenset[str]) -> str:
    named = re.search(r"\(([A-Za-z_]+(?:/[A-Za-z_+0-9-]+){0,2})\)\s*$", header)
    return named[1] if named and named[1] in zones else ""


def _number(text: str, number: NumberFormat) -> str | None:
    read = PATTERNS[number].fullmatch(text)
    if read is None:
        return None
    whole = re.sub(r"[^0-9]", "", read["whole"])
    if len(whole) > MAX_DIGITS:
        return None
    return f"{whole}.{read['fraction']}" if read["fraction"] else whole


def _fraction(text: str) -> str:
    return text.partition(".")[2].strip("0")


def _match_date(cell: str) -> Mapping[str, str | None] | None:
    empty = dict.fromkeys(("first", "other", "between", "name", "month", "day"))
    for pattern in WRITTEN:
        if found := pattern.fullmatch(cell):
            written = {**empty, **found.groupdict()}
            name = (written["name"] or "").lower()
            if not name or name[:3] in MONTHS:
                return written
    return None


def _parse_epoch(cell: str) -> datetime | None:
    found = EPOCH.fullmatch(cell)
    return datetime.fromtimestamp(int(found["seconds"]), UTC) if found else None


def _to_day(written: Mapping[str, str | None], order: DateOrder, cell: str) -> date:
    year = int(written["year"] or 0)
    if written["first"]:
        pair = (int(written["first"]), int(written["other"] or 0))
        is_day_first = order == DateOrder.DAY_FIRST or written["between"] == "."
        day, month = pair if is_day_first else pair[::-1]
    else:
        name = (written["name"] or "").lower()[:3]
        month = MONTHS.index(name) + 1 if name else int(written["month"] or 0)
        day = int(written["day"] or 0)
    try:
        return date(year, month, day)
    except ValueError:
        hint = ""
        if written["first"] and written["between"] != ".":
            hint = f" with the {'day' if order == DateOrder.DAY_FIRST else 'month'} first"
        raise InvalidValue(f"{cell} does not exist{hint}.") from None


def _to_time(written: Mapping[str, str | None], day: date, zone: tzinfo) -> datetime:
    hour, minute = int(written["hour"] or 0), int(written["minute"] or 0)
    if written["half"]:
        if not 1 <= hour <= HOURS_OF_A_HALF:
            raise InvalidValue("Enter a time of at most 12 hours before AM or PM.")
        hour = hour % 12 + (12 if written["half"].lower() == "pm" else 0)
    try:
        at = datetime(
            day.year,
            day.month,
            day.day,
            hour,
            minute,
            int(written["second"] or 0),
            int(((written["part"] or ".") + "000000")[1:7]),
            tzinfo=_offset(written["offset"]) or zone,
        )
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidValue("This time does not exist.") from None


def _offset(text: str | None) -> tzinfo | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
