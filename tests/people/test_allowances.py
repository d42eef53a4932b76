"""The allowance of a year is the sum over the parts in which employment, week and policy are one.

The figures are computed by hand. Every year here has 365 days.
"""

from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from people import allowances, balances, employment, time_off
from people.allowances import AllowancePart
from people.changes import RefusedChange
from people.employment_history import EmploymentHistory, EmploymentPeriod
from people.leave_years import LeaveYear
from people.models import (
    EmploymentRecord,
    LeavePolicy,
    Person,
    ReferenceItem,
    ReferenceKind,
    TimeOffCategory,
    WorkingPattern,
)
from tests.people.conftest import Office

YEAR = LeaveYear(date(2026, 1, 1), date(2026, 12, 31))
JUNE = date(2026, 6, 15)


@pytest.fixture(autouse=True)
def _today() -> Any:
    with time_machine.travel("2026-11-27T12:00:00Z", tick=False):
        yield


def allowance(person: Person, year: int = 2026) -> float:
    person = Person.objects.get(pk=person.pk)
    (found,) = balances.balance(person, date(year, 6, 15)).categories
    return float(found.allowance)


def policy(office: Office, days: str, valid_from: date, **values: Any) -> LeavePolicy:
    return LeavePolicy.objects.create(
        organization=office.organization,
        category=office.leave,
        name=f"{days} days",
        allowance_days=Decimal(days),
        valid_from=valid_from,
        **values,
    )


def test_a_changed_week_counts_from_its_day(office: Office) -> None:
    """304 days of five days a week, then 61 days of three.

    28 x 304 / 365 = 23.32 and 28 x 3 / 5 x 61 / 365 = 2.81, together 26.13: 26 in half days.
    """
    three = office.pattern("Three", thursday=0)
    person = office.person()
    employment.change(person, date(2020, 1, 1), start_date=date(2020, 1, 1))
    employment.change(person, date(2026, 11, 1), working_pattern=three)
    assert allowance(person) == 26.0
    assert (allowance(person, 2025), allowance(person, 2027)) == (28.0, 17.0)


def test_five_days_until_june_and_four_from_july(office: Office) -> None:
    """28 x 181 / 365 = 13.88 and 22.4 x 184 / 365 = 11.29, together 25.18: 25 in half days."""
    person = office.person()
    employment.change(person, date(2020, 1, 1), start_date=date(2020, 1, 1))
    employment.change(person, date(2026, 7, 1), working_pattern=office.pattern())
    assert (allowance(person), allowance(person, 2025)) == (25.0, 28.0)


def test_somebody_who_comes_back_has_the_days_of_both_employments(office: Office) -> None:
    """90 days until 31 March, 92 days from 1 October: 28 x 182 / 365 = 13.96, 14 in half days.

    Ten days in January are taken from them: 4 are left.
    """
    person = office.person()
    employment.change(person, date(2020, 1, 1), start_date=date(2020, 1, 1))
    office.leave_of(person, date(2026, 1, 5), date(2026, 1, 16))
    employment.change(person, date(2026, 3, 1), end_date=date(2026, 3, 31))
    back = {"start_date": date(2026, 10, 1), "end_date": None}
    employment.change(person, date(2026, 10, 1), **back)
    (found,) = balances.balance(person, JUNE).categories
    assert (found.allowance, found.approved_days, found.remaining) == (14, 10, 4)
    # Days of the first employment are entered afterwards, and days between them are refused.
    assert office.leave_of(person, date(2026, 3, 2), date(2026, 3, 3)).amount_days == 2
    for start, end, message in (
        (date(2026, 3, 30), date(2026, 4, 1), "not employed on the last day, but until 2026-03-31"),
        (date(2026, 6, 1), date(2026, 6, 2), "not employed on the first day, but from 2026-10-01"),
    ):
        with pytest.raises(RefusedChange, match=message):
            time_off.request(person, office.leave, start, end)


def test_a_policy_holds_from_its_day_and_changes_no_earlier_year(office: Office) -> None:
    """30 days from 1 July 2026 on: 28 x 181 / 365 + 30 x 184 / 365 = 13.88 + 15.12 = 29.01."""
    policy(office, "30", date(2026, 7, 1))
    person = office.person()
    assert [allowance(person, year) for year in (2025, 2026, 2027)] == [28.0, 29.0, 30.0]


