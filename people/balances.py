"""What is left of people's allowances in a leave year, with what is carried over into it.

A balance is the sum of its lines: the allowance, what is carried over, entries of the ledger,
requests, and carried days that have expired. What is carried over is calculated from the balance of
the year before at each reading, so that it follows whatever changes there. A person's first leave
year is the one in which their record was made: of the years before, nothing is known.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db.models import DecimalField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from people import access, allowances, calendars, days, leave_years, ledger, lengths
from people.calendars import Holidays
from people.employment_history import EmploymentHistory, find_histories
from people.leave_years import LeaveYear
from people.ledger import CarriedDays, LedgerLine, LineKind
from people.models import (
    AbsenceStatus,
    EntryType,
    LeavePolicy,
    LedgerEntry,
    Person,
    TimeOff,
    TimeOffCategory,
)
from people.models.time_off import BLOCKING
from people.working_time import ONE_DAY

ZERO: Final = Decimal(0)
OfPerson = TypeVar("OfPerson", LedgerEntry, TimeOff)


@dataclass(frozen=True, slots=True)
class CategoryBalance:
    """The days of one category in a leave year, and the lines that they are the sums of."""

    category: TimeOffCategory
    base_allowance: Decimal
    lines: Sequence[LedgerLine]
    # Carried days that no request takes until the day on which they will expire.
    expiring: Decimal = ZERO

    @property
    def allowance(self) -> Decimal:
        return sum((line.days for line in self.lines if line.part is not None), ZERO)

    @property
    def ledger(self) -> dict[str, Decimal]:
        """The sum of each type of entry, with what is calculated of that type."""
        found = {kind.value: ZERO for kind in EntryType}
        for line in self.lines:
            if line.entry_type is not None:
                found[line.entry_type.value] += line.days
        return found

    @property
    def adjustment(self) -> Decimal:
        return sum((line.days for line in self.lines if line.entry_type is not None), ZERO)

    @property
    def approved_days(self) -> Decimal:
        return -self._sum_of(LineKind.TAKEN)

    @property
    def pending(self) -> Decimal:
        return -self._sum_of(LineKind.PENDING)

    @property
    def remaining(self) -> Decimal:
        return sum((line.days for line in self.lines), ZERO)

    @property
    def remaining_in_the_end(self) -> Decimal:
        """What is left of the leave year if no other days are requested."""
        return self.remaining - self.expiring

    @property
    def remaining_before_pending(self) -> Decimal:
        """What is left if no pending request is approved."""
        return self.remaining + self.pending

    def _sum_of(self, kind: LineKind) -> Decimal:
        return sum((line.days for line in self.lines if line.kind == kind), ZERO)


@dataclass(frozen=True, slots=True)
class Balance:
    """A person's categories that are taken from an allowance, and the days of the others."""

    person: Person
    year: LeaveYear
    categories: Sequence[CategoryBalance]
    sick_days: Decimal = ZERO
    other_days: Decimal = ZERO

    def total(self, name: str) -> Decimal:
        """Returns the sum of a figure of all categories."""
        return sum((getattr(one, name) for one in self.categories), ZERO)


@dataclass(frozen=True, slots=True)
class LeaveUse:
    """What a person has taken of a category up to a day, and what is approved for later."""

    person: Person
    balance: CategoryBalance
    taken: Decimal

    @property
    def booked_days(self) -> Decimal:
        return self.balance.approved_days - self.taken


@dataclass(frozen=True, slots=True)
class DaysLeft:
    """What a saved request leaves of its allowance in a leave year. Each balance is read again."""

    request: TimeOff
    # With what balances need of them.
    person: Person
    policies: Sequence[LeavePolicy]
    year: LeaveYear

    @property
    def balance(self) -> CategoryBalance:
        return self._build_balance()

    @property
    def balance_without(self) -> CategoryBalance:
        """The balance as if the request had not been made."""
        return self._build_balance(self.request)

    def _build_balance(self, without: TimeOff | None = None) -> CategoryBalance:
        (use,) = list_leave_use(
            [self.person],
            self.request.category,
            self.policies,
            self.year,
            self.year.ends_on,
            without=without,
        )
        return use.balance


