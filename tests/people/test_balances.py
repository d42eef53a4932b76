"""What is left of an allowance, by leave year, employment, working pattern and ledger."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from people import balances, leave_years, time_off
from people.models import EntryType, LedgerEntry, Person, TimeOffSettings
from tests.people.conftest import Office

JUNE = date(2026, 6, 15)


def only(person: Person, on: date = JUNE) -> balances.CategoryBalance:
    """The balance of the one category with an allowance."""
    (found,) = balances.balance(person, on).categories
    return found


@pytest.mark.parametrize(
    ("month", "day", "on", "starts", "ends"),
    [
        (1, 1, JUNE, date(2026, 1, 1), date(2026, 12, 31)),
        (4, 1, date(2026, 3, 31), date(2025, 4, 1), date(2026, 3, 31)),
        (4, 1, date(2026, 4, 1), date(2026, 4, 1), date(2027, 3, 31)),
        (3, 1, date(2028, 2, 29), date(2027, 3, 1), date(2028, 2, 29)),
    ],
)
def test_the_leave_year_begins_on_the_day_of_the_settings(
    month: int, day: int, on: date, starts: date, ends: date
) -> None:
    year = leave_years.find_year(TimeOffSettings(reset_month=month, reset_day=day), on)
    assert (year.starts_on, year.ends_on) == (starts, ends)


def test_a_leave_year_begins_on_a_day_that_every_year_has(office: Office) -> None:
    settings = TimeOffSettings(organization=office.organization, reset_month=2, reset_day=29)
    with pytest.raises(ValidationError, match="does not have this day"):
        settings.full_clean()


@pytest.mark.parametrize(
    ("employed", "days_a_week", "allowance"),
    [
        ({}, 5, "28"),
        ({"start_date": date(2026, 7, 1)}, 5, "14"),
        ({"end_date": date(2026, 3, 31)}, 5, "7"),
        ({"start_date": date(2027, 1, 1)}, 5, "0"),
        ({}, 4, "22.5"),
    ],
)
def test_an_allowance_follows_employment_and_working_pattern(
    office: Office, employed: dict[str, Any], days_a_week: int, allowance: str
) -> None:
    pattern = office.pattern() if days_a_week == 4 else None
    person = office.person(working_pattern=pattern, **employed)
    assert only(person).allowance == Decimal(allowance)


def test_what_is_left_is_less_what_is_pending_and_approved_in_the_year(office: Office) -> None:
    person = office.person(manager=office.person())
    approved = office.leave_of(person, date(2026, 5, 4), date(2026, 5, 8))
    time_off.approve(office.organization.pk, approved.pk)
    office.leave_of(person, date(2026, 8, 3), date(2026, 8, 3), is_from_half_day=True)
    declined = office.leave_of(person, date(2026, 9, 7), date(2026, 9, 11))
    time_off.decline(office.organization.pk, declined.pk)
    over_the_end = office.leave_of(person, date(2026, 12, 28), date(2027, 1, 8))
    time_off.approve(office.organization.pk, over_the_end.pk)
    found = only(person)
    assert (found.approved_days, found.pending) == (Decimal(9), Decimal("0.5"))
    assert found.remaining == Decimal("18.5")
    assert only(person, date(2027, 2, 1)).approved_days == 6


def test_the_ledger_counts_in_the_year_of_its_days(office: Office) -> None:
    person = office.person()
    for amount, day in (("2", date(2026, 1, 1)), ("-0.5", JUNE), ("9", date(2025, 12, 31))):
        LedgerEntry.objects.create(
            organization=office.organization,
            person=person,
            category=office.leave,
            amount_days=Decimal(amount),
            effective_date=day,
        )
    found = only(person)
    assert found.ledger[EntryType.MANUAL_ADJUSTMENT] == found.adjustment == Decimal("1.5")
    assert found.remaining == Decimal("29.5")
