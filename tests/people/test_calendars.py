"""Public holidays by place: which calendar a person has on which day, and what it changes."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import RestrictedError

from people import balances, calendars, employment
from people.models import (
    HolidayCalendar,
    Person,
    PublicHoliday,
)
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client, failure

MONDAY, FRIDAY = date(2026, 6, 8), date(2026, 6, 12)
# A Wednesday: a holiday in Portugal, and none in Germany.
PORTUGAL_DAY = date(2026, 6, 10)


@pytest.fixture
def lisbon(office: Office) -> HolidayCalendar:
    calendar = office.calendar("Lisbon", country_code="PT")
    office.holiday(PORTUGAL_DAY, calendar)
    return calendar


@pytest.fixture
def berlin(office: Office) -> HolidayCalendar:
    return office.calendar("Berlin", country_code="DE", is_default=True)


def test_people_have_the_holidays_of_their_work_place(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    office.holiday(MONDAY, berlin)
    in_lisbon = office.person(work_place=office.place("Lisbon", holiday_calendar=lisbon))
    in_berlin = office.person(work_place=office.place("Berlin", holiday_calendar=berlin))
    elsewhere = office.person(work_place=office.place("Remote"))
    nowhere = office.person()
    days = {one: office.leave_of(one, MONDAY, PORTUGAL_DAY) for one in Person.objects.all()}
    # Monday, Tuesday and Wednesday: Lisbon works on Monday and Tuesday, Berlin on the other two.
    assert (days[in_lisbon].amount_days, days[in_lisbon].amount_minutes) == (2, 960)
    tuesday = MONDAY.replace(day=9)
    for person in (in_berlin, elsewhere, nowhere):
        assert calendars.find_holidays(person, MONDAY, FRIDAY) == {MONDAY: 1}
        assert days[person].amount_days == 2
    assert calendars.find_holidays(in_lisbon, MONDAY, FRIDAY) == {PORTUGAL_DAY: 1}
    assert calendars.find_holidays(in_lisbon, MONDAY, tuesday) == {}


def test_the_calendar_of_a_person_comes_before_that_of_the_work_place(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    person = office.person(
        work_place=office.place("Berlin", holiday_calendar=berlin), holiday_calendar=lisbon
    )
    assert office.leave_of(person, MONDAY, FRIDAY).amount_days == 4


def test_who_moves_has_each_day_the_holidays_of_the_place_of_that_day(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    person = office.person(start_date=date(2025, 1, 1))
    there = office.place("Lisbon", holiday_calendar=lisbon)
    employment.change(person, date(2025, 1, 1), work_place=office.place("Berlin"))
    employment.change(person, date(2026, 4, 1), work_place=there)
    # Monday 30 March and Thursday 2 April in Berlin; Tuesday 31 March and Friday 3 April in Lisbon.
    for calendar, days in ((berlin, ((3, 30), (4, 2))), (lisbon, ((3, 31), (4, 3)))):
        for month, day in days:
            office.holiday(date(2026, month, day), calendar)
    row = office.leave_of(person, date(2026, 3, 30), date(2026, 4, 3))
    # Five working days less the Monday, when Berlin is free, and the Friday, when Lisbon is.
    assert row.amount_days == 3
    free = calendars.find_holidays(person, date(2026, 3, 1), date(2026, 4, 30))
    assert sorted(free) == [date(2026, 3, 30), date(2026, 4, 3)]
    # An own calendar from a day on, and no longer from another.
    employment.change(person, date(2026, 4, 2), holiday_calendar=berlin)
    employment.change(person, date(2026, 4, 3), holiday_calendar=None)
    free = calendars.find_holidays(person, date(2026, 3, 1), date(2026, 4, 30))
    assert sorted(free) == [date(2026, 3, 30), date(2026, 4, 2), date(2026, 4, 3)]


def test_half_a_holiday_is_half_a_day_where_it_is_one(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    eve = date(2026, 12, 24)
    office.holiday(eve, berlin, is_half_day=True)
    in_lisbon = office.person(work_place=office.place("Lisbon", holiday_calendar=lisbon))
    assert office.leave_of(office.person(), eve, eve).amount_days == Decimal("0.5")
    assert office.leave_of(in_lisbon, eve, eve).amount_days == 1


def test_each_leave_year_counts_its_part_by_the_calendar_of_the_person(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    office.holiday(date(2027, 1, 1), lisbon)
    office.holiday(date(2026, 12, 31), berlin)
    in_lisbon = office.person(work_place=office.place("Lisbon", holiday_calendar=lisbon))
    here = office.person()

    def approved_days(person: Person, year: int) -> Decimal:
        (found,) = balances.balance(person, date(year, 6, 1)).categories
        return found.approved_days

    for person in (in_lisbon, here):
        office.leave_of(person, date(2026, 12, 28), date(2027, 1, 8))
    # Monday 28 to Thursday 31 December, and Friday 1 to Friday 8 January: 4 and 6 working days.
    assert [approved_days(in_lisbon, year) for year in (2026, 2027)] == [4, 5]
    assert [approved_days(here, year) for year in (2026, 2027)] == [3, 6]


def test_a_holiday_without_a_calendar_belongs_to_the_default(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar, program: Program
) -> None:
    """A process of the version before enters such ones while both run."""
    PublicHoliday.objects.create(organization=office.organization, date=MONDAY, name="Old")
    in_lisbon = office.person(work_place=office.place("Lisbon", holiday_calendar=lisbon))
    assert calendars.find_holidays(office.person(), MONDAY, FRIDAY) == {MONDAY: 1}
    assert calendars.find_holidays(in_lisbon, MONDAY, FRIDAY) == {PORTUGAL_DAY: 1}
    found = program.get("time-off/public-holidays", year=2026, calendar_id=berlin.pk).data
    assert [(one["name"], one["calendar"]) for one in found] == [("Old", None)]
    berlin.delete()
    assert calendars.find_holidays(office.person(), MONDAY, FRIDAY) == {MONDAY: 1}


def test_holidays_are_listed_with_their_calendar_and_for_a_work_place(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar, program: Program
) -> None:
    office.holiday(MONDAY, berlin)
    lisbon_house = office.place("Lisbon", holiday_calendar=lisbon)
    remote = office.place("Remote")

    def days(**query: Any) -> list[tuple[str, str]]:
        found = program.get("time-off/public-holidays", year=2026, **query).data
        return [(one["date"], one["calendar"]["name"]) for one in found]

    ours, theirs = ("2026-06-08", "Berlin"), ("2026-06-10", "Lisbon")
    assert days() == [ours, theirs]
    assert days(work_place_id=lisbon_house.pk) == days(calendar_id=lisbon.pk) == [theirs]
    assert days(work_place_id=remote.pk) == days(calendar_id=berlin.pk) == [ours]
    for query in ({"calendar_id": remote.pk}, {"work_place_id": lisbon.pk}):
        reply = program.get("time-off/public-holidays", **query)
        assert (reply.code, reply.fields) == ("400 invalid_request", list(query))
    assert program.get("time-off/settings").data["use_individual_country_holidays"] is True
    places = program.get("organisation/locations").data
    assert [one["holiday_calendar"] for one in places] == [
        {"id": lisbon.pk, "name": "Lisbon"},
        None,
    ]


def test_a_model_reads_the_holidays_of_a_work_place(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar, program: Program
) -> None:
    office.holiday(MONDAY, berlin)
    place = office.place("Lisbon", holiday_calendar=lisbon)
    mcp = client(program)

    def call(place_id: str) -> Any:
        query = {"year": 2026, "work_place_id": place_id}
        arguments = {"operation_id": "listPublicHolidays", "args": {"query": query}}
        return mcp.call("call_api_operation", arguments)

    (found,) = call(place.pk).facts["answer"]["data"]
    assert (found["date"], found["calendar"]) == (
        "2026-06-10",
        {"id": lisbon.pk, "name": "Lisbon", "is_default": False},
    )
    assert failure(call("wp_unknown"))["field"] == "work_place_id"


def test_a_calendar_in_use_cannot_be_deleted_and_an_organization_can(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    office.holiday(MONDAY, berlin)
    person = office.person(work_place=office.place("Lisbon", holiday_calendar=lisbon))
    employment.change(person, date(2026, 1, 1), holiday_calendar=berlin)
    for calendar in (berlin, lisbon):
        with pytest.raises(RestrictedError):
            calendar.delete()
    office.organization.delete()
    assert not HolidayCalendar.objects.exists()


def test_another_calendar_becomes_the_default(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    calendars.make_default(lisbon)
    berlin.refresh_from_db()
    assert (berlin.is_default, lisbon.is_default, berlin.version) == (False, True, 2)
    assert calendars.find_holidays(office.person(), MONDAY, FRIDAY) == {PORTUGAL_DAY: 1}


def test_holidays_without_a_calendar_stay_with_the_default_that_they_belonged_to(
    office: Office, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    own = {"organization": office.organization}
    office.holiday(FRIDAY, berlin, is_half_day=True)
    for day in (MONDAY, FRIDAY):
        PublicHoliday.objects.create(**own, date=day, name="Old")
    in_berlin = office.person(work_place=office.place("Berlin", holiday_calendar=berlin))
    calendars.make_default(lisbon)
    assert calendars.find_holidays(in_berlin, MONDAY, FRIDAY) == {MONDAY: 1, FRIDAY: 1}
    assert calendars.find_holidays(office.person(), MONDAY, FRIDAY) == {PORTUGAL_DAY: 1}
    assert not PublicHoliday.objects.filter(calendar=None).exists()
    calendars.make_default(berlin)
    assert calendars.find_holidays(office.person(), MONDAY, FRIDAY) == {MONDAY: 1, FRIDAY: 1}


@pytest.mark.parametrize("order", [("own", "none"), ("none", "own")])
@pytest.mark.parametrize("whole", ["own", "none"])
def test_a_whole_holiday_comes_before_half_a_holiday_on_the_same_day(
    office: Office,
    berlin: HolidayCalendar,
    program: Program,
    order: tuple[str, str],
    whole: str,
) -> None:
    """An old process adds one without a calendar to a day that the default has."""
    for number, kind in enumerate(order):
        PublicHoliday.objects.create(
            id=f"hol_{number}",
            organization=office.organization,
            calendar=berlin if kind == "own" else None,
            date=MONDAY,
            name=kind,
            is_half_day=kind != whole,
        )
    assert calendars.find_holidays(office.person(), MONDAY, MONDAY) == {MONDAY: 1}
    of_all = program.get("time-off/public-holidays", year=2026).data
    of_berlin = program.get("time-off/public-holidays", year=2026, calendar_id=berlin.pk).data
    for found in (of_all, of_berlin):
        assert [(one["name"], one["is_half_day"]) for one in found] == [(whole, False)]
