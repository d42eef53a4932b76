"""The allowance of a person in a leave year: by employment, working week and leave policy.

It is the sum over the parts of the year in which all of these are the same. A part has the days a
year of its policy, by its share of the days of the year, and by the days of the week compared with
five. The sum is rounded to half days.

Of the policies whose conditions a person meets on a day, one for the person is before one for a
department, then a type of work, then a work place; of those alike, the one with more years of
service, then the newest. Without a policy, it is the days of the category.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias
from uuid import UUID

from people import access
from people.employment_history import EmploymentHistory, EmploymentPeriod, Terms
from people.leave_years import LeaveYear
from people.models import LeavePolicy, TimeOffCategory
from people.working_time import HALF, ONE_DAY, week_of

DAYS_OF_FULL_TIME: Final = 5
HasCarryRules: TypeAlias = LeavePolicy | TimeOffCategory
# A month and a day, of any year.
DayOfYear: TypeAlias = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class AllowancePart:
    """The days of a leave year with one employment, working week and policy."""

    starts_on: date
    ends_on: date
    year_length: int
    days_a_year: Decimal
    days_a_week: int
    policy: LeavePolicy | None

    @property
    def length(self) -> int:
        return (self.ends_on - self.starts_on).days + 1

    @property
    def exact(self) -> Fraction:
        share = Fraction(self.length, self.year_length)
        return Fraction(self.days_a_year) * share * self.days_a_week / DAYS_OF_FULL_TIME


@dataclass(frozen=True, slots=True)
class CarryRules:
    """What is carried over into a leave year, and the last day on which it is taken."""

    most_days: Decimal
    carries_debt: bool
    taken_until: date | None

    def limit(self, remaining: Decimal) -> Decimal:
        """Returns what is carried over of what is left; negative for what was taken too much."""
        if remaining < 0:
            return remaining if self.carries_debt else Decimal(0)
        return min(remaining, self.most_days)


def list_policies(
    organization_id: UUID, categories: Iterable[TimeOffCategory]
) -> Mapping[str, Sequence[LeavePolicy]]:
    """Returns the policies of each of the categories, by their ids."""
    found: dict[str, list[LeavePolicy]] = {one.pk: [] for one in categories}
    rows = access.rows(LeavePolicy, organization_id).filter(category__in=found)
    for row in rows.order_by("pk"):
        found[row.category_id].append(row)
    return found


def find_days_a_year(
    category: TimeOffCategory, policies: Iterable[LeavePolicy], day: date
) -> Decimal:
    """Returns the days a year of people of whom no policy says anything else, on a day."""
    general = [one for one in policies if not any(_rank(one)[:-2])]
    return _get_days(category, max(_list_valid(general, day), key=_rank, default=None))


def find_policy(history: EmploymentHistory, category: TimeOffCategory, day: date) -> LeavePolicy:
    """Returns the leave policy of a person on a day; one with the defaults if there is none."""
    policies = list_policies(category.organization_id, [category])[category.pk]
    period = history.find_period(day) or EmploymentPeriod()
    found = _find_policy(history, history.find_terms(day), period, policies, day)
    return found or LeavePolicy(category=category, allowance_days=category.allowance_days)


def list_parts(
    history: EmploymentHistory,
    category: TimeOffCategory,
    policies: Sequence[LeavePolicy],
    year: LeaveYear,
) -> Sequence[AllowancePart]:
    """Returns the parts of a leave year in which a person is employed, by day."""
    found: list[AllowancePart] = []
    for period in history.periods:
        first = max(period.first_day, year.starts_on)
        last = min(period.last_day, year.ends_on)
        for terms, begins, ends in history.divide(first, last):
            for starts_on, ends_on in _divide(begins, ends, period, policies):
                policy = _find_policy(history, terms, period, policies, starts_on)
                part = AllowancePart(
                    starts_on,
                    ends_on,
                    year.length,
                    _get_days(category, policy),
                    sum(minutes > 0 for minutes in week_of(terms.working_pattern)),
                    policy,
                )
                _append(found, part)
    return found


def round_parts(parts: Sequence[AllowancePart]) -> Sequence[Decimal]:
    """Returns the days of each part in half days, which add up to the rounded sum of the parts."""
    sums = [Fraction(0)]
    for part in parts:
        sums.append(sums[-1] + part.exact)
    return [_round(after) - _round(before) for before, after in pairwise(sums)]


def find_carry_rules(
    history: EmploymentHistory,
    category: TimeOffCategory,
    policies: Sequence[LeavePolicy],
    year: LeaveYear,
) -> CarryRules | None:
    """Returns the rules for what is carried over into a leave year: those of its first day.

    Each is that of the first policy, by rank, which has it; else that of the category. None for
    people who were not employed before that day, or not known to be.
    """
    day = year.starts_on
    period = history.find_period(day)
    if period is None or period.joined is None or period.joined >= day:
        return None
    met = _list_met(history, history.find_terms(day), period, policies, day)
    of_each: list[HasCarryRules] = [*met, category]
    ends = [(one.carried_until_month, one.carried_until_day) for one in of_each]
    most = (one.carry_over_days for one in of_each if one.carry_over_days is not None)
    debt = (one.carries_debt for one in of_each if one.carries_debt is not None)
    return CarryRules(next(most), next(debt), _find_end(year, ends))


def list_ends_of_carried_days(
    category: TimeOffCategory, policies: Iterable[LeavePolicy], year: LeaveYear
) -> set[date]:
    """Returns the days of a leave year until which carried days of somebody are taken."""
    days_of_year = {(one.carried_until_month, one.carried_until_day) for one in policies}
    days_of_year.add((category.carried_until_month, category.carried_until_day))
    found = {_find_end(year, [one]) for one in days_of_year}
    return {day for day in found if day is not None}


def has_carry_over(category: TimeOffCategory, policies: Iterable[LeavePolicy]) -> bool:
    """Returns whether a category has days carried over for anybody."""
    rules: list[HasCarryRules] = [category, *policies]
    return any(one.carry_over_days or one.carries_debt for one in rules)


def _find_end(
    year: LeaveYear, days_of_year: Iterable[tuple[int | None, int | None]]
) -> date | None:
    """The first of the days that is given, in a leave year."""
    for month, day in days_of_year:
        if month and day:
            end = date(year.starts_on.year, month, day)
            return end if end >= year.starts_on else date(year.ends_on.year, month, day)
    return None


def _append(parts: list[AllowancePart], part: AllowancePart) -> None:
    """Adds a part; what continues the one before without a change becomes one part with it."""
    if parts:
        before = parts[-1]
        is_next = before.ends_on + ONE_DAY == part.starts_on
        alike = (before.days_a_year, before.days_a_week, before.policy)
        if is_next and alike == (part.days_a_year, part.days_a_week, part.policy):
            parts.pop()
            part = AllowancePart(before.starts_on, part.ends_on, part.year_length, *alike)
    parts.append(part)


def _divide(
    first: date, last: date, period: EmploymentPeriod, policies: Sequence[LeavePolicy]
) -> Iterator[tuple[date, date]]:
    """Yields parts of a period of days, within each of which the same policies are valid."""
    begins = {first}
    for policy in policies:
        begins.add(policy.valid_from)
        if policy.valid_to:
            begins.add(policy.valid_to + ONE_DAY)
        if policy.years_of_service and period.joined:
            begins.add(get_anniversary(period.joined, policy.years_of_service))
    days = sorted(day for day in begins if first <= day <= last)
    yield from zip(days, [*(day - ONE_DAY for day in days[1:]), last], strict=True)


def get_anniversary(joined: date, years: int) -> date:
    """Returns the day of a later year; 1 March for 29 February in a year without it."""
    try:
        return joined.replace(year=joined.year + years)
    except ValueError:
        return date(joined.year + years, 3, 1)


def _find_policy(
    history: EmploymentHistory,
    terms: Terms,
    period: EmploymentPeriod,
    policies: Sequence[LeavePolicy],
    day: date,
) -> LeavePolicy | None:
    return next(iter(_list_met(history, terms, period, policies, day)), None)


def _list_met(
    history: EmploymentHistory,
    terms: Terms,
    period: EmploymentPeriod,
    policies: Sequence[LeavePolicy],
    day: date,
) -> Sequence[LeavePolicy]:
    """The policies that a person meets on a day, the one with the highest rank first."""

    def is_met(policy: LeavePolicy) -> bool:
        conditions = (
            (policy.person_id, history.person.pk),
            (policy.department_id, terms.department_id),
            (policy.work_type_id, terms.work_type_id),
            (policy.work_place_id, terms.work_place_id),
        )
        years = policy.years_of_service
        has_served = not years or (
            period.joined is not None and get_anniversary(period.joined, years) <= day
        )
        return has_served and all(asked in {None, own} for asked, own in conditions)

    return sorted(filter(is_met, _list_valid(policies, day)), key=_rank, reverse=True)


def _list_valid(policies: Iterable[LeavePolicy], day: date) -> list[LeavePolicy]:
    return [
        one
        for one in policies
        if one.valid_from <= day and (one.valid_to is None or day <= one.valid_to)
    ]


def _rank(policy: LeavePolicy) -> tuple[bool, bool, bool, bool, int, date, str]:
    """Of the policies that a person meets, the one with the highest rank holds."""
    return (
        policy.person_id is not None,
        policy.department_id is not None,
        policy.work_type_id is not None,
        policy.work_place_id is not None,
        policy.years_of_service,
        policy.valid_from,
        policy.pk,
    )


def _get_days(category: TimeOffCategory, policy: LeavePolicy | None) -> Decimal:
    return category.allowance_days if policy is None else policy.allowance_days


def _round(days: Fraction) -> Decimal:
    """Rounds to half days; a quarter up."""
    return (days * 2 + Fraction(1, 2)).__floor__() * HALF
