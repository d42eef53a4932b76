"""Requests are counted again when the holidays of their days change; both lengths are kept."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from foundation import leases
from foundation.admin_urls import page_url
from people import employment, lengths, recounting, time_off
from people.models import HolidayCalendar, Person, PublicHoliday, Recount, TimeOff
from tests.drivers.shown_forms import save
from tests.people.conftest import Office, create_office, wait_for_lock
from workspace.models import Membership, Role, User

MONDAY, FRIDAY = date(2026, 6, 8), date(2026, 6, 12)
WEDNESDAY = date(2026, 6, 10)


@pytest.fixture(autouse=True)
def _today() -> Any:
    with time_machine.travel("2026-06-01T12:00:00Z", tick=False):
        yield


@pytest.fixture
def browser(office: Office) -> Client:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def berlin(office: Office) -> HolidayCalendar:
    return office.calendar("Berlin", country_code="DE", is_default=True)


@pytest.fixture
def lisbon(office: Office) -> HolidayCalendar:
    return office.calendar("Lisbon", country_code="PT", region="11")


def page(model: str, name: str, *args: object) -> str:
    return page_url(f"people_{model}_{name}", *args)


def length(row: TimeOff) -> tuple[float, int, int]:
    """The days, the minutes and the version of a request."""
    row.refresh_from_db()
    return float(row.amount_days), row.amount_minutes, row.version


def count_again() -> int:
    """Does what the worker does; returns how many requests have another length."""
    return recounting.run_waiting()


def list_changes(browser: Client) -> str:
    """The list of changed lengths, as HR reads it."""
    return browser.get(page("lengthchange", "changelist")).content.decode()


def list_lengths(row: TimeOff) -> list[tuple[float, float]]:
    """The lengths on record, the first change first."""
    changes = row.length_changes.order_by("created_at")
    return [(float(one.days_before), float(one.days_after)) for one in changes]


def test_a_holiday_gives_a_day_back_and_takes_it_again(
    office: Office, browser: Client, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    here, there = office.person(), office.person(holiday_calendar=lisbon)
    ours, theirs = (office.leave_of(one, MONDAY, FRIDAY) for one in (here, there))
    before = office.leave_of(here, date(2026, 6, 3), date(2026, 6, 3))
    form = {"organization": office.organization.pk, "calendar": berlin.pk, "name": "Founding day"}
    answer = save(browser, page("publicholiday", "add"), form | {"date": "2026-06-10"}, follow=True)
    assert "Requests are counted again" in answer.content.decode()
    assert length(ours) == (5.0, 2400, 1)
    assert (count_again(), count_again()) == (1, 0)
    # Five days less the Wednesday, in Berlin alone.
    assert length(ours) == (4.0, 1920, 2)
    assert length(theirs) == (5.0, 2400, 1)
    assert list_lengths(ours) == [(5.0, 4.0)]
    said = list_changes(browser)
    for text in ("Founding day” was saved", "5.0", "4.0", "admin@office.example", "Leave"):
        assert text in said
    holiday = PublicHoliday.objects.get()
    changed = form | {"date": "2026-06-03"}
    save(browser, page("publicholiday", "change", holiday.pk), changed, follow=True)
    assert count_again() == 2
    assert length(ours)[0] == 5.0
    assert length(before)[0] == 0.0
    half = changed | {"is_half_day": "on"}
    save(browser, page("publicholiday", "change", holiday.pk), half, follow=True)
    assert (count_again(), length(before)[0]) == (1, 0.5)
    browser.post(page("publicholiday", "delete", holiday.pk), {"post": "yes"})
    assert (count_again(), length(before)[0]) == (1, 1.0)
    assert list_lengths(before) == [(1.0, 0.0), (0.0, 0.5), (0.5, 1.0)]
    assert "deleted holidays" in list_changes(browser)


def test_several_deleted_holidays_are_given_back_together(
    office: Office, browser: Client, berlin: HolidayCalendar
) -> None:
    for day in (MONDAY, WEDNESDAY):
        office.holiday(day, berlin)
    row = office.leave_of(office.person(), MONDAY, FRIDAY)
    assert length(row)[0] == 3.0
    chosen = [one.pk for one in PublicHoliday.objects.all()]
    form = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    browser.post(page("publicholiday", "changelist"), form)
    assert count_again() == 1
    assert not PublicHoliday.objects.exists()
    assert length(row)[0] == 5.0


def test_days_that_a_calendar_is_filled_with_are_given_back(
    office: Office, browser: Client, lisbon: HolidayCalendar
) -> None:
    row = office.leave_of(office.person(holiday_calendar=lisbon), MONDAY, FRIDAY)
    form = {"action": "fill", "_selected_action": [lisbon.pk], "add": "Add"}
    form |= {"first_year": "2026", "last_year": "2026", "day": ["2026-06-10"]}
    browser.post(page("holidaycalendar", "changelist"), form)
    assert (count_again(), length(row)[0]) == (1, 4.0)


@pytest.mark.usefixtures("berlin")
def test_another_calendar_of_a_place_or_of_all_counts_requests_again(
    office: Office, browser: Client, lisbon: HolidayCalendar
) -> None:
    office.holiday(WEDNESDAY, lisbon)
    place = office.place("House")
    at_the_place = office.leave_of(office.person(work_place=place), MONDAY, FRIDAY)
    elsewhere = office.leave_of(office.person(), MONDAY, FRIDAY)
    form = {"kind": "wp", "label": "House", "position": "0", "holiday_calendar": lisbon.pk}
    save(browser, page("referenceitem", "change", place.pk), form, follow=True)
    assert count_again() == 1
    assert (length(at_the_place)[0], length(elsewhere)[0]) == (4.0, 5.0)
    chosen = {"action": "make_default", "_selected_action": [lisbon.pk]}
    browser.post(page("holidaycalendar", "changelist"), chosen)
    assert count_again() == 1
    assert (length(at_the_place)[0], length(elsewhere)[0]) == (4.0, 4.0)
    assert "Lisbon became the default holiday calendar" in list_changes(browser)


def test_what_has_ended_and_what_no_holiday_is_in_stay_as_they_were(
    office: Office, other_office: Office, browser: Client, berlin: HolidayCalendar
) -> None:
    person = office.person(manager=office.person())
    declined = office.leave_of(person, MONDAY, FRIDAY)
    time_off.decline(office.organization.pk, declined.pk)
    last_year = office.leave_of(person, date(2025, 12, 1), date(2025, 12, 5))
    theirs = other_office.leave_of(other_office.person(), MONDAY, FRIDAY)
    own = {"organization": office.organization.pk, "calendar": berlin.pk, "name": "Day"}
    save(browser, page("publicholiday", "add"), own | {"date": "2026-06-10"}, follow=True)
    assert count_again() == 0
    for row in (declined, last_year, theirs):
        assert length(row)[0] == 5.0
    # A holiday of a year that has ended was missing there, too.
    save(browser, page("publicholiday", "add"), own | {"date": "2025-12-03"}, follow=True)
    assert (count_again(), length(last_year)[0]) == (1, 4.0)


def test_a_change_without_days_leaves_years_that_have_ended_as_they_were(
    office: Office, browser: Client, berlin: HolidayCalendar, lisbon: HolidayCalendar
) -> None:
    for day in (date(2025, 12, 3), WEDNESDAY):
        office.holiday(day, lisbon)
    place = office.place("House", holiday_calendar=berlin)
    person = office.person(work_place=place)
    last_year = office.leave_of(person, date(2025, 12, 1), date(2025, 12, 5))
    row = office.leave_of(person, MONDAY, FRIDAY)
    form = {"kind": "wp", "label": "House", "position": "0", "holiday_calendar": lisbon.pk}
    save(browser, page("referenceitem", "change", place.pk), form, follow=True)
    assert count_again() == 1
    assert (length(row)[0], length(last_year)[0]) == (4.0, 5.0)


def test_a_correction_of_employment_counts_the_days_that_it_is_about(
    office: Office, browser: Client
) -> None:
    """Four days a week from 1 December 2025 on, entered in June: no Friday in December."""
    full, four = office.pattern("Full", friday=480), office.pattern("Four", friday=0)
    person = office.person()
    employment.change(person, date(2025, 1, 1), working_pattern=full)
    person = Person.objects.get(pk=person.pk)
    november = office.leave_of(person, date(2025, 11, 24), date(2025, 11, 28))
    december = office.leave_of(person, date(2025, 12, 1), date(2025, 12, 5))
    form = {"person": person.pk, "effective_from": "2025-12-01", "working_pattern": four.pk}
    save(browser, page("employmentrecord", "add"), form, follow=True)
    assert count_again() == 1
    assert (length(november)[0], length(december)[0]) == (5.0, 4.0)


def test_a_recount_that_fails_does_not_keep_others_from_being_counted(
    office: Office, berlin: HolidayCalendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, counted = (
        office.leave_of(office.person(), MONDAY, FRIDAY),
        office.leave_of(office.person(), MONDAY, FRIDAY),
    )
    office.holiday(WEDNESDAY, berlin)
    for row in (broken, counted):
        recounting.request_recount(
            office.organization, "A holiday", dates=[WEDNESDAY], person=row.person
        )
    amount = lengths.amount

    def fail_for_one(row: TimeOff, *args: Any, **more: Any) -> Any:
        assert row.pk != broken.pk, "This row cannot be counted."
        return amount(row, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(lengths, "amount", fail_for_one)
        assert count_again() == 1
    assert (length(broken)[0], length(counted)[0]) == (5.0, 4.0)
    assert Recount.objects.filter(finished_at=None).count() == 1
    assert (count_again(), length(broken)[0]) == (1, 4.0)


@pytest.mark.django_db(transaction=True)
def test_a_request_that_was_being_made_while_a_holiday_was_added_is_counted_again() -> None:
    """Measured before the holiday was there, and committed after the recount has begun."""
    if connection.vendor != "postgresql":
        pytest.skip("Writes of SQLite wait for each other from their beginning.")
    office = create_office()
    berlin = office.calendar("Berlin", country_code="DE", is_default=True)
    person = office.person()
    is_measured, may_commit = threading.Event(), threading.Event()

    def make_request() -> TimeOff:
        with transaction.atomic():
            row = office.leave_of(person, MONDAY, FRIDAY)
            is_measured.set()
            assert may_commit.wait(20)
        connection.close()
        return row

    def run_recount() -> int:
        found = count_again()
        connection.close()
        return found

    with ThreadPoolExecutor(2) as pool:
        made = pool.submit(make_request)
        assert is_measured.wait(20)
        office.holiday(WEDNESDAY, berlin)
        assert not recounting.request_recount(office.organization, "A holiday", dates=[WEDNESDAY])
        counted = pool.submit(run_recount)
        wait_for_lock()
        may_commit.set()
        assert counted.result(20) == 1
    assert length(made.result()) == (4.0, 1920, 2)


def test_each_day_counts_by_the_working_week_that_the_person_has_on_it(office: Office) -> None:
    """Full time until Tuesday 9 June, four days a week without Fridays from Wednesday on."""
    full, four = office.pattern("Full", friday=480), office.pattern("Four", friday=0)
    person = office.person()
    employment.change(person, date(2025, 1, 1), working_pattern=full)
    with time_machine.travel("2026-06-11T12:00:00Z", tick=False):
        employment.change(person, WEDNESDAY, working_pattern=four)
    person = Person.objects.get(pk=person.pk)
    # The Friday before is worked, the Friday after is not: 5 to 12 June are 5 working days.
    row = office.leave_of(person, date(2026, 6, 5), FRIDAY)
    assert length(row)[:2] == (5.0, 2400)
    halves = {"is_from_half_day": True, "is_to_half_day": True}
    row = office.leave_of(person, date(2026, 5, 29), date(2026, 6, 1), **halves)
    assert length(row)[0] == 1.0
    # Before the first record of employment the week is that of the first one.
    assert length(office.leave_of(person, date(2024, 6, 7), date(2024, 6, 7)))[0] == 1.0


def test_a_change_of_the_working_week_counts_what_is_booked_again(
    office: Office, browser: Client
) -> None:
    full, three = office.pattern("Full", friday=480), office.pattern("Three", thursday=0)
    person = office.person()
    employment.change(person, date(2025, 1, 1), working_pattern=full)
    person = Person.objects.get(pk=person.pk)
    may = office.leave_of(person, date(2026, 5, 4), date(2026, 5, 8))
    october = office.leave_of(person, date(2026, 10, 5), date(2026, 10, 9))
    form = {"person": person.pk, "effective_from": "2026-06-01", "working_pattern": three.pk}
    save(browser, page("employmentrecord", "add"), form, follow=True)
    assert count_again() == 1
    # Monday to Friday in May; Monday, Tuesday and Wednesday in October.
    assert (length(may)[0], length(october)[0]) == (5.0, 3.0)
    assert list_lengths(october) == [(5.0, 3.0)]
    assert "employment changed from 2026-06-01 on" in list_changes(browser)
    # The record was wrong: it is deleted, and the days are as they were.
    record = person.employment_history.get(effective_from=date(2026, 6, 1))
    browser.post(page("employmentrecord", "delete", record.pk), {"post": "yes"})
    assert (count_again(), length(october)[0]) == (1, 5.0)


def test_requests_of_all_people_are_counted_in_batches(
    office: Office, berlin: HolidayCalendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [office.leave_of(office.person(), MONDAY, FRIDAY) for _ in range(5)]
    elsewhere = office.leave_of(
        office.person(holiday_calendar=office.calendar("Rome")), MONDAY, FRIDAY
    )
    office.holiday(WEDNESDAY, berlin)
    monkeypatch.setattr(recounting, "BATCH", 2)
    assert recounting.request_recount(office.organization, "A holiday", dates=[WEDNESDAY])
    assert count_again() == 5
    assert [list_lengths(row) for row in rows] == [[(5.0, 4.0)]] * 5
    assert (length(elsewhere)[0], list_lengths(elsewhere)) == (5.0, [])


def test_a_run_that_is_stopped_goes_on_with_the_next_people(
    office: Office, berlin: HolidayCalendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [office.leave_of(office.person(), MONDAY, FRIDAY) for _ in range(3)]
    office.holiday(WEDNESDAY, berlin)
    monkeypatch.setattr(recounting, "BATCH", 2)
    recounting.request_recount(office.organization, "A holiday", dates=[WEDNESDAY])
    with monkeypatch.context() as patched:
        stops = iter([False, True])
        patched.setattr(leases, "is_stopping", lambda: next(stops))
        assert count_again() == 2
    assert Recount.objects.get().finished_at is None
    assert (count_again(), Recount.objects.get().finished_at is None) == (1, False)
    assert {length(row)[0] for row in rows} == {4.0}


def test_a_category_that_counts_holidays_counts_its_requests_again(
    office: Office, browser: Client, berlin: HolidayCalendar
) -> None:
    office.holiday(WEDNESDAY, berlin)
    person = office.person()
    row = office.leave_of(person, MONDAY, FRIDAY)
    other = office.leave_of(person, date(2026, 6, 15), FRIDAY.replace(day=19))
    other.category = office.category("Other")
    other.save()
    form = {"name": "Leave", "consumes_balance": "on", "carry_over_days": "0", "position": "0"}
    form |= {"public_holidays": "include", "is_active": "on"}
    save(browser, page("timeoffcategory", "change", office.leave.pk), form, follow=True)
    assert (count_again(), length(row)[0]) == (1, 5.0)
    assert "the public holidays of the category Leave" in list_changes(browser)


def test_changed_lengths_of_another_organization_are_not_listed(
    other_office: Office, browser: Client
) -> None:
    theirs = other_office.leave_of(other_office.person(first_name="Zweite"), MONDAY, FRIDAY)
    other_office.holiday(WEDNESDAY)
    recounting.request_recount(other_office.organization, "Theirs", dates=[WEDNESDAY])
    assert (count_again(), length(theirs)[0]) == (1, 4.0)
    said = list_changes(browser)
    assert "Theirs" not in said
    assert "Zweite" not in said


def test_requests_that_keep_their_length_cost_no_statements_each(office: Office) -> None:
    counts = []
    for _ in range(2):
        for _number in range(3):
            office.leave_of(office.person(), MONDAY, FRIDAY)
        recounting.request_recount(office.organization, "Nothing", dates=[WEDNESDAY])
        with CaptureQueriesContext(connection) as queries:
            assert count_again() == 0
        counts.append(len(queries))
    assert counts[0] == counts[1]
