"""What a request has to meet when it is made, and again when it is approved."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.test import Client

from foundation.admin_urls import page_url
from people import employment, time_off
from people.changes import ConflictingChange, RefusedChange
from people.models import LeavePolicy, Person, TimeOff
from tests.people.api.program import ApiReply, Program
from tests.people.conftest import Office, create_office, wait_for_lock
from workspace.models import Membership, Role, User

# Weeks of 2026 and 2027 that have no holidays in these tests.
MONDAY, WEDNESDAY, FRIDAY = date(2026, 6, 1), date(2026, 6, 3), date(2026, 6, 5)


@pytest.fixture(autouse=True)
def _today() -> Any:
    with time_machine.travel("2026-05-01T12:00:00Z", tick=False):
        yield


@pytest.fixture
def person(office: Office) -> Person:
    return office.person(manager=office.person(first_name="Boss"))


def approve(program: Program, row: TimeOff) -> ApiReply:
    etag = program.get(f"time-off/{row.pk}").etag
    return program.post(f"time-off/{row.pk}/approve", If_Match=etag)


def book(
    program: Program, office: Office, person: Person, start: str, end: str, **more: Any
) -> ApiReply:
    body = {"person_id": person.pk, "category_id": office.leave.pk}
    return program.post("time-off", body | {"start_date": start, "end_date": end} | more)


def add_policy(office: Office, **values: Any) -> LeavePolicy:
    own = {"organization": office.organization, "category": office.leave, "name": "Policy"}
    given = {"allowance_days": Decimal(28), "valid_from": date(2026, 1, 1)} | values
    return LeavePolicy.objects.create(**own, **given)


def test_days_after_the_last_day_of_a_person_are_not_approved(
    office: Office, person: Person, program: Program
) -> None:
    """Requested for 11 to 15 January 2027; then the last day becomes 31 December 2026."""
    row = office.leave_of(person, date(2027, 1, 11), date(2027, 1, 15))
    employment.change(person, date(2026, 5, 1), end_date=date(2026, 12, 31))
    refused = approve(program, row)
    assert refused.code == "409 conflict"
    assert refused.error["message"] == (
        "This request cannot be approved any more. The person is not employed on the first day, "
        "but until 2026-12-31."
    )
    row.refresh_from_db()
    assert (row.status, row.version) == ("pending", 1)


def test_a_category_that_was_switched_off_is_not_approved_and_stays_approved(
    office: Office, person: Person, program: Program
) -> None:
    rows = [office.leave_of(person, date(2026, 6, day), date(2026, 6, day)) for day in (1, 2)]
    assert approve(program, rows[0]).status == 200
    office.leave.is_active = False
    office.leave.save()
    refused = approve(program, rows[1])
    assert (refused.code, "switched off" in refused.error["message"]) == ("409 conflict", True)
    rows[0].refresh_from_db()
    assert rows[0].status == "approved"


def test_days_that_are_not_worked_any_more_are_not_approved(
    office: Office, person: Person, program: Program
) -> None:
    """The Friday of a request is free once four days are worked, Monday to Thursday."""
    row = office.leave_of(person, FRIDAY, FRIDAY)
    employment.change(person, date(2026, 5, 1), working_pattern=office.pattern())
    refused = approve(program, row)
    assert (refused.code, "does not work" in refused.error["message"]) == ("409 conflict", True)


def test_an_approval_has_the_present_length_and_says_what_it_was(
    office: Office, person: Person, program: Program
) -> None:
    """Monday to Friday was 5 days; without Fridays it is 4, which are four times 480 minutes."""
    row = office.leave_of(person, MONDAY, FRIDAY)
    employment.change(person, date(2026, 5, 1), working_pattern=office.pattern())
    approved = approve(program, row)
    assert (approved.data["length"], approved.data["duration_minutes"]) == (4.0, 1920)
    assert approved.body["warnings"] == ["The length was counted again: 4 days instead of 5."]


def half(day: date, name: str) -> dict[str, Any]:
    return {"start": day, "end": day, f"is_{name}_half_day": True}


# Half of a first day is its afternoon, half of a last day its morning.
APART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one-day": (half(MONDAY, "to"), half(MONDAY, "from")),
    "noon-of-wednesday": (
        {"start": MONDAY, "end": WEDNESDAY, "is_to_half_day": True},
        {"start": WEDNESDAY, "end": FRIDAY, "is_from_half_day": True},
    ),
    "afternoon-after-days": (
        half(FRIDAY, "from"),
        {"start": MONDAY, "end": FRIDAY, "is_to_half_day": True},
    ),
}
ALIKE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mornings": (half(MONDAY, "to"), half(MONDAY, "to")),
    "afternoons": (half(MONDAY, "from"), half(MONDAY, "from")),
    "whole-and-half": ({"start": MONDAY, "end": MONDAY}, half(MONDAY, "to")),
    "half-and-whole": (half(MONDAY, "from"), {"start": MONDAY, "end": MONDAY}),
    "both-want-wednesday-morning": (
        {"start": MONDAY, "end": WEDNESDAY, "is_to_half_day": True},
        {"start": WEDNESDAY, "end": FRIDAY},
    ),
    "half-within-days": ({"start": MONDAY, "end": FRIDAY}, half(WEDNESDAY, "from")),
}


@pytest.mark.parametrize(("first", "second"), APART.values(), ids=APART)
def test_two_requests_may_have_the_two_halves_of_a_day(
    office: Office, first: dict[str, Any], second: dict[str, Any]
) -> None:
    person, sickness = office.person(), office.category("Sickness", is_sickness=True)
    for values, category in ((first, office.leave), (second, sickness)):
        more = {"category": category, **_halves(values)}
        office.leave_of(person, values["start"], values["end"], **more)
    assert TimeOff.objects.count() == 2


@pytest.mark.parametrize(("first", "second"), ALIKE.values(), ids=ALIKE)
def test_two_requests_cannot_have_the_same_half_of_a_day(
    office: Office, first: dict[str, Any], second: dict[str, Any]
) -> None:
    person = office.person()
    office.leave_of(person, first["start"], first["end"], **_halves(first))
    with pytest.raises(ConflictingChange):
        office.leave_of(person, second["start"], second["end"], **_halves(second))


def _halves(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name.startswith("is_")}


def test_the_worked_half_of_half_a_holiday_can_be_taken_once(office: Office) -> None:
    """Half of Monday is worked: one request of half a day takes 0.5, and none is left of it."""
    office.holiday(MONDAY, is_half_day=True)
    person = office.person()
    assert office.leave_of(person, MONDAY, MONDAY, is_to_half_day=True).amount_days == Decimal(
        "0.5"
    )
    with pytest.raises(ConflictingChange):
        office.leave_of(person, MONDAY, MONDAY, is_from_half_day=True)


# 30 working days of 28: 1 June to 10 July 2026 are six weeks of Monday to Friday.
TOO_LONG = ("2026-06-01", "2026-07-10")
TOO_MANY = (
    "This is more than is left of the allowance from 2026-01-01 to 2026-12-31. Days too many: 2."
)


def test_more_days_than_are_left_are_accepted_with_a_warning(
    office: Office, person: Person, program: Program
) -> None:
    booked = book(program, office, person, *TOO_LONG)
    assert (booked.data["length"], booked.body["warnings"]) == (30.0, [TOO_MANY])
    approved = approve(program, TimeOff.objects.get())
    assert (approved.data["status_code"], approved.body["warnings"]) == ("approved", [TOO_MANY])
    # Five days of the next year are within its 28.
    later = book(program, office, person, "2027-01-11", "2027-01-15")
    assert later.body["warnings"] == []


def test_a_policy_accepts_more_days_than_are_left_without_a_warning(
    office: Office, person: Person, program: Program
) -> None:
    add_policy(office, overdraft="accepted")
    assert book(program, office, person, *TOO_LONG).body["warnings"] == []


def test_a_policy_refuses_more_days_than_are_left(
    office: Office, person: Person, program: Program
) -> None:
    """28 days: 25 of 1 June to 3 July leave 3, of which 4 cannot be taken, but 3 can."""
    policy = add_policy(office, overdraft="refused")
    assert book(program, office, person, "2026-06-01", "2026-07-03").data["length"] == 25.0
    refused = book(program, office, person, "2026-08-03", "2026-08-06")
    assert (refused.code, refused.fields) == ("400 invalid_request", ["start_date"])
    assert refused.error["message"].endswith("Days too many: 1.")
    assert TimeOff.objects.count() == 1
    last = book(program, office, person, "2026-08-03", "2026-08-05")
    assert (last.data["length"], last.body["warnings"]) == (3.0, [])
    longer = program.patch(
        f"time-off/{last.data['id']}", {"end_date": "2026-08-06"}, If_Match=last.etag
    )
    assert longer.code == "400 invalid_request"
    # Only 26 days from now on: two too many are requested, and are not approved.
    policy.allowance_days = Decimal(26)
    policy.save()
    assert approve(program, TimeOff.objects.get(pk=last.data["id"])).code == "400 invalid_request"
    # A request may always become shorter, though it is one day too many even then.
    shorter = program.patch(
        f"time-off/{last.data['id']}", {"end_date": "2026-08-04"}, If_Match=last.etag
    )
    assert (shorter.data["length"], len(shorter.body["warnings"])) == (2.0, 1)
    assert shorter.body["warnings"][0].endswith("Days too many: 1.")


def test_days_of_both_leave_years_are_compared_with_the_allowance_of_each(
    office: Office, person: Person, program: Program
) -> None:
    """25 of the 28 days of each year are booked, so that 3 are left of each."""
    add_policy(office, overdraft="refused")
    for first, last in (("2026-06-01", "2026-07-03"), ("2027-06-07", "2027-07-09")):
        assert book(program, office, person, first, last).data["length"] == 25.0
    refused = book(program, office, person, "2026-12-28", "2027-01-05")
    # 28 to 31 December are 4 days, of which 3 are left; 1, 4 and 5 January are 3 of 3.
    assert refused.error["message"] == TOO_MANY.replace("many: 2", "many: 1")
    assert book(program, office, person, "2026-12-29", "2027-01-05").data["length"] == 6.0


def test_a_category_without_an_allowance_is_never_too_much(
    office: Office, person: Person, program: Program
) -> None:
    sickness = office.category("Sickness", is_sickness=True)
    booked = book(program, office, person, *TOO_LONG, category_id=sickness.pk)
    assert (booked.data["length"], booked.body["warnings"]) == (30.0, [])


def test_a_policy_for_one_person_refuses_nobody_else(office: Office, person: Person) -> None:
    add_policy(office, overdraft="refused", person=person)
    other = office.person()
    row = office.leave_of(other, date(2026, 6, 1), date(2026, 7, 10))
    assert row.status == "approved"
    assert len(time_off.list_warnings(row)) == 1


@pytest.mark.django_db(transaction=True)
def test_requests_that_are_made_at_once_do_not_overdraw_an_allowance_together() -> None:
    """20 days each of 28: the second one waits for the first, and is then 12 days too many."""
    if connection.vendor != "postgresql":
        pytest.skip("Writes of SQLite wait for each other from their beginning.")
    office = create_office()
    add_policy(office, overdraft="refused")
    person = office.person()
    is_made, may_commit = threading.Event(), threading.Event()

    def make_first() -> None:
        with transaction.atomic():
            office.leave_of(person, date(2026, 6, 1), date(2026, 6, 26))
            is_made.set()
            assert may_commit.wait(20)
        connection.close()

    def make_second() -> str:
        try:
            office.leave_of(person, date(2026, 7, 6), date(2026, 7, 31))
        except RefusedChange as refused:
            return refused.message
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(make_first)
        assert is_made.wait(20)
        second = pool.submit(make_second)
        wait_for_lock()
        may_commit.set()
        assert second.result(20).endswith("Days too many: 12.")
        first.result(20)
    assert TimeOff.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_request_waits_for_an_entry_of_the_ledger_and_is_compared_with_it() -> None:
    """28 and -10 by the entry are 18: 20 days are 2 too many."""
    if connection.vendor != "postgresql":
        pytest.skip("Writes of SQLite wait for each other from their beginning.")
    office = create_office()
    add_policy(office, overdraft="refused")
    person = office.person()
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    is_made, may_commit = threading.Event(), threading.Event()

    def adjust() -> None:
        browser = Client()
        browser.force_login(user)
        form = {"organization": office.organization.pk, "person": person.pk}
        form |= {"category": office.leave.pk, "entry_type": "manual_adjustment"}
        form |= {"amount_days": "-10", "effective_date": "2026-07-01"}
        with transaction.atomic():
            answer = browser.post(page_url("people_ledgerentry_add"), form)
            assert answer.status_code == HTTPStatus.FOUND
            is_made.set()
            assert may_commit.wait(20)
        connection.close()

    def request() -> str:
        try:
            office.leave_of(person, date(2026, 6, 1), date(2026, 6, 26))
        except RefusedChange as refused:
            return refused.message
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(adjust)
        assert is_made.wait(20)
        second = pool.submit(request)
        wait_for_lock()
        may_commit.set()
        assert second.result(20).endswith("Days too many: 2.")
        first.result(20)
