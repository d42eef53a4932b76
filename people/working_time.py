"""How much of a period somebody would have worked: by working pattern, less public holidays."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from people.models import PublicHoliday, WorkingPattern

ONE_DAY: Final = timedelta(days=1)
# For people without a working pattern: Monday to Friday, eight hours.
USUAL_WEEK: Final = (480, 480, 480, 480, 480, 0, 0)
NOTHING: Final = Decimal(0)
HALF: Final = Decimal("0.5")
WHOLE: Final = Decimal(1)


@dataclass(frozen=True, slots=True)
class Amount:
    """Working time; a half day is half of its minutes."""

    days: Decimal
    minutes: int


def free_parts(holidays: Iterable[PublicHoliday]) -> dict[date, Decimal]:
    """Returns the part of each public holiday that is not worked."""
    return {one.date: HALF if one.is_half_day else WHOLE for one in holidays}


def week_of(pattern: WorkingPattern | None) -> tuple[int, ...]:
    """Returns the minutes from Monday to Sunday."""
    return USUAL_WEEK if pattern is None else pattern.minutes


def amount(
    week: tuple[int, ...],
    holidays: Mapping[date, Decimal],
    start: date,
    end: date,
    *,
    is_from_half_day: bool = False,
    is_to_half_day: bool = False,
) -> Amount:
    """Returns the working time from `start` to `end`, both included, with its halves left out.

    `holidays` has the part of each public holiday that is not worked, 1 or a half. Half a day on
    half a holiday is the half that is worked.
    """
    total, minutes = Decimal(0), 0
    for day in each_day(start, end):
        worked, free = week[day.weekday()], holidays.get(day, NOTHING)
        if not worked or free >= WHOLE:
            continue
        is_half = (day == start and is_from_half_day) or (day == end and is_to_half_day)
        is_half = is_half or free >= HALF
        total += HALF if is_half else 1
        minutes += worked // 2 if is_half else worked
    return Amount(total, minutes)


def each_day(start: date, end: date) -> Iterator[date]:
    """Returns every day from `start` to `end`, both included."""
    for number in range((end - start).days + 1):
        yield start + number * ONE_DAY
