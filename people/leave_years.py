"""The leave years of an organization."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from people import access
from people.models import TimeOffSettings
from people.working_time import ONE_DAY


@dataclass(frozen=True, slots=True)
class LeaveYear:
    """The first and the last day."""

    starts_on: date
    ends_on: date

    @property
    def resets_on(self) -> date:
        return self.ends_on + ONE_DAY

    @property
    def previous(self) -> "LeaveYear":
        # Every year has the day on which leave years begin.
        begins = self.starts_on.replace(year=self.starts_on.year - 1)
        return LeaveYear(begins, self.starts_on - ONE_DAY)

    @property
    def length(self) -> int:
        return (self.ends_on - self.starts_on).days + 1


def find_settings(organization_id: UUID) -> TimeOffSettings:
    """Returns the settings of an organization; the defaults if it has none."""
    found = access.rows(TimeOffSettings, organization_id).first()
    return found or TimeOffSettings(organization_id=organization_id)


def find_year(settings: TimeOffSettings, on: date) -> LeaveYear:
    """Returns the leave year that a day is in."""
    begins = [
        date(year, settings.reset_month, settings.reset_day) for year in (on.year, on.year + 1)
    ]
    if on < begins[0]:
        begins = [date(on.year - 1, settings.reset_month, settings.reset_day), begins[0]]
    return LeaveYear(begins[0], begins[1] - ONE_DAY)


def list_years(first: date, last: LeaveYear) -> Sequence[LeaveYear]:
    """Returns the leave years from that of a day to another one, at least the last."""
    found = [last]
    while first < found[-1].starts_on:
        found.append(found[-1].previous)
    return found[::-1]