@dataclass(frozen=True, slots=True)
class LeaveRecords:
    """What balances in a leave year are calculated from, read once for all people.

    The rows of each person are by the id of the person, and policies by that of the category.
    Holidays are those of people with requests that are divided.
    """

    today: date
    # In the order of their days, up to the one whose balances are asked for.
    years: Sequence[LeaveYear]
    # The days on which the records of people were made.
    first_days: Mapping[str, date]
    histories: Mapping[str, EmploymentHistory]
    policies: Mapping[str, Sequence[LeavePolicy]]
    entries: Mapping[str, Sequence[LedgerEntry]]
    requests: Mapping[str, Sequence[TimeOff]]
    holidays: Mapping[str, Holidays]

    def count_days(self, row: TimeOff, first: date, last: date) -> Decimal:
        """Returns what a request takes between two days."""
        if row.end_date < first or row.start_date > last:
            return ZERO
        if first <= row.start_date and row.end_date <= last:
            return row.amount_days
        history, holidays = self.histories[row.person_id], self.holidays[row.person_id]
        return lengths.amount(row, first, last, history=history, holidays=holidays).days

    def build_balance(self, key: str, category: TimeOffCategory) -> CategoryBalance:
        """Returns the balance of a person, calculated from their first year on."""
        history, policies = self.histories[key], self.policies[category.pk]
        known = [year for year in self.years[:-1] if self.first_days[key] <= year.ends_on]
        lines: Sequence[LedgerLine] = ()
        expiring = ZERO
        for year in (*known, self.years[-1]):
            rules = allowances.find_carry_rules(history, category, policies, year)
            carried: Sequence[CarriedDays] = ()
            if rules and year.previous in known and self._has_carried(category, year):
                remaining = sum((line.days for line in lines), ZERO)
                carried = [CarriedDays(year.previous, remaining, rules)]
            lines = self._list_lines(key, category, year, carried)
            if rules is None or rules.taken_until is None:
                continue
            expired = self._build_expired(year, rules.taken_until, lines)
            if self.today <= rules.taken_until:
                expiring = -expired.days
            elif expired.days:
                lines = [*lines, expired]
        parts = [line.part for line in lines if line.part is not None]
        base = (
            parts[-1].days_a_year
            if parts
            else allowances.find_days_a_year(category, policies, self.years[-1].ends_on)
        )
        return CategoryBalance(category, base, lines, expiring)

    def sum_without_allowance(self, key: str, categories: Collection[str]) -> Decimal:
        """Returns the approved days of a person in other categories."""
        year = self.years[-1]
        rows = [
            row
            for row in self.requests.get(key, ())
            if row.category_id in categories and row.status == AbsenceStatus.APPROVED
        ]
        return sum((self.count_days(row, year.starts_on, year.ends_on) for row in rows), ZERO)

    def _has_carried(self, category: TimeOffCategory, year: LeaveYear) -> bool:
        """Whether something is carried over into a leave year: once it has begun."""
        first = category.carried_from or year.starts_on
        return first <= year.starts_on <= self.today

    def _list_lines(
        self,
        key: str,
        category: TimeOffCategory,
        year: LeaveYear,
        carried: Sequence[CarriedDays],
    ) -> Sequence[LedgerLine]:
        """The lines of a leave year, but for what expires."""
        parts = allowances.list_parts(
            self.histories[key], category, self.policies[category.pk], year
        )
        granted = zip(parts, allowances.round_parts(parts), strict=True)
        lines = [ledger.build_part_line(part, days) for part, days in granted]
        first_day, last_day = year.starts_on, year.ends_on
        entries = [
            entry
            for entry in self.entries.get(key, ())
            if entry.category_id == category.pk and first_day <= entry.effective_date <= last_day
        ]
        if not any(_is_of_carry_over(entry, year) for entry in entries):
            calculated = map(ledger.build_carried_line, carried)
            lines += [line for line in calculated if line.days]
        lines += map(ledger.build_entry_line, entries)
        lines += [
            ledger.build_request_line(
                row, first_day, last_day, self.count_days(row, first_day, last_day)
            )
            for row in self.requests.get(key, ())
            if row.category_id == category.pk
            and row.start_date <= last_day
            and row.end_date >= first_day
        ]
        return lines

    def _build_expired(
        self, year: LeaveYear, taken_until: date, lines: Sequence[LedgerLine]
    ) -> LedgerLine:
        """The line of carried days that no request takes until a day."""
        requests = [line.request for line in lines if line.request is not None]
        days = [self.count_days(row, year.starts_on, taken_until) for row in requests]
        return ledger.build_expired_line(taken_until, lines, sum(days, ZERO))


