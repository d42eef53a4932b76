"""Balances of records that earlier versions wrote, compared with what those versions calculated."""

from datetime import date
from decimal import ROUND_HALF_UP, Decimal

import pytest

from people import balances, employment, seeding
from people.models import Person, TimeOffCategory
from people.working_time import week_of
from workspace.models import Organization

DAY = date(2026, 11, 28)
YEARS = (2024, 2025, 2026, 2027)


def earlier_allowance(person: Person, category: TimeOffCategory, year: int) -> Decimal:
    """As version 1 calculated it: the present dates and the present week, for every year."""
    first, last = date(year, 1, 1), date(year, 12, 31)
    begins = max(first, person.start_date or first)
    ends = min(last, person.end_date or last)
    employed = max((ends - begins).days + 1, 0)
    days_a_week = sum(minutes > 0 for minutes in week_of(person.working_pattern))
    length = (last - first).days + 1
    exact = category.allowance_days * employed / length * days_a_week / 5
    return (exact * 2).quantize(Decimal(1), ROUND_HALF_UP) / 2


def list_differences() -> dict[tuple[str, str, int], tuple[float, float]]:
    """Allowances that are not what version 1 calculated, by person, category and year."""
    found = {}
    for person in Person.objects.select_related("working_pattern", "organization"):
        for year in YEARS:
            for one in balances.balance(person, date(year, 6, 15)).categories:
                before = earlier_allowance(person, one.category, year)
                figures = one.adjustment - one.approved_days - one.pending
                assert one.remaining == one.allowance + figures
                if before != one.allowance:
                    key = person.pk, one.category.name, year
                    found[key] = float(before), float(one.allowance)
    return found


@pytest.mark.django_db
def test_balances_differ_only_where_the_present_week_was_taken_for_another_time() -> None:
    organization = Organization.objects.create(name="Demo", slug="demo", widget_key="demo")
    seeding.seed(organization, DAY)
    assert list_differences() == {}
    # One person has worked four days a week since July, and five before. The category has 28 days:
    # earlier versions took four days for every year, 22.4, which is 22.5 in half days.
    # Now 2026 has 28 x 181 / 365 + 22.4 x 184 / 365 = 13.88 + 11.29 = 25.18, which is 25.
    person = Person.objects.filter(
        working_pattern__friday__gt=0, start_date__lt=date(2024, 1, 1), end_date=None
    ).order_by("pk")[0]
    (four,) = {one.working_pattern for one in Person.objects.filter(working_pattern__friday=0)}
    employment.change(person, date(2026, 7, 1), working_pattern=four)
    # Of the 3 days of study leave, four days a week are 2.4, which is 2.5; 2026 has
    # 3 x 181 / 365 + 2.4 x 184 / 365 = 2.70, which is 2.5 too.
    assert list_differences() == {
        (person.pk, "Annual leave", 2024): (22.5, 28.0),
        (person.pk, "Annual leave", 2025): (22.5, 28.0),
        (person.pk, "Annual leave", 2026): (22.5, 25.0),
        (person.pk, "Study leave", 2024): (2.5, 3.0),
        (person.pk, "Study leave", 2025): (2.5, 3.0),
    }
