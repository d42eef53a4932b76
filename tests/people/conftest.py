"""An organization with a person, their manager, a category and a working pattern."""

import time
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from django.db import connection

from people import calendars, time_off
from people.models import (
    HolidayCalendar,
    Person,
    PublicHoliday,
    ReferenceItem,
    ReferenceKind,
    TimeOff,
    TimeOffCategory,
    WorkingPattern,
)
from tests.people.api.program import Program
from workspace.models import Organization

_numbers = count(1)


@dataclass
class Office:
    """An organization, and rows of it on demand."""

    organization: Organization
    leave: TimeOffCategory = field(init=False)

    def __post_init__(self) -> None:
        self.leave = self.category("Leave", consumes_balance=True, allowance_days=Decimal(28))

    def person(self, **values: Any) -> Person:
        return Person.objects.create(
            organization=self.organization, **{"first_name": "Ada"} | values
        )

    def category(self, name: str, **values: Any) -> TimeOffCategory:
        return TimeOffCategory.objects.create(organization=self.organization, name=name, **values)

    def pattern(self, label: str = "Four days", **minutes: int) -> WorkingPattern:
        return WorkingPattern.objects.create(
            organization=self.organization, label=label, **{"friday": 0} | minutes
        )

    def calendar(self, name: str, **values: Any) -> HolidayCalendar:
        return HolidayCalendar.objects.create(organization=self.organization, name=name, **values)

    def holiday(
        self, day: date, calendar: HolidayCalendar | None = None, *, is_half_day: bool = False
    ) -> None:
        """Adds a holiday to a calendar; without one to the default, which is added if needed."""
        PublicHoliday.objects.create(
            organization=self.organization,
            calendar=calendar
            or calendars.find_default(self.organization.pk)
            or self.calendar("Default", is_default=True),
            date=day,
            name="Holiday",
            is_half_day=is_half_day,
        )

    def place(self, label: str, **values: Any) -> ReferenceItem:
        return ReferenceItem.objects.create(
            organization=self.organization,
            kind=ReferenceKind.WORK_PLACE,
            label=label,
            **values,
        )

    def leave_of(self, person: Person, start: date, end: date, **more: Any) -> TimeOff:
        return time_off.request(person, more.pop("category", self.leave), start, end, **more)


def create_office() -> Office:
    number = next(_numbers)
    slug = f"office-{number}"
    return Office(Organization.objects.create(name=slug, slug=slug, widget_key=slug))


@pytest.fixture
def office(db: None) -> Office:  # noqa: ARG001  opens the database
    return create_office()


@pytest.fixture
def other_office(db: None) -> Office:  # noqa: ARG001  opens the database
    return create_office()


@pytest.fixture
def program(office: Office) -> Program:
    """A program that calls the HR API of the office with all scopes."""
    return Program(office.organization)


def wait_for_lock() -> None:
    """Waits until a statement of another connection waits for a lock of a row."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    until = time.monotonic() + 20
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
    pytest.fail("Nothing waits.")
