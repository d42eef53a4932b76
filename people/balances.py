"""What is left of a person's allowances in a leave year, and what is carried into the next.

An allowance is the category's days, by the part of the year in which the person is employed and by
the days of their week compared with five. It is rounded to half days.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, DecimalField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from people import access, calendars, days, time_off
from people.calendars import Holidays
from people.models import (
    AbsenceStatus,
    EntryType,
    LedgerEntry,
    Person,
    TimeOff,
    TimeOffCategory,
    TimeOffSettings,
)
from people.models.time_off import BLOCKING
from people.time_off import Weeks
from people.working_time import HALF, ONE_DAY, week_of
from workspace.models import Organization

DAYS_OF_FULL_TIME: Final = 5
ZERO: Final = Decimal(0)
# The hour of UTC in which carry-over looks at leave years that began on an earlier day.
CATCH_UP_HOUR: Final = 3


@dataclass(frozen=True, slots=True)
class LeaveYear:
    """The first and the last day."""

    starts_on: date
    ends_on: date

    @property
    def resets_on(self) -> date:
        return self.ends_on + ONE_DAY

    @property
    def length(self) -> int:
        return (self.ends_on - self.starts_on).days + 1


@dataclass(frozen=True, slots=True)
class CategoryBalance:
    """The days of one category in a leave year; `ledger` has the sum of each type of entry."""

    category: TimeOffCategory
    base_allowance: Decimal
    allowance: Decimal
    ledger: dict[str, Decimal]
    entries: Sequence[LedgerEntry]
    approved: Decimal
    pending: Decimal

    @property
    def adjustment(self) -> Decimal:
        return sum(self.ledger.values(), ZERO)

    @property
    def remaining(self) -> Decimal:
        return self.allowance + self.adjustment - self.approved - self.pending

    @property
    def remaining_before_pending(self) -> Decimal:
        """What is left if no pending request is approved."""
        return self.remaining + self.pending


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
        return self.balance.approved - self.taken


def settings_of(organization_id: UUID) -> TimeOffSettings:
    """Returns the settings of an organization; the defaults if it has none."""
    found = TimeOffSettings.objects.filter(organization_id=organization_id).first()
    return found or TimeOffSettings(organization_id=organization_id)


def leave_year(settings: TimeOffSettings, on: date) -> LeaveYear:
    """Returns the leave year that a day is in."""
    begins = [
        date(year, settings.reset_month, settings.reset_day) for year in (on.year, on.year + 1)
    ]
    if on < begins[0]:
        begins = [date(on.year - 1, settings.reset_month, settings.reset_day), begins[0]]
    return LeaveYear(begins[0], begins[1] - ONE_DAY)


def balance(person: Person, on: date) -> Balance:
    """Returns a person's balance in the leave year of a day."""
    year = leave_year(settings_of(person.organization_id), on)
    entries = list(
        person.ledger.filter(effective_date__range=(year.starts_on, year.ends_on)).order_by(
            "effective_date", "pk"
        )
    )
    taken = _days_taken(person, year)
    categories = list(access.rows(TimeOffCategory, person.organization_id))
    others = {one.pk: one.is_sickness for one in categories if not one.consumes_balance}
    without = {
        is_sickness: sum(
            (
                days
                for (key, status), days in taken.items()
                if status == AbsenceStatus.APPROVED and others.get(key) is is_sickness
            ),
            ZERO,
        )
        for is_sickness in (True, False)
    }
    return Balance(
        person,
        year,
        [
            _build_category_balance(person, year, one, entries, taken)
            for one in categories
            if one.consumes_balance
        ],
        sick_days=without[True],
        other_days=without[False],
    )


def list_leave_use(
    people: Sequence[Person], category: TimeOffCategory, day: date
) -> Sequence[LeaveUse]:
    """Returns what each of the people has taken of a category, in the leave year of a day.

    Reads as many statements for many people as for one.
    """
    year = leave_year(settings_of(category.organization_id), day)
    by_key = {person.pk: person for person in people}
    ledgers = _list_entries_of(by_key, year)
    # By the people alone: without statistics, SQLite takes the index of the organization or of the
    # category instead, and reads the rows of all people.
    requests = TimeOff.objects.filter(
        person__in=by_key,
        status__in=BLOCKING,
        start_date__lte=year.ends_on,
        end_date__gte=year.starts_on,
    )
    rows = [row for row in requests if row.category_id == category.pk]
    for row in rows:
        row.person, row.category = by_key[row.person_id], category
    divided = [row for row in rows if _is_divided(row, year, day)]
    owners = list({row.person_id: row.person for row in divided}.values())
    weeks = time_off.find_weeks_of(owners)
    holidays = calendars.find_holidays_of(
        owners,
        min((row.start_date for row in divided), default=day),
        max((row.end_date for row in divided), default=day),
    )
    sums: dict[str, dict[tuple[str, str], Decimal]] = {key: {} for key in by_key}
    taken = dict.fromkeys(by_key, ZERO)
    for row in rows:
        known = holidays.get(row.person_id, {}), weeks.get(row.person_id, ())
        part = _days_within(row, year.starts_on, year.ends_on, *known)
        key = category.pk, row.status
        sums[row.person_id][key] = sums[row.person_id].get(key, ZERO) + part
        if row.status == AbsenceStatus.APPROVED and row.start_date <= day:
            taken[row.person_id] += min(part, _days_within(row, year.starts_on, day, *known))
    return [
        LeaveUse(
            person,
            _build_category_balance(person, year, category, ledgers.get(key, ()), sums[key]),
            taken[key],
        )
        for key, person in by_key.items()
    ]


