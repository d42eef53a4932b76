"""Made-up HR records: the same people for the same organization and day, with two years of history.

The private columns are filled as well: what must not leave this server can be searched for.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

from django.db import transaction

from people import access, national_holidays, working_time
from people import seed_names as names
from people.models import (
    AbsenceStatus,
    CustomField,
    CustomFieldValue,
    Document,
    EmploymentRecord,
    HolidayCalendar,
    LedgerEntry,
    OrgUnit,
    OrgUnitMembership,
    Person,
    PersonProfile,
    PersonRelationship,
    PublicHoliday,
    ReferenceItem,
    ReferenceKind,
    RelationshipType,
    Sensitivity,
    TimeOff,
    TimeOffCategory,
    TimeOffSettings,
    UnitType,
    WorkingPattern,
)
from people.models.columns import ALPHABET, PERSON_ID_LENGTH, Record
from people.models.people import EMPLOYMENT_FIELDS
from people.models.reference import WEEKDAYS
from workspace.models import Organization

PEOPLE: Final = 120
HISTORY: Final = timedelta(days=2 * 365)
AHEAD_DAYS: Final = 120
# Which part of people works four days a week, and of requests to come waits for a decision.
PART_TIME: Final = 0.15
OPEN: Final = 0.4
HEADS: Final = len(names.DEPARTMENTS)
REFERENCE: Final = {
    ReferenceKind.WORK_PLACE: names.WORK_PLACES,
    ReferenceKind.WORK_TYPE: names.WORK_TYPES,
    ReferenceKind.PROFILE_STATUS: names.STATUSES,
    ReferenceKind.DOCUMENT_TYPE: names.DOCUMENT_TYPES,
}


# Rows before those that they refer to.
LISTED: Final[tuple[type[Record], ...]] = (
    *(Person, TimeOffCategory, WorkingPattern, ReferenceItem, OrgUnit),
    *(PublicHoliday, HolidayCalendar, CustomField),
)


class HasRecords(Exception):
    """The organization has HR records already; made-up ones are not mixed with them."""


def seed(organization: Organization, as_of: date) -> int:
    """Stores made-up people and their records; returns how many people. Raises HasRecords."""
    if any(access.rows(model, organization.pk).exists() for model in LISTED):
        raise HasRecords
    with transaction.atomic():
        return len(_World(organization, as_of).store())


@dataclass(slots=True)
class _Absence:
    """An absence to come or past, before it has a row."""

    category: TimeOffCategory
    start: date
    length: int
    status: AbsenceStatus


class _World:
    """One organization's rows, made from one sequence of random numbers."""

    def __init__(self, organization: Organization, as_of: date) -> None:
        self.organization, self.as_of = organization, as_of
        self.random = random.Random(f"{organization.slug} {as_of}")  # noqa: S311  no secret
        self.began = as_of - HISTORY
        self.made_at = datetime.combine(self.began, time(9), UTC)

    def key(self, prefix: str) -> str:
        return prefix + "".join(self.random.choices(ALPHABET, k=22))

    def own(self) -> dict[str, object]:
        """The columns that every row has."""
        return {
            "organization": self.organization,
            "created_at": self.made_at,
            "updated_at": self.made_at,
        }

    def store(self) -> Sequence[Person]:
        TimeOffSettings.objects.update_or_create(
            organization=self.organization, defaults={"country_code": "DE"}
        )
        self._store_lists()
        self.people = [self._person(number) for number in range(PEOPLE)]
        self._employ()
        Person.objects.bulk_create(self.people)
        OrgUnitMembership.objects.bulk_create(self._memberships())
        PersonRelationship.objects.bulk_create(self._relationships())
        PersonProfile.objects.bulk_create(map(self._profile, self.people))
        EmploymentRecord.objects.bulk_create(self._history())
        Document.objects.bulk_create(self._documents())
        CustomFieldValue.objects.bulk_create(self._custom_values())
        TimeOff.objects.bulk_create(self._time_off())
        LedgerEntry.objects.bulk_create(self._ledger())
        return self.people

    def _store_lists(self) -> None:
        """What people refer to."""
        self.lists = {kind: self._items(kind, labels) for kind, labels in REFERENCE.items()}
        self.patterns = [
            WorkingPattern(
                id=self.key("working_pattern_"),
                label=label,
                **dict(zip(WEEKDAYS, minutes, strict=True)),
                **self.own(),
            )
            for label, minutes in names.WORKING_PATTERNS.items()
        ]
        self.categories = {
            name: TimeOffCategory(
                id=self.key("toc_"), name=name, position=position, **columns, **self.own()
            )
            for position, (name, columns) in enumerate(names.CATEGORIES.items())
        }
        self.departments = [
            OrgUnit(id=self.key("org_unit_"), type=UnitType.DEPARTMENT, name=name, **self.own())
            for name in names.DEPARTMENTS
        ]
        self.fields = [
            CustomField(
                id=self.key("cfd_"),
                key=key,
                label=label,
                sensitivity=Sensitivity(sensitivity),
                **self.own(),
            )
            for key, (label, sensitivity) in names.CUSTOM_FIELDS.items()
        ]
        self._store_calendars()
        for items in self.lists.values():
            ReferenceItem.objects.bulk_create(items)
        WorkingPattern.objects.bulk_create(self.patterns)
        TimeOffCategory.objects.bulk_create(self.categories.values())
        OrgUnit.objects.bulk_create(self.departments)
        CustomField.objects.bulk_create(self.fields)

    def _store_calendars(self) -> None:
        """Each work place has the calendar of its name; the others have the default."""
        calendars = {
            name: HolidayCalendar(id=self.key("cal_"), name=name, **columns, **self.own())
            for name, columns in names.CALENDARS.items()
        }
        HolidayCalendar.objects.bulk_create(calendars.values())
        holidays = {one: self._holidays(one) for one in calendars.values()}
        for rows in holidays.values():
            PublicHoliday.objects.bulk_create(rows)
        self.free = {one: working_time.free_parts(rows) for one, rows in holidays.items()}
        self.default_calendar = calendars["Berlin"]
        for place in self.lists[ReferenceKind.WORK_PLACE]:
            place.time_zone = names.TIME_ZONES.get(place.label, "")
            place.holiday_calendar = calendars.get(place.label)

    def _items(self, kind: ReferenceKind, labels: Sequence[str]) -> list[ReferenceItem]:
        return [
            ReferenceItem(
                id=self.key(f"{kind.value}_"),
                kind=kind,
                label=label,
                position=position,
                **self.own(),
            )
            for position, label in enumerate(labels)
        ]

    def _holidays(self, calendar: HolidayCalendar) -> list[PublicHoliday]:
        return [
            PublicHoliday(
                id=self.key("hol_"),
                calendar=calendar,
                date=one.date,
                name=one.name,
                is_half_day=one.is_half_day,
                **self.own(),
            )
            for one in national_holidays.list_holidays(
                calendar.country_code,
                calendar.region,
                range(self.began.year, self.as_of.year + 2),
            )
        ]

    def _person(self, number: int) -> Person:
        first, last = self.random.choice(names.FIRST), self.random.choice(names.LAST)
        started = self.began - timedelta(days=self.random.randrange(3000))
        if number > PEOPLE - 25:  # joined within the last two years
            started = self.began + timedelta(days=self.random.randrange(HISTORY.days - 30))
        return Person(
            id="".join(self.random.choices(ALPHABET, k=PERSON_ID_LENGTH)),
            first_name=first,
            last_name=last,
            work_email=f"{first}.{last}.{number}@{self.organization.slug}.example".lower(),
            staff_id=f"S{number + 1:04}",
            status=self.lists[ReferenceKind.PROFILE_STATUS][0],
            start_date=started,
            **self.own(),
        )

    def _get_start_date(self, person: Person) -> date:
        return person.start_date or self.began

    def _employ(self) -> None:
        """The first person heads the organization, the next ones a department each."""
        for number, person in enumerate(self.people):
            unit = number % HEADS
            person.department = self.departments[unit]
            person.job_title = self.random.choice(names.JOBS[names.DEPARTMENTS[unit]])
            person.manager = self.people[1 + unit] if number > HEADS else self.people[0]
            if number == 0:
                person.manager, person.job_title = None, "Chief executive"
            elif number <= HEADS:
                person.department = self.departments[number - 1]
                person.job_title = f"Head of {names.DEPARTMENTS[number - 1]}"
            elif person.department != person.manager.department:
                person.department = person.manager.department
            person.work_place = self.random.choice(self.lists[ReferenceKind.WORK_PLACE])
            person.work_type = self.lists[ReferenceKind.WORK_TYPE][0]
            person.working_pattern = self.patterns[self.random.random() < PART_TIME]
            person.contracted_weekly_minutes = person.working_pattern.weekly_minutes
        for person in self.people[-6:-3]:  # some have left
            person.end_date = self.as_of - timedelta(days=self.random.randrange(1, 20))

    def _memberships(self) -> Iterator[OrgUnitMembership]:
        for person in self.people:
            yield OrgUnitMembership(
                id=self.key("org_unit_membership_"),
                person=person,
                unit=person.department,
                is_primary=True,
                effective_from=self._get_start_date(person),
                **self.own(),
            )

    def _relationships(self) -> Iterator[PersonRelationship]:
        for person in self.random.sample(self.people[HEADS + 1 :], 20):
            yield PersonRelationship(
                id=self.key("person_relationship_"),
                person=person,
                related_person=self.people[0],
                type=RelationshipType.DOTTED_LINE_MANAGER,
                effective_from=self._get_start_date(person),
                **self.own(),
            )

    def _profile(self, person: Person) -> PersonProfile:
        digits = "".join(self.random.choices("0123456789", k=20))
        return PersonProfile(
            id=self.key("profile_"),
            person=person,
            **self.own(),
            date_of_birth=date(1955, 1, 1) + timedelta(days=self.random.randrange(18_000)),
            personal_email=f"home.{person.pk}@private.example",
            personal_phone_number=f"+49 555 {digits[:7]}",
            address_line_1=f"{self.random.randrange(1, 200)} {self.random.choice(names.STREETS)}",
            city=self.random.choice(names.CITIES),
            postal_code=digits[7:12],
            country_code="DE",
            annual_salary=Decimal(self.random.randrange(38_000, 140_000, 500)),
            bank_account=f"DE{digits}",
            tax_id=f"TAX-{digits[:11]}",
            notes=f"Private note {person.pk}",
        )

    def _history(self) -> Iterator[EmploymentRecord]:
        for number, person in enumerate(self.people):
            current = {name: getattr(person, name) for name in EMPLOYMENT_FIELDS}
            promoted = self.began + timedelta(days=self.random.randrange(HISTORY.days))
            begins = [(self._get_start_date(person), current)]
            if number % 4 == 0 and promoted > self._get_start_date(person):
                begins = [
                    (
                        self._get_start_date(person),
                        current | {"job_title": f"Junior {person.job_title}"},
                    ),
                    (promoted, current),
                ]
            for day, values in begins:
                yield EmploymentRecord(
                    id=self.key("eh_"), person=person, effective_from=day, **values, **self.own()
                )

    def _documents(self) -> Iterator[Document]:
        for person in self.people:
            for kind in self.random.sample(self.lists[ReferenceKind.DOCUMENT_TYPE], 2):
                name = f"{kind.label} {person.last_name} {person.pk}.pdf".lower().replace(" ", "-")
                yield Document(
                    id=self.key("doc_"),
                    person=person,
                    name=name,
                    category=kind,
                    content_type="application/pdf",
                    size_bytes=self.random.randrange(20_000, 900_000),
                    url=f"https://files.example/{person.pk}/{name}",
                    **self.own(),
                )

    def _custom_values(self) -> Iterator[CustomFieldValue]:
        for person in self.people:
            for field in self.fields:
                value = f"{self.random.choice(names.CUSTOM_VALUES[field.key])} {person.pk}"
                yield CustomFieldValue(person=person, field=field, value=value)

    def _time_off(self) -> Iterator[TimeOff]:
        for person in self.people:
            free_from = max(self.began, self._get_start_date(person))
            for block in self._blocks():
                if block.start < free_from:
                    continue
                end = block.start + timedelta(days=block.length - 1)
                week = working_time.week_of(person.working_pattern)
                free = self.free[person.work_place.holiday_calendar or self.default_calendar]
                taken = working_time.amount(week, free, block.start, end)
                if not taken.days or (person.end_date and end > person.end_date):
                    continue
                free_from = end + timedelta(days=1)
                is_decided = block.status != AbsenceStatus.PENDING
                yield TimeOff(
                    id=self.key("time_off_"),
                    person=person,
                    category=block.category,
                    start_date=block.start,
                    end_date=end,
                    amount_days=taken.days,
                    amount_minutes=taken.minutes,
                    status=block.status if person.manager else AbsenceStatus.APPROVED,
                    note=f"Absence note {person.pk}",
                    decided_at=self.made_at if is_decided else None,
                    **self.own(),
                )

    def _blocks(self) -> list[_Absence]:
        """A person's absences in two years and the months to come, in the order of their days."""
        leave, sickness = self.categories["Annual leave"], self.categories["Sick leave"]
        blocks = []
        for _number in range(self.random.randrange(7, 11)):
            days = self.random.randrange(HISTORY.days + AHEAD_DAYS)
            start = self.began + timedelta(days=days)
            is_open = start > self.as_of and self.random.random() < OPEN
            status = AbsenceStatus.PENDING if is_open else AbsenceStatus.APPROVED
            length = self.random.choice((1, 2, 5, 5, 7, 12))
            blocks.append(_Absence(leave, start, length, status))
        for _number in range(self.random.randrange(4)):
            start = self.began + timedelta(days=self.random.randrange(HISTORY.days))
            length = self.random.randrange(1, 6)
            blocks.append(_Absence(sickness, start, length, AbsenceStatus.APPROVED))
        return sorted(blocks, key=lambda block: block.start)

    def _ledger(self) -> Iterator[LedgerEntry]:
        for person in self.random.sample(self.people, 30):
            yield LedgerEntry(
                id=self.key("tol_"),
                person=person,
                category=self.categories["Annual leave"],
                amount_days=Decimal(self.random.choice((1, 2, -1))),
                effective_date=date(self.as_of.year, 1, 15),
                note=f"Ledger note {person.pk}",
                **self.own(),
            )
