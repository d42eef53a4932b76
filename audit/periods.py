"""A year, a month or a day of the audit log, as a URL parameter."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, time, timedelta
from typing import Final, Self

from django.utils import timezone
from django.utils.formats import date_format

WRITTEN: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?", re.ASCII)
YEAR, MONTH, DAY = 1, 2, 3
# The maximum number of years in the list.
MAX_YEARS: Final = 20


@dataclass(frozen=True, slots=True)
class CalendarPeriod:
    """`first` is its first day, `parts` is one of YEAR, MONTH and DAY."""

    first: date
    parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `2026`, `2026-11` or `2026-11-22`. Raises ValueError for anything else."""
        written = WRITTEN.fullmatch(text)
        if written is None:
            raise ValueError(text)
        year, month, day = (int(part or 1) for part in written.groups())
        if year == MAXYEAR:
            # The day after its last one has no date.
            raise ValueError(text)
        parts = sum(part is not None for part in written.groups())
        return cls(date(year, month, day), parts)

    @property
    def text(self) -> str:
        return self.first.isoformat()[: (4, 7, 10)[self.parts - 1]]

    @property
    def label(self) -> str:
        return date_format(self.first, ("Y", "F Y", "F j, Y")[self.parts - 1])

    @property
    def start(self) -> datetime:
        return _midnight(self.first)

    @property
    def end(self) -> datetime:
        """The time at which it ends, exclusive."""
        return _midnight(self.next_first())

    def containing_periods(self) -> Iterator[Self]:
        """The periods that contain this one, the longest first."""
        if self.parts > YEAR:
            yield type(self)(self.first.replace(month=1, day=1), YEAR)
        if self.parts > MONTH:
            yield type(self)(self.first.replace(day=1), MONTH)

    def contained_periods(self) -> Iterator[Self]:
        """The months of a year, or the days of a month."""
        if self.parts < DAY:
            one = type(self)(self.first, self.parts + 1)
            while one.first < self.next_first():
                yield one
                one = type(self)(one.next_first(), one.parts)

    def next_first(self) -> date:
        if self.parts == YEAR:
            return date(self.first.year + 1, 1, 1)
        if self.parts == MONTH:
            return (self.first + timedelta(days=32)).replace(day=1)
        return self.first + timedelta(days=1)


def choices(
    chosen: CalendarPeriod | None, oldest: datetime, newest: datetime
) -> list[CalendarPeriod]:
    """What can be chosen now: years, or the parts of what is chosen, within the rows there are."""
    last = timezone.localtime(newest).year
    first = max(timezone.localtime(oldest).year, last - MAX_YEARS)
    years = [CalendarPeriod(date(year, 1, 1), YEAR) for year in range(first, last + 1)]
    found = (
        years
        if chosen is None
        else [*chosen.containing_periods(), chosen, *chosen.contained_periods()]
    )
    if chosen is None and len(years) == 1:
        found = [*years, *years[0].contained_periods()]
    return [one for one in found if one == chosen or (one.start <= newest and one.end > oldest)]


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))