def _list_entries_of(
    people: Collection[str], year: LeaveYear
) -> Mapping[str, Sequence[LedgerEntry]]:
    """The entries of a leave year in the ledgers of people, by their ids."""
    # By the people alone, as requests are.
    entries = LedgerEntry.objects.filter(
        person__in=people, effective_date__range=(year.starts_on, year.ends_on)
    )
    found: dict[str, list[LedgerEntry]] = {}
    for entry in entries.order_by("effective_date", "pk"):
        found.setdefault(entry.person_id, []).append(entry)
    return found


def filter_taken_below(
    people: QuerySet[Person], category: TimeOffCategory, day: date, most: Decimal
) -> QuerySet[Person]:
    """Returns the people who may have taken fewer days of a category up to a day.

    Only requests that begin in the leave year and end by the day are counted: those who have taken
    so many days with parts of others are among the people too.
    """
    year = leave_year(settings_of(category.organization_id), day)
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


def _days_within(row: TimeOff, start: date, end: date, holidays: Holidays, weeks: Weeks) -> Decimal:
    if start <= row.start_date and row.end_date <= end:
        return row.amount_days
    return time_off.amount(row, start, end, holidays=holidays, weeks=weeks).days


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
    year = leave_year(settings_of(organization.pk), today)
    if today != year.starts_on and now.astimezone(UTC).hour != CATCH_UP_HOUR:
        return 0
    last_day = year.starts_on - ONE_DAY
    carried = access.rows(TimeOffCategory, organization.pk).filter(carry_over_days__gt=0)
    limits = dict(carried.values_list("pk", "carry_over_days"))
    employed = access.rows(Person, organization.pk).exclude(end_date__lt=year.starts_on)
    begins = datetime.combine(year.starts_on, time.min, zone)
    known = employed.filter(start_date__lte=last_day, created_at__lt=begins).exclude(
        pk__in=_list_finished(organization, year.starts_on, limits)
    )
    made = 0
    for person in known.select_related("working_pattern") if limits else ():
        before = balance(person, last_day)
        for one in before.categories:
            amount = min(one.remaining, limits.get(one.category.pk, ZERO))
            made += amount > 0 and _carry(person, one.category, year.starts_on, amount)
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


def _days_taken(person: Person, year: LeaveYear) -> dict[tuple[str, str], Decimal]:
    """The days by category and status. Requests that reach over the year's ends count in part."""
    found: QuerySet[TimeOff] = person.time_off.filter(
        status__in=BLOCKING, start_date__lte=year.ends_on, end_date__gte=year.starts_on
    )
    total: dict[tuple[str, str], Decimal] = {}
    for row in found.select_related("category"):
        row.person = person
        is_within = year.starts_on <= row.start_date and row.end_date <= year.ends_on
        part = (
            row.amount_days
            if is_within
            else time_off.amount(row, year.starts_on, year.ends_on).days
        )
        key = row.category_id, row.status
        total[key] = total.get(key, ZERO) + part
    return total


def _build_category_balance(
    person: Person,
    year: LeaveYear,
    category: TimeOffCategory,
    entries: Iterable[LedgerEntry],
    taken: dict[tuple[str, str], Decimal],
) -> CategoryBalance:
    own = [entry for entry in entries if entry.category_id == category.pk]
    ledger = {kind.value: ZERO for kind in EntryType}
    for entry in own:
        ledger[entry.entry_type] += entry.amount_days
    return CategoryBalance(
        category=category,
        base_allowance=category.allowance_days,
        allowance=_allowance(person, year, category.allowance_days),
        ledger=ledger,
        entries=own,
        approved=taken.get((category.pk, AbsenceStatus.APPROVED), ZERO),
        pending=taken.get((category.pk, AbsenceStatus.PENDING), ZERO),
    )


def _allowance(person: Person, year: LeaveYear, base: Decimal) -> Decimal:
    first = max(year.starts_on, person.start_date or year.starts_on)
    last = min(year.ends_on, person.end_date or year.ends_on)
    employed = max((last - first).days + 1, 0)
    days_a_week = sum(minutes > 0 for minutes in week_of(person.working_pattern))
    exact = base * employed / year.length * days_a_week / DAYS_OF_FULL_TIME
    return (exact / HALF).quantize(Decimal(1), ROUND_HALF_UP) * HALF
