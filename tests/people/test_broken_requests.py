"""What an end date, another working week or a switched-off category breaks is shown before."""

from datetime import date
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from foundation.admin_urls import page_url
from people import employment, recounting, time_off
from people.models import Person, TimeOff
from tests.drivers.shown_forms import save
from tests.people.api.program import Program
from tests.people.conftest import Office
from workspace.models import Membership, Role, User

# Fridays of weeks without holidays.
MAY, JUNE, JANUARY = date(2026, 5, 29), date(2026, 6, 5), date(2027, 1, 15)


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
def person(office: Office) -> Person:
    person = office.person(first_name="Ada", manager=office.person(first_name="Boss"))
    boss = person.manager
    employment.change(person, date(2025, 1, 1), start_date=date(2025, 1, 1), manager=boss)
    return Person.objects.get(pk=person.pk)


def page(model: str, name: str, *args: object) -> str:
    return page_url(f"people_{model}_{name}", *args)


def send(browser: Client, address: str, form: dict[str, Any]) -> str:
    return str(save(browser, address, form, follow=True).content.decode())


def list_broken(browser: Client) -> list[TimeOff]:
    """The requests that HR finds by the filter for problems."""
    answer = browser.get(page("timeoff", "changelist"), {"problem": "any"})
    return list(answer.context["cl"].result_list)


def test_an_end_date_shows_the_requests_after_it_before_it_is_saved(
    office: Office, browser: Client, person: Person
) -> None:
    """Until 31 December 2026: 15 January 2027 is after it, 5 June 2026 is not."""
    fits = office.leave_of(person, JUNE, JUNE)
    late = office.leave_of(person, JANUARY, JANUARY)
    form = {"person": person.pk, "effective_from": "2026-06-01"}
    form |= {"start_date": "2025-01-01", "end_date": "2026-12-31"}
    said = send(browser, page("employmentrecord", "add"), form)
    assert "Ada, 2027-01-15 - 2027-01-15, Leave, Pending: The person is not employed" in said
    assert "until 2026-12-31" in said
    assert "2026-06-05" not in said
    person.refresh_from_db()
    assert person.end_date is None
    send(browser, page("employmentrecord", "add"), form | {"accepts_problems": "on"})
    person.refresh_from_db()
    assert person.end_date == date(2026, 12, 31)
    assert list_broken(browser) == [late]
    shown = browser.get(page("timeoff", "change", late.pk)).content.decode()
    assert "until 2026-12-31" in shown
    program = Program(office.organization)
    problems = [program.get(f"time-off/{row.pk}/approval").data["problem"] for row in (fits, late)]
    assert problems == [
        None,
        "The person is not employed on the first day, but until 2026-12-31.",
    ]
    time_off.decline(office.organization.pk, late.pk)
    assert list_broken(browser) == []


def test_another_working_week_shows_the_requests_of_days_that_become_free(
    office: Office, browser: Client, person: Person
) -> None:
    """Four days from Monday to Thursday: the two Fridays ahead are free, the one before is over."""
    over = office.leave_of(person, MAY, MAY)
    free = [office.leave_of(person, day, day) for day in (JUNE, JANUARY)]
    kept = office.leave_of(person, date(2026, 6, 11), date(2026, 6, 12))
    time_off.approve(office.organization.pk, free[1].pk)
    form = {"person": person.pk, "effective_from": "2026-06-01", "start_date": "2025-01-01"}
    form["working_pattern"] = office.pattern().pk
    said = send(browser, page("employmentrecord", "add"), form)
    for words in ("2026-06-05, Leave, Pending: The person does", "2027-01-15, Leave, Approved:"):
        assert words in said
    for row in (over, kept):
        assert f"{row.start_date} - " not in said
    send(browser, page("employmentrecord", "add"), form | {"accepts_problems": "on"})
    # The worker counts the days again.
    assert recounting.run_waiting() == 3
    assert sorted(list_broken(browser), key=lambda row: row.start_date) == free


def test_what_was_broken_before_does_not_keep_another_change_from_being_saved(
    office: Office, browser: Client, person: Person
) -> None:
    office.leave_of(person, JANUARY, JANUARY)
    employment.change(person, date(2026, 6, 1), end_date=date(2026, 12, 31))
    record = person.employment_history.get(effective_from=date(2026, 6, 1))
    form = {"job_title": "Engineer", "end_date": "2026-12-31", "start_date": "2025-01-01"}
    form["reason"] = "A typing error"
    send(browser, page("employmentrecord", "change", record.pk), form)
    record.refresh_from_db()
    assert record.job_title == "Engineer"


def test_a_deleted_record_names_the_requests_that_it_breaks(
    office: Office, browser: Client, person: Person
) -> None:
    employment.change(person, date(2026, 6, 1), end_date=date(2026, 6, 30))
    # The end was taken back, and leave was requested; then that record is deleted.
    employment.change(person, date(2026, 6, 2), end_date=None)
    office.leave_of(Person.objects.get(pk=person.pk), JANUARY, JANUARY)
    record = person.employment_history.get(effective_from=date(2026, 6, 2))
    address = page("employmentrecord", "delete", record.pk)
    answer = browser.post(address, {"post": "yes"}, follow=True)
    said = [str(message) for message in answer.context["messages"]]
    assert any("2027-01-15" in one and "until 2026-06-30" in one for one in said)


def test_a_category_shows_the_requests_that_wait_before_it_is_switched_off(
    office: Office, browser: Client, person: Person
) -> None:
    waiting, approved = (office.leave_of(person, day, day) for day in (JUNE, JANUARY))
    time_off.approve(office.organization.pk, approved.pk)
    form = {"name": "Leave", "consumes_balance": "on", "carry_over_days": "0", "position": "0"}
    form |= {"public_holidays": "exclude"}
    address = page("timeoffcategory", "change", office.leave.pk)
    # A box that is not ticked is not sent.
    said = send(browser, address, form)
    assert "Ada, 2026-06-05 - 2026-06-05, Leave, Pending: Its category is switched off." in said
    assert "2027-01-15" not in said
    office.leave.refresh_from_db()
    assert office.leave.is_active
    send(browser, address, form | {"accepts_problems": "on"})
    office.leave.refresh_from_db()
    assert not office.leave.is_active
    assert list_broken(browser) == [waiting]


def test_requests_of_another_organization_are_not_listed(
    other_office: Office, browser: Client
) -> None:
    theirs = other_office.person()
    other_office.leave_of(theirs, JANUARY, JANUARY)
    employment.change(theirs, date(2026, 6, 1), end_date=date(2026, 12, 31))
    assert list_broken(browser) == []


def test_the_list_of_problems_reads_as_much_for_many_as_for_one(
    office: Office, browser: Client
) -> None:
    counts = []
    for number in (1, 6):
        for _ in range(number):
            person = office.person(manager=office.person())
            office.leave_of(person, JANUARY, JANUARY)
            employment.change(person, date(2026, 6, 1), end_date=date(2026, 12, 31))
        list_broken(browser)
        with CaptureQueriesContext(connection) as queries:
            found = list_broken(browser)
        counts.append((len(found), len(queries)))
    assert [number for number, _queries in counts] == [1, 7]
    assert counts[0][1] == counts[1][1]