def _is_of_carry_over(entry: LedgerEntry, year: LeaveYear) -> bool:
    """Whether an entry is in place of what would be carried over into a leave year."""
    return entry.entry_type == EntryType.CARRY_OVER and entry.effective_date == year.starts_on


def balance(person: Person, on: date) -> Balance:
    """Returns a person's balance in the leave year of a day."""
    year = leave_years.find_year(leave_years.find_settings(person.organization_id), on)
    categories = list(access.rows(TimeOffCategory, person.organization_id))
    policies = allowances.list_policies(person.organization_id, categories)
    records = _read_records([person], categories, policies, year, year.ends_on)
    others = [one for one in categories if not one.consumes_balance]
    sick_days, other_days = (
        records.sum_without_allowance(
            person.pk, [one.pk for one in others if one.is_sickness is is_sickness]
        )
        for is_sickness in (True, False)
    )
    counted = [one for one in categories if one.consumes_balance]
    return Balance(
        person,
        year,
        [records.build_balance(person.pk, one) for one in counted],
        sick_days=sick_days,
        other_days=other_days,
    )


def list_leave_use(
    people: Sequence[Person],
    category: TimeOffCategory,
    policies: Sequence[LeavePolicy],
    year: LeaveYear,
    day: date,
    *,
    without: TimeOff | None = None,
) -> Sequence[LeaveUse]:
    """Returns what each of the people has taken of a category up to a day of a leave year.

    It is calculated `without` a request as if that had not been made. Reads as many statements for
    many people as for one.
    """
    by_category = {category.pk: policies}
    records = _read_records(people, [category], by_category, year, day, without=without)

    def count_taken(row: TimeOff) -> Decimal:
        if row.status != AbsenceStatus.APPROVED or row.start_date > day:
            return ZERO
        # Half a last day may be after the day.
        whole = records.count_days(row, year.starts_on, year.ends_on)
        return min(whole, records.count_days(row, year.starts_on, day))

    return [
        LeaveUse(
            person,
            records.build_balance(person.pk, category),
            sum(map(count_taken, records.requests.get(person.pk, ())), ZERO),
        )
        for person in people
    ]


def list_left(row: TimeOff) -> Sequence[DaysLeft]:
    """Returns what a saved request leaves of its allowance, in the order of the leave years.

    They are those of its days, and for days of a closed year the present one, into which less is
    carried over. There are none if its category is not taken from an allowance.
    """
    category = row.category
    if not category.consumes_balance:
        return []
    settings = leave_years.find_settings(row.organization_id)
    policies = allowances.list_policies(row.organization_id, [category])[category.pk]
    related = ("working_pattern", "work_place", "organization")
    person = access.row(Person, row.organization_id, row.person_id, *related)
    last = leave_years.find_year(settings, row.end_date)
    years = list(leave_years.list_years(row.start_date, last))
    present = leave_years.find_year(settings, days.today(row.organization))
    if last.ends_on < present.starts_on:
        years.append(present)
    return [DaysLeft(row, person, policies, year) for year in years]