def test_the_policy_with_the_most_specific_condition_holds(office: Office) -> None:
    berlin = office.place("Berlin")
    apprentice = ReferenceItem.objects.create(
        organization=office.organization, kind=ReferenceKind.WORK_TYPE, label="Apprentice"
    )
    always = date(2020, 1, 1)
    policy(office, "25", always)
    policy(office, "27", always, work_place=berlin)
    policy(office, "24", always, work_type=apprentice)
    there = {"work_place": berlin}
    everybody, here = office.person(), office.person(**there)
    learner, special = office.person(work_type=apprentice, **there), office.person(**there)
    policy(office, "33", always, person=special)
    people = (everybody, here, learner, special)
    assert [allowance(person) for person in people] == [25.0, 27.0, 24.0, 33.0]
    # A policy that ends gives way to the next one: 27 x 181 / 365 + 25 x 184 / 365 = 25.99.
    LeavePolicy.objects.filter(work_place=berlin).update(valid_to=date(2026, 6, 30))
    assert [allowance(here, year) for year in (2026, 2027)] == [26.0, 25.0]


def test_years_of_service_are_complete_on_the_day_of_joining(office: Office) -> None:
    """Two days more after five years, which are complete on 1 July 2026.

    28 x 181 / 365 + 30 x 184 / 365 = 29.01. Somebody who joined again begins again.
    """
    policy(office, "30", date(2020, 1, 1), years_of_service=5)
    person = office.person(start_date=date(2021, 7, 1))
    assert [allowance(person, year) for year in (2025, 2026, 2027)] == [28.0, 29.0, 30.0]
    again = office.person()
    employment.change(again, date(2010, 1, 1), start_date=date(2010, 1, 1))
    employment.change(again, date(2024, 12, 1), end_date=date(2024, 12, 31))
    employment.change(again, date(2025, 1, 1), start_date=date(2025, 1, 1), end_date=None)
    assert (allowance(again, 2024), allowance(again, 2026)) == (30.0, 28.0)
    assert allowances.get_anniversary(date(2024, 2, 29), 1) == date(2025, 3, 1)


def test_policies_of_another_organization_do_not_count(
    office: Office, other_office: Office
) -> None:
    policy(other_office, "40", date(2020, 1, 1))
    assert allowance(office.person()) == 28.0


DAYS = st.integers(0, 364).map(lambda number: YEAR.starts_on + timedelta(days=number))
WEEKS = st.integers(1, 5).map(
    lambda number: WorkingPattern(
        id=f"working_pattern_{number}",
        **{
            day: 480 if place < number else 0
            for place, day in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday"))
        },
    )
)
CATEGORY = TimeOffCategory(id="toc_1", allowance_days=Decimal(28), consumes_balance=True)


def build_history(
    weeks: dict[date, WorkingPattern], periods: list[EmploymentPeriod]
) -> EmploymentHistory:
    days = sorted(weeks)
    records = [EmploymentRecord(working_pattern=weeks[day]) for day in days]
    begins = [date.min, *days[1:]]
    return EmploymentHistory(Person(id="p"), [*zip(begins, records, strict=True)], periods)


def list_parts(history: EmploymentHistory, *policies: LeavePolicy) -> list[AllowancePart]:
    return list(allowances.list_parts(history, CATEGORY, policies, YEAR))


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(DAYS, WEEKS, min_size=1, max_size=5), st.sets(DAYS, max_size=4))
def test_a_year_is_the_sum_of_its_periods(
    weeks: dict[date, WorkingPattern], cuts: set[date]
) -> None:
    """However a year is cut into employments that follow each other, the sum is the same."""
    whole = list_parts(build_history(weeks, [EmploymentPeriod()]))
    bounds = [YEAR.starts_on, *sorted(cuts - {YEAR.starts_on}), YEAR.resets_on]
    periods = [
        EmploymentPeriod(first, after - timedelta(days=1)) for first, after in pairwise(bounds)
    ]
    cut = list_parts(build_history(weeks, periods))
    assert sum(part.exact for part in whole) == sum(part.exact for part in cut)
    assert sum(allowances.round_parts(whole)) == sum(allowances.round_parts(cut))
    by_period = [list_parts(build_history(weeks, [period])) for period in periods]
    assert sum(part.exact for parts in by_period for part in parts) == sum(
        part.exact for part in whole
    )
    assert sum(part.length for part in whole) == 365


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(DAYS, st.integers(0, 60)), max_size=5, unique_by=lambda one: one[0]),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_policies_are_entered_does_not_matter(
    entered: list[tuple[date, int]], random: Any
) -> None:
    policies = [
        LeavePolicy(id=f"lpo_{number}", allowance_days=Decimal(days), valid_from=day)
        for number, (day, days) in enumerate(entered)
    ]
    history = build_history({YEAR.starts_on: WorkingPattern(id="w")}, [EmploymentPeriod()])
    first = list_parts(history, *policies)
    random.shuffle(policies)
    assert list_parts(history, *policies) == first
    # Each day has the days of the newest policy that has begun.
    known = {policy.valid_from: policy.allowance_days for policy in policies}
    for part in first:
        begun = [day for day in known if day <= part.starts_on]
        assert part.days_a_year == (known[max(begun)] if begun else Decimal(28))
