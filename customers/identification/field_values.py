"""Typed values of fields that another program sends, and the error that names a wrong one."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, TypeAlias, TypeVar

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone

from foundation.calendar_days import missing_day_message
from foundation.db import storable

# Takes a JSON value, returns the typed one. Raises Refused.
Reader: TypeAlias = Callable[[Any], Any]

Item = TypeVar("Item")
Parsed = TypeVar("Parsed")

MAX_EMAIL: Final = 254
MAX_MONEY: Final = 999_999_999_999
MAX_PERCENTAGE: Final = 100
MAX_WHOLE: Final = 2**31 - 1
# PostgreSQL returns larger numbers of a JSON column as integers that JSON writers refuse.
MAX_JSON_NUMBER: Final = 2**63
FIRST_YEAR, LAST_YEAR = 1900, 2200
# Earlier times of what people did are those of clocks that nobody has set.
FIRST_ACTIVITY: Final = datetime(2000, 1, 1, tzinfo=UTC)
# A sign-up in 1970 is a zero in a column of Unix times.
FIRST_SIGN_UP: Final = datetime(1971, 1, 1, tzinfo=UTC)
# Clocks differ; a time that is further ahead is wrong.
MAX_AHEAD: Final = timedelta(days=1)
# Unix times in seconds are less, those in milliseconds are more.
MAX_UNIX_SECONDS: Final = 100_000_000_000
THOUSANDTH: Final = Decimal("0.001")
MAX_SHOWN: Final = 100
DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# RFC 3339 section 5.6.
TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class InvalidValue(ValueError):
    """A value is not what its field takes; the text says what it takes."""


class InvalidField(Exception):
    """A field of a request has a wrong value. `reason` is shown to the caller.

    `field` is a path such as `users[3].traits.mrr`. `others` are the further fields that are wrong.
    """

    def __init__(self, field: str, reason: str, others: "Sequence[InvalidField]" = ()) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.reason, self.others = field, reason, others

    @property
    def each(self) -> "list[InvalidField]":
        """This error and the others."""
        return [self, *(error for other in self.others for error in other.each)]

    def with_prefix(self, place: str) -> "InvalidField":
        """Returns the same error for fields that are part of `place`."""
        others = [other.with_prefix(place) for other in self.others]
        return InvalidField(f"{place}.{self.field}", self.reason, others)


def parse_each(parse: Callable[[Item], Parsed], items: Iterable[Item]) -> list[Parsed]:
    """Returns each item parsed. Raises one InvalidField with all fields that are wrong."""
    parsed: list[Parsed] = []
    errors: list[InvalidField] = []
    for item in items:
        try:
            parsed.append(parse(item))
        except InvalidField as error:
            errors.append(error)
    if errors:
        first, *others = errors
        raise InvalidField(first.field, first.reason, [*first.others, *others])
    return parsed


def text(max_length: int) -> Reader:
    """Returns a reader of one line or more of text, without the spaces around it."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise InvalidValue("Send a string.")
        check_storable(value)
        if len(value) > max_length:
            raise InvalidValue(f"Send at most {max_length} characters.")
        return value.strip()

    return read


def choice(values: Iterable[str]) -> Reader:
    allowed = tuple(values)

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise InvalidValue(f"Send one of {', '.join(allowed)}.")
        return value

    return read


def email(value: Any) -> str:
    address: str = text(MAX_EMAIL)(value)
    try:
        validate_email(address)
    except ValidationError:
        raise InvalidValue("Send an email address.") from None
    return address


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue("Send true or false.")
    return value


def whole(value: Any) -> int:
    if not _is_number(value) or value != int(value) or not 0 <= value <= MAX_WHOLE:
        raise InvalidValue(f"Send a whole number from 0 to {MAX_WHOLE}.")
    return int(value)


def percentage(value: Any) -> int:
    if not _is_number(value) or value != int(value) or not 0 <= value <= MAX_PERCENTAGE:
        raise InvalidValue(f"Send a whole number from 0 to {MAX_PERCENTAGE}.")
    return int(value)


def money(value: Any) -> Decimal:
    """Reads an amount in major units; `currencies.round_amount` rounds it to the minor ones."""
    if not _is_number(value) or not 0 <= value <= MAX_MONEY:
        raise InvalidValue(f"Send a number from 0 to {MAX_MONEY}.")
    return Decimal(str(value)).quantize(THOUSANDTH, rounding=ROUND_HALF_UP)


def day(value: Any) -> date:
    refusal = InvalidValue(missing_day_message(value) or "Send a date, such as 2026-04-11.")
    if not isinstance(value, str) or not DAY.fullmatch(value):
        raise refusal
    try:
        read = date.fromisoformat(value)
    except ValueError:
        raise refusal from None
    if not FIRST_YEAR <= read.year <= LAST_YEAR:
        raise refusal
    return read


def time(value: Any) -> datetime:
    """Reads an RFC 3339 time; returns it in UTC."""
    refusal = InvalidValue(
        missing_day_message(value)
        or "Send a time with its offset, such as 2026-04-11T12:25:19+00:00."
    )
    if not isinstance(value, str) or not TIME.fullmatch(value):
        raise refusal
    try:
        read = datetime.fromisoformat(value.upper())
    except ValueError:
        raise refusal from None
    if not FIRST_YEAR <= read.year <= LAST_YEAR:
        raise refusal
    return read.astimezone(UTC)


def unix_time(value: Any) -> datetime:
    """Reads an RFC 3339 time, or a Unix time in seconds or milliseconds; returns it in UTC."""
    if not _is_number(value):
        return time(value)
    seconds = value / 1000 if abs(value) > MAX_UNIX_SECONDS else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidValue("Send a time.") from None


def check_happened(moment: datetime, earliest: datetime) -> datetime:
    """Returns the time, or now if it is a little ahead. Raises InvalidValue for an absurd one."""
    now = timezone.now()
    if moment < earliest:
        raise InvalidValue(f"The time is before {earliest.date().isoformat()}.")
    if moment > now + MAX_AHEAD:
        raise InvalidValue("The time is more than a day in the future.")
    return min(moment, now)


def sign_up_time(value: Any) -> datetime:
    """Reads the time of a sign-up, which has happened; returns it in UTC."""
    return check_happened(time(value), FIRST_SIGN_UP)


def json_object(max_bytes: int) -> Reader:
    """Returns a reader of a JSON object of at most so many bytes in UTF-8."""

    def read(value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise InvalidValue("Send an object.")
        check_json(value)
        if json_bytes(value) > max_bytes:
            raise InvalidValue(f"Send at most {max_bytes} bytes of JSON.")
        return value

    return read


def check_json(value: Any) -> None:
    """Raises InvalidValue for a JSON value that a database does not return as it was sent."""
    check_storable(value)
    if any(map(_is_too_large, storable.leaves(value))):
        raise InvalidValue("Send numbers of at most 64 bits.")


def check_storable(value: Any) -> None:
    if storable.has_unstorable_text(value):
        raise InvalidValue("The text contains NUL or a lone surrogate.")


def json_bytes(value: Any) -> int:
    """Returns the length of a JSON value in UTF-8 without spaces."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def escape_name(name: str) -> str:
    """Returns a name that a caller chose, in the length and characters of a path of fields."""
    return name[:MAX_SHOWN].encode("utf-8", "backslashreplace").decode().replace("\0", "\\u0000")


def _is_too_large(leaf: object) -> bool:
    return isinstance(leaf, int | float) and abs(leaf) >= MAX_JSON_NUMBER


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
