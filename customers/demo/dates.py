"""The days of the demo data: 18 months that end now, in the organization's time zone."""

from bisect import bisect
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from typing import Final
from zoneinfo import ZoneInfo

from customers.demo.texts import Dice

DAYS: Final = 548
# From January: holidays in summer and at the end of the year.
SEASONS: Final = (1.05, 1.0, 1.05, 1.0, 1.0, 0.95, 0.85, 0.75, 1.1, 1.1, 1.05, 0.7)
WEEKDAYS: Final = (1.1, 1.15, 1.1, 1.05, 0.9, 0.25, 0.2)
# Hours of a day as often as people are at work in them.
HOURS: Final = (
    *(0, 6, 7, 7, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12),
    *(13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 17, 17, 18, 19, 20, 21, 22),
)
MARCH: Final = 3
TUESDAY, THURSDAY, SUNDAY = 1, 3, 6


class Dates:
    """Days are numbered from 0, the oldest, to DAYS, which is today."""

    def __init__(self, now: datetime, zone: ZoneInfo) -> None:
        self.now = now.astimezone(UTC)
        self.zone = zone
        self.today = now.astimezone(zone).date()
        self.first = self.today - timedelta(days=DAYS)
        self.midnights = [self.midnight(self.day(number)) for number in range(DAYS + 2)]
        self.elapsed = (self.now - self.midnights[DAYS]) / timedelta(days=1)
        self.cumulated = list(accumulate(map(self._weight, range(DAYS + 1))))
        self.slow_boards, self.no_sign_in = self._incidents()

    def day(self, number: int) -> date:
        return self.first + timedelta(days=number)

    def number(self, day: date) -> int:
        return (day - self.first).days

    def midnight(self, day: date) -> datetime:
        return self.to_utc(day, 0)

    def to_utc(self, day: date, hour: int, minute: int = 0, second: int = 0) -> datetime:
        """Returns a time of the organization's day, in UTC."""
        local = datetime.combine(day, time(hour, minute, second), self.zone)
        return local.astimezone(UTC)

    def moment(self, number: int, dice: Dice) -> datetime:
        """Returns a time on a day, in working hours more often than at night, and not after now."""
        offset = dice.pick(HOURS) * 3600 + dice.random() * 3600
        if number == DAYS:
            offset *= min(self.elapsed, 1)
        return self.midnights[number] + timedelta(seconds=int(offset))

    def pick(self, dice: Dice) -> int:
        """Returns a day after the first: later ones are busier, weekends and holidays quieter."""
        return max(1, bisect(self.cumulated, dice.random() * self.cumulated[-1]))

    def this_week(self) -> date:
        return self.today - timedelta(days=self.today.weekday())

    def last_week(self) -> date:
        return self.this_week() - timedelta(days=7)

    def last_quarter(self) -> date:
        """Returns the first day of the quarter before this one."""
        month = (self.today.month - 1) // 3 * 3 + 1
        last_day = self.today.replace(month=month, day=1) - timedelta(days=1)
        return last_day.replace(month=last_day.month - 2, day=1)

    def _weight(self, number: int) -> float:
        day = self.day(number)
        growth = 0.6 + number / DAYS
        whole = growth * SEASONS[day.month - 1] * WEEKDAYS[day.weekday()]
        return whole * min(self.elapsed, 1) if number == DAYS else whole

    def _incidents(self) -> tuple[date, date]:
        """Returns a Tuesday in March, and a Thursday about 75 days ago that is not near it."""
        year = self.today.year if self.today >= date(self.today.year, 4, 1) else self.today.year - 1
        march = _weekday_from(date(year, MARCH, 11), TUESDAY)
        other = _weekday_from(self.today - timedelta(days=77), THURSDAY)
        is_near = abs(other - march) < timedelta(days=25)
        return march, other - timedelta(days=49) if is_near else other


def _weekday_from(day: date, weekday: int) -> date:
    return day + timedelta(days=(weekday - day.weekday()) % 7)


def later(start: datetime, dice: Dice, minutes: float) -> datetime:
    """Returns a time after `start`: the gaps are distributed exponentially, with this mean."""
    return start + timedelta(seconds=60 + int(dice.expovariate(1) * minutes * 60))