def _read_records(
    people: Sequence[Person],
    categories: Collection[TimeOffCategory],
    policies: Mapping[str, Sequence[LeavePolicy]],
    year: LeaveYear,
    day: date,
    *,
    without: TimeOff | None = None,
) -> LeaveRecords:
    """Reads what balances are calculated from, and what is needed to divide requests at a day."""
    by_key = {person.pk: person for person in people}
    named = {category.pk: category for category in categories}
    zone = days.get_zone(people[0].organization) if people else None
    today = timezone.localdate(timezone=zone)
    first_days = {one.pk: timezone.localdate(one.created_at, zone) for one in people}
    years: Sequence[LeaveYear] = [year]
    if year.starts_on <= today:
        years = leave_years.list_years(
            _find_first_day(first_days.values(), categories, policies, year), year
        )
    # By the people alone: without statistics, SQLite takes the index of the organization or of the
    # category instead, and reads the rows of all people.
    entries = LedgerEntry.objects.filter(
        person__in=by_key,
        effective_date__range=(years[0].starts_on, year.ends_on),
        is_replaced=False,
    )
    requests = TimeOff.objects.filter(
        person__in=by_key,
        status__in=BLOCKING,
        start_date__lte=year.ends_on,
        end_date__gte=years[0].starts_on,
    )
    found = [
        row
        for row in requests.order_by("start_date", "pk")
        if row.category_id in named and row != without
    ]
    for row in found:
        row.person, row.category = by_key[row.person_id], named[row.category_id]
    histories = find_histories(by_key.values())
    last_days = {day, *_list_last_days(categories, policies, years)}
    holidays = _find_holidays(found, histories, last_days)
    ordered = entries.order_by("effective_date", "pk")
    return LeaveRecords(
        today, years, first_days, histories, policies, _group(ordered), _group(found), holidays
    )


def _list_last_days(
    categories: Iterable[TimeOffCategory],
    policies: Mapping[str, Sequence[LeavePolicy]],
    years: Sequence[LeaveYear],
) -> set[date]:
    """The days at which requests are divided: ends of leave years, and of carried days in them."""
    found = {years[0].starts_on - ONE_DAY, *(year.ends_on for year in years)}
    for category in categories:
        own = policies.get(category.pk, ())
        for year in years:
            found |= allowances.list_ends_of_carried_days(category, own, year)
    return found


def _find_holidays(
    rows: Sequence[TimeOff],
    histories: Mapping[str, EmploymentHistory],
    last_days: Collection[date],
) -> Mapping[str, Holidays]:
    """The holidays of people with requests that begin up to one of the days and go on after it."""
    divided = [
        row for row in rows if any(row.start_date <= end < row.end_date for end in last_days)
    ]
    if not divided:
        return {}
    first, last = min(row.start_date for row in divided), max(row.end_date for row in divided)
    people = {row.person_id for row in divided}
    return calendars.find_holidays_of([histories[key] for key in people], first, last)


def _find_first_day(
    known: Iterable[date],
    categories: Iterable[TimeOffCategory],
    policies: Mapping[str, Sequence[LeavePolicy]],
    year: LeaveYear,
) -> date:
    """A day of the first leave year that the balances of a leave year follow from."""
    carrying = [
        one
        for one in categories
        if one.consumes_balance and allowances.has_carry_over(one, policies.get(one.pk, ()))
    ]
    earliest = [one.carried_from - ONE_DAY for one in carrying if one.carried_from]
    first = min(known, default=year.starts_on) if carrying else year.starts_on
    return max(first, min(earliest)) if len(earliest) == len(carrying) > 0 else first


def _group(rows: Iterable[OfPerson]) -> Mapping[str, Sequence[OfPerson]]:
    """Rows by the ids of their people."""
    found: dict[str, list[OfPerson]] = {}
    for row in rows:
        found.setdefault(row.person_id, []).append(row)
    return found


def filter_taken_below(
    people: QuerySet[Person],
    category: TimeOffCategory,
    year: LeaveYear,
    day: date,
    most: Decimal,
) -> QuerySet[Person]:
    """Returns the people who may have taken fewer days of a category up to a day.

    Only requests that begin in the leave year and end by the day are counted: those who have taken
    so many days with parts of others are among the people too.
    """
    complete = TimeOff.objects.filter(
        person=OuterRef("pk"),
        category=category,
        status=AbsenceStatus.APPROVED,
        start_date__gte=year.starts_on,
        end_date__lte=day,
    )
    total = complete.order_by().values("person").annotate(total=Sum("amount_days"))
    found: Any = Coalesce(Subquery(total.values("total")), ZERO, output_field=DecimalField())
    return people.annotate(complete=found).filter(complete__lt=most)
