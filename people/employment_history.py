"""When people were employed, and what as: the records of their employment, read once for many.

A record holds from its day to the next one; the first one also covers every earlier day. The
periods of employment follow from the start and end dates of the records: a start date after the
last day of the period before begins a new one, any other date corrects the present one.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from people import access
from people.models import EmploymentRecord, Person
from people.working_time import ONE_DAY

# What a person is employed as: a record of employment, or the person if there is none.
Terms: TypeAlias = EmploymentRecord | Person


@dataclass(frozen=True, slots=True)
class EmploymentPeriod:
    """From the first to the last day of an employment; None for one that is not known."""

    joined: date | None = None
    left: date | None = None

    def includes(self, day: date) -> bool:
        return self.first_day <= day <= self.last_day

    @property
    def first_day(self) -> date:
        return self.joined or date.min

    @property
    def last_day(self) -> date:
        return self.left or date.max


@dataclass(frozen=True, slots=True)
class EmploymentHistory:
    """The employment of one person. The first terms begin on `date.min`."""

    person: Person
    terms: Sequence[tuple[date, Terms]]
    periods: Sequence[EmploymentPeriod]

    def find_terms(self, day: date) -> Terms:
        """Returns what the person is employed as on a day, if they are employed then."""
        return next(terms for begins, terms in reversed(self.terms) if begins <= day)

    def find_period(self, day: date) -> EmploymentPeriod | None:
        """Returns the employment of a day; None if the person is not employed on it."""
        return next((one for one in self.periods if one.includes(day)), None)

    def divide(self, first: date, last: date) -> Iterator[tuple[Terms, date, date]]:
        """Yields the terms of the days from `first` to `last`, each with its days among them."""
        ends = [begins - ONE_DAY for begins, _terms in self.terms[1:]]
        for (begins, terms), end in zip(self.terms, [*ends, date.max], strict=True):
            starts_on, ends_on = max(begins, first), min(end, last)
            if starts_on <= ends_on:
                yield terms, starts_on, ends_on


def find_history(person: Person) -> EmploymentHistory:
    """Returns the employment of one person."""
    return find_histories([person])[person.pk]


def find_histories(people: Collection[Person]) -> Mapping[str, EmploymentHistory]:
    """Returns the employment of each of the people, by their ids, with one statement."""
    if not people:
        return {}
    records = access.rows(EmploymentRecord, next(iter(people)).organization_id)
    of_people = records.filter(person__in=[one.pk for one in people])
    related = of_people.select_related("working_pattern", "work_place")
    found: dict[str, list[EmploymentRecord]] = {}
    for record in related.order_by("effective_from"):
        found.setdefault(record.person_id, []).append(record)
    return {one.pk: _build_history(one, found.get(one.pk, [])) for one in people}


def _build_history(person: Person, records: Sequence[EmploymentRecord]) -> EmploymentHistory:
    if not records:
        return EmploymentHistory(person, [(date.min, person)], _list_periods([person]))
    days = [date.min, *(record.effective_from for record in records[1:])]
    return EmploymentHistory(person, [*zip(days, records, strict=True)], _list_periods(records))


def _list_periods(terms: Sequence[Terms]) -> Sequence[EmploymentPeriod]:
    """The employments that the terms name one after another."""
    found: list[EmploymentPeriod] = []
    for one in terms:
        period = EmploymentPeriod(one.start_date, one.end_date)
        if found and period.first_day <= found[-1].last_day:
            found.pop()
        # A corrected start date may be one of the employment before, which then ends earlier.
        while found and found[-1].last_day >= period.first_day:
            before = found.pop()
            if before.first_day < period.first_day:
                found.append(EmploymentPeriod(before.joined, period.first_day - ONE_DAY))
        found.append(period)
    return found
