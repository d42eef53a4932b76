"""What is left of people's allowances in a leave year, and what is carried into the next.

A balance is the sum of its lines: the allowance, entries of the ledger, and requests.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db import transaction
from django.db.models import Count, DecimalField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from people import access, allowances, calendars, days, leave_years, ledger, time_off
from people.calendars import Holidays
from people.employment_history import EmploymentHistory, find_histories
from people.leave_years import LeaveYear
from people.ledger import LedgerLine, LineKind
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
from workspace.models import Organization

ZERO: Final = Decimal(0)
# The hour of UTC in which carry-over looks at leave years that began on an earlier day.
CATCH_UP_HOUR: Final = 3
# People whose leave is carried over with the same statements.
BATCH: Final = 500
OfPerson = TypeVar("OfPerson", LedgerEntry, TimeOff)


@dataclass(frozen=True, slots=True)
class CategoryBalance:
    """The days of one category in a leave year, and the lines that they are the sums of."""

    category: TimeOffCategory
    base_allowance: Decimal
    lines: Sequence[LedgerLine]

    @property
    def allowance(self) -> Decimal:
        return sum((line.days for line in self.lines if line.part is not None), ZERO)

    @property
    def ledger(self) -> dict[str, Decimal]:
        """The sum of each type of entry."""
        found = {kind.value: ZERO for kind in EntryType}
        for line in self.lines:
            if line.entry is not None:
                found[line.entry.entry_type] += line.days
        return found

    @property
    def adjustment(self) -> Decimal:
        return sum((line.days for line in self.lines if line.entry is not None), ZERO)

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
class LeaveRecords:
    """What balances in a leave year are calculated from, read once for all people.

    The rows of each person are by the id of the person, and policies by that of the category.
    Holidays are those of people with requests of which only a part counts.
    """

    year: LeaveYear
    histories: Mapping[str, EmploymentHistory]
    policies: Mapping[str, Sequence[LeavePolicy]]
    entries: Mapping[str, Sequence[LedgerEntry]]
    requests: Mapping[str, Sequence[TimeOff]]
    holidays: Mapping[str, Holidays]

    def count_days(self, row: TimeOff, first: date, last: date) -> Decimal:
        """Returns what a request takes between two days."""
        if first <= row.start_date and row.end_date <= last:
            return row.amount_days
        history, holidays = self.histories[row.person_id], self.holidays[row.person_id]
        return time_off.amount(row, first, last, history=history, holidays=holidays).days

    def build_balance(self, key: str, category: TimeOffCategory) -> CategoryBalance:
        """Returns the balance of a person."""
        year, policies = self.year, self.policies[category.pk]
        parts = allowances.list_parts(self.histories[key], category, policies, year)
        granted = zip(parts, allowances.round_parts(parts), strict=True)
        lines = [ledger.build_part_line(part, days) for part, days in granted]
        lines += [
            ledger.build_entry_line(entry)
            for entry in self.entries.get(key, ())
            if entry.category_id == category.pk
        ]
        lines += [
            ledger.build_request_line(
                row, *(bounds := (year.starts_on, year.ends_on)), self.count_days(row, *bounds)
            )
            for row in self.requests.get(key, ())
            if row.category_id == category.pk
        ]
        base = (
            parts[-1].days_a_year
            if parts
            else allowances.find_days_a_year(category, policies, year.ends_on)
        )
        return CategoryBalance(category, base, lines)

    def sum_without_allowance(self, key: str, categories: Collection[str]) -> Decimal:
        """Returns the approved days of a person in other categories."""
        year = self.year
        rows = [
            row
            for row in self.requests.get(key, ())
            if row.category_id in categories and row.status == AbsenceStatus.APPROVED
        ]
        return sum((self.count_days(row, year.starts_on, year.ends_on) for row in rows), ZERO)


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
) -> Sequence[LeaveUse]:
    """Returns what each of the people has taken of a category up to a day of a leave year.

    Reads as many statements for many people as for one.
    """
    records = _read_records(people, [category], {category.pk: policies}, year, day)

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


def _read_records(
    people: Collection[Person],
    categories: Collection[TimeOffCategory],
    policies: Mapping[str, Sequence[LeavePolicy]],
    year: LeaveYear,
    day: date,
) -> LeaveRecords:
    """Reads what balances are calculated from, and what is needed to divide requests at a day."""
    by_key = {person.pk: person for person in people}
    named = {category.pk: category for category in categories}
    # By the people alone: without statistics, SQLite takes the index of the organization or of the
    # category instead, and reads the rows of all people.
    entries = LedgerEntry.objects.filter(
        person__in=by_key, effective_date__range=(year.starts_on, year.ends_on)
    )
    requests = TimeOff.objects.filter(
        person__in=by_key,
        status__in=BLOCKING,
        start_date__lte=year.ends_on,
        end_date__gte=year.starts_on,
    )
    found = [row for row in requests.order_by("start_date", "pk") if row.category_id in named]
    for row in found:
        row.person, row.category = by_key[row.person_id], named[row.category_id]
    histories = find_histories(by_key.values())
    divided = [row for row in found if _is_divided(row, year, day)]
    holidays = calendars.find_holidays_of(
        [histories[key] for key in {row.person_id for row in divided}],
        min((row.start_date for row in divided), default=day),
        max((row.end_date for row in divided), default=day),
    )
    ordered = entries.order_by("effective_date", "pk")
    return LeaveRecords(year, histories, policies, _group(ordered), _group(found), holidays)


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


def _is_divided(row: TimeOff, year: LeaveYear, day: date) -> bool:
    """Whether only a part of a request is in the leave year, or up to the day."""
    is_within = year.starts_on <= row.start_date and row.end_date <= year.ends_on
    return not is_within or row.start_date <= day < row.end_date


def carry_over_everywhere(now: datetime) -> int:
    """Does what `carry_over` does for every organization that has a category to carry over."""
    carried = TimeOffCategory.objects.filter(carry_over_days__gt=0).values("organization")
    organizations = list(Organization.with_sandboxes.filter(pk__in=carried))
    return sum(carry_over(organization, now) for organization in organizations)


def carry_over(organization: Organization, now: datetime) -> int:
    """Carries what was left of one leave year into the next, which has begun in its time zone.

    Returns the number of new ledger entries. At most the category's days are carried over, and
    only once for each person and category. Nothing is known of the year before for people whose
    records were made in this one. After the first day of a leave year this is done once a day.
    """
    zone = days.get_zone(organization)
    today = timezone.localdate(now, zone)
    settings = leave_years.find_settings(organization.pk)
    year = leave_years.find_year(settings, today)
    if today != year.starts_on and now.astimezone(UTC).hour != CATCH_UP_HOUR:
        return 0
    last_day = year.starts_on - ONE_DAY
    carried = access.rows(TimeOffCategory, organization.pk).filter(carry_over_days__gt=0)
    categories = list(carried.filter(consumes_balance=True))
    limits = {category.pk: category.carry_over_days for category in categories}
    employed = access.rows(Person, organization.pk).exclude(end_date__lt=year.starts_on)
    begins = datetime.combine(year.starts_on, time.min, zone)
    known = employed.filter(start_date__lte=last_day, created_at__lt=begins).exclude(
        pk__in=_list_finished(organization, year.starts_on, limits)
    )
    people = list(known.select_related("working_pattern", "work_place")) if limits else []
    policies = allowances.list_policies(organization.pk, categories) if people else {}
    before = leave_years.find_year(settings, last_day)
    made = 0
    for first in range(0, len(people), BATCH):
        batch = people[first : first + BATCH]
        records = _read_records(batch, categories, policies, before, last_day)
        for person in batch:
            for category in categories:
                remaining = records.build_balance(person.pk, category).remaining
                amount = min(remaining, limits[category.pk])
                made += amount > 0 and _carry(person, category, year.starts_on, amount)
    return made


def _list_finished(
    organization: Organization, day: date, categories: Collection[str]
) -> QuerySet[Any, Any]:
    """The people for whom each of the categories was carried over on a day."""
    entries = access.rows(LedgerEntry, organization.pk).filter(
        entry_type=EntryType.CARRY_OVER, effective_date=day, category__in=categories
    )
    counted = entries.order_by().values("person").annotate(count=Count("pk"))
    return counted.filter(count=len(categories)).values("person")


def _carry(person: Person, category: TimeOffCategory, day: date, amount: Decimal) -> bool:
    with transaction.atomic():
        _row, is_new = LedgerEntry.objects.get_or_create(
            person=person,
            category=category,
            effective_date=day,
            entry_type=EntryType.CARRY_OVER,
            defaults={"organization_id": person.organization_id, "amount_days": amount},
        )
    return is_new
