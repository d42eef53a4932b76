"""Requests for time off: how long they are, who decides, and what may not be."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from people import time_off
from people.access import RecordNotFound
from people.changes import ConflictingChange, RefusedChange
from people.models import AbsenceStatus, HolidayTreatment, Person, TimeOff
from tests.people.api.program import Program
from tests.people.conftest import Office, create_office

MONDAY = date(2026, 6, 1)
FRIDAY, SUNDAY = MONDAY + timedelta(days=4), MONDAY + timedelta(days=6)


def test_a_request_waits_for_the_manager_and_without_one_is_approved(office: Office) -> None:
    boss = office.person(first_name="Boss")
    waiting = office.leave_of(office.person(manager=boss), MONDAY, FRIDAY)
    assert (waiting.status, waiting.decided_at) == (AbsenceStatus.PENDING, None)
    own = office.leave_of(boss, MONDAY, FRIDAY)
    assert own.status == AbsenceStatus.APPROVED
    assert own.decided_at is not None


@pytest.mark.parametrize(
    ("end", "halves", "days", "minutes"),
    [
        (FRIDAY, {}, "5", 2400),
        (SUNDAY, {}, "5", 2400),
        (MONDAY, {"is_from_half_day": True}, "0.5", 240),
        (MONDAY, {"is_to_half_day": True}, "0.5", 240),
        (FRIDAY, {"is_from_half_day": True, "is_to_half_day": True}, "4", 1920),
    ],
)
def test_a_request_takes_the_days_that_the_person_works(
    office: Office, end: date, halves: dict[str, bool], days: str, minutes: int
) -> None:
    row = office.leave_of(office.person(), MONDAY, end, **halves)
    row.refresh_from_db()
    assert (row.amount_days, row.amount_minutes) == (Decimal(days), minutes)


def test_working_pattern_and_public_holidays_are_left_out(office: Office) -> None:
    person = office.person(working_pattern=office.pattern(monday=300))
    office.holiday(MONDAY + timedelta(days=1))
    row = office.leave_of(person, MONDAY, FRIDAY)
    assert (row.amount_days, row.amount_minutes) == (3, 300 + 480 + 480)
    counting = office.category("Parental", public_holidays=HolidayTreatment.INCLUDE)
    later = office.leave_of(office.person(), MONDAY, FRIDAY, category=counting)
    assert later.amount_days == 5


@pytest.mark.parametrize(
    ("end", "halves", "days", "minutes"),
    [
        (MONDAY, {}, "0.5", 240),
        (MONDAY, {"is_from_half_day": True}, "0.5", 240),
        (MONDAY, {"is_to_half_day": True}, "0.5", 240),
        (FRIDAY, {}, "3.5", 1680),
        (FRIDAY, {"is_from_half_day": True, "is_to_half_day": True}, "3", 1440),
    ],
)
def test_half_a_public_holiday_counts_half(
    office: Office, end: date, halves: dict[str, bool], days: str, minutes: int
) -> None:
    office.holiday(MONDAY, is_half_day=True)
    office.holiday(MONDAY + timedelta(days=2))
    row = office.leave_of(office.person(), MONDAY, end, **halves)
    assert (row.amount_days, row.amount_minutes) == (Decimal(days), minutes)


def test_half_a_public_holiday_is_a_whole_day_where_the_category_counts_holidays(
    office: Office,
) -> None:
    office.holiday(MONDAY, is_half_day=True)
    counting = office.category("Parental", public_holidays=HolidayTreatment.INCLUDE)
    assert office.leave_of(office.person(), MONDAY, MONDAY, category=counting).amount_days == 1


WRONG: dict[str, tuple[date, date, dict[str, Any], str]] = {
    "backwards": (FRIDAY, MONDAY, {}, "end_date"),
    "too-long": (MONDAY, MONDAY + timedelta(days=1_096), {}, "end_date"),
    "before-any-record": (date(1969, 12, 31), FRIDAY, {}, "start_date"),
    "after-any-record": (MONDAY, date(3000, 1, 1), {}, "end_date"),
    "weekend": (SUNDAY, SUNDAY, {}, "start_date"),
    "two-halves": (
        MONDAY,
        MONDAY,
        {"is_from_half_day": True, "is_to_half_day": True},
        "is_to_half_day",
    ),
    "before-the-start": (date(2019, 12, 30), date(2020, 1, 3), {}, "start_date"),
    "after-the-end": (date(2030, 12, 30), date(2031, 1, 3), {}, "end_date"),
}


@pytest.mark.parametrize(("start", "end", "more", "field"), WRONG.values(), ids=WRONG)
def test_a_request_that_cannot_be_names_the_wrong_value(
    office: Office, start: date, end: date, more: dict[str, Any], field: str
) -> None:
    person = office.person(start_date=date(2020, 1, 1), end_date=date(2030, 12, 31))
    with pytest.raises(RefusedChange) as refused:
        office.leave_of(person, start, end, **more)
    assert (refused.value.code, refused.value.field) == ("invalid_request", field)
    assert not TimeOff.objects.exists()


def test_a_category_of_another_organization_or_switched_off_does_not_exist(
    office: Office, other_office: Office
) -> None:
    for category in (other_office.leave, office.category("Old", is_active=False)):
        with pytest.raises(RefusedChange) as refused:
            office.leave_of(office.person(), MONDAY, FRIDAY, category=category)
        assert (str(refused.value), refused.value.field) == (
            "The category does not exist.",
            "category_id",
        )


def test_days_of_a_pending_or_approved_request_conflict_until_it_ends(office: Office) -> None:
    person = office.person(manager=office.person())
    first = office.leave_of(person, MONDAY, FRIDAY)
    for start, end in ((MONDAY, MONDAY), (FRIDAY, FRIDAY + timedelta(days=9))):
        with pytest.raises(ConflictingChange):
            office.leave_of(person, start, end)
    office.leave_of(office.person(), MONDAY, FRIDAY)
    time_off.approve(office.organization.pk, first.pk)
    with pytest.raises(ConflictingChange):
        office.leave_of(person, FRIDAY, FRIDAY)
    second = office.leave_of(person, FRIDAY + timedelta(days=3), FRIDAY + timedelta(days=3))
    time_off.decline(office.organization.pk, second.pk, "No")
    third = office.leave_of(person, second.start_date, second.end_date)
    time_off.cancel(office.organization.pk, third.pk)
    office.leave_of(person, second.start_date, second.end_date)


def test_only_a_pending_request_is_changed_and_each_change_is_a_new_version(
    office: Office,
) -> None:
    place = office.organization.pk
    row = office.leave_of(office.person(manager=office.person()), MONDAY, FRIDAY)
    changed = time_off.change(place, row.pk, end_date=MONDAY)
    assert (changed.amount_days, changed.version) == (1, 2)
    assert time_off.change(place, row.pk, end_date=MONDAY).version == 2
    with pytest.raises(RefusedChange):
        time_off.change(place, row.pk)
    with pytest.raises(RefusedChange):
        time_off.change(place, row.pk, status=AbsenceStatus.APPROVED)
    time_off.approve(place, row.pk)
    for change in (time_off.approve, time_off.decline, time_off.cancel):
        with pytest.raises(ConflictingChange):
            change(place, row.pk)
    with pytest.raises(ConflictingChange):
        time_off.change(place, row.pk, end_date=FRIDAY)
    row.refresh_from_db()
    assert (row.status, row.version) == (AbsenceStatus.APPROVED, 3)


@pytest.mark.parametrize("key", ["", "x" * 400, "time_off_\x00", "nothing", None, 7])
def test_a_request_of_another_organization_is_as_unknown_as_any_other(
    office: Office, other_office: Office, key: object
) -> None:
    theirs = other_office.leave_of(
        other_office.person(manager=other_office.person()), MONDAY, FRIDAY
    )
    for tried in (key, theirs.pk):
        with pytest.raises(RecordNotFound):
            time_off.approve(office.organization.pk, tried)
    theirs.refresh_from_db()
    assert theirs.status == AbsenceStatus.PENDING


@pytest.mark.django_db(transaction=True)
def test_the_same_days_requested_at_once_are_one_request() -> None:
    office = create_office()
    person = office.person(manager=office.person())

    def try_to_request(_number: int) -> str:
        try:
            office.leave_of(Person.objects.get(pk=person.pk), MONDAY, FRIDAY)
        except ConflictingChange:
            return "conflict"
        else:
            return "made"
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(try_to_request, range(8)))
    assert sorted(results) == ["conflict"] * 7 + ["made"]
    assert TimeOff.objects.count() == 1


def test_parental_leave_of_fourteen_months_is_one_request(office: Office, program: Program) -> None:
    """Monday 2027-03-01 to Sunday 2028-04-30 are 427 days: 61 weeks of 5 working days."""
    person = office.person()
    category = office.category("Parental leave")
    body = {"person_id": person.pk, "category_id": category.pk}
    body |= {"start_date": "2027-03-01", "end_date": "2028-04-30"}
    assert program.post("time-off", body).data["length"] == 305.0
    out = program.get("time-off/who-is-out", from_="2028-04-28", to="2028-04-28").data
    assert [one["person_id"] for one in out] == [person.pk]
    listed = program.get("time-off", from_="2028-04-30").data
    assert [one["end_date"] for one in listed] == ["2028-04-30"]
