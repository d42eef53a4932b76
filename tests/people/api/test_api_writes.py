"""Changing time off over the HR API: once for each key, and only the version that was seen."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from people.models import AbsenceStatus, LeavePolicy, Person, TimeOff
from rest import idempotency
from rest.models import RepeatableRequest
from tests.people.api.program import ApiReply, Program
from tests.people.conftest import Office, create_office
from workspace.models import OutgoingMail

MONDAY, FRIDAY = "2026-06-01", "2026-06-05"
ONE_KEY = {"Idempotency_Key": "the same key"}


@pytest.fixture
def person(office: Office) -> Person:
    return office.person(manager=office.person(first_name="Boss"))


def time_off_fields(office: Office, person: Person, **changes: Any) -> dict[str, Any]:
    asked = {"person_id": person.pk, "category_id": office.leave.pk}
    return asked | {"start_date": MONDAY, "end_date": FRIDAY} | changes


@pytest.fixture
def waiting(office: Office, person: Person, program: Program) -> ApiReply:
    """A pending request, as creating it was answered."""
    reply = program.post("time-off", time_off_fields(office, person))
    assert reply.status == 201
    return reply


def time_off_path(reply: ApiReply) -> str:
    return f"time-off/{reply.data['id']}"


def test_a_request_is_pending_until_it_is_decided(waiting: ApiReply, program: Program) -> None:
    assert (waiting.data["status_code"], waiting.data["length"]) == ("pending", 5.0)
    read = program.get(time_off_path(waiting))
    assert (read.data, read.etag) == (waiting.data, waiting.etag)
    approved = program.post(f"{time_off_path(waiting)}/approve", If_Match=waiting.etag)
    assert (approved.body["decision"], approved.data["status_code"]) == ("approved", "approved")
    assert program.get(time_off_path(waiting)).etag == approved.etag != waiting.etag
    again = program.post(f"{time_off_path(waiting)}/approve", If_Match=approved.etag)
    assert again.code == "409 conflict"


def test_without_a_manager_a_request_is_approved(office: Office, program: Program) -> None:
    body = time_off_fields(office, office.person(), is_from_half_day=True)
    found = program.post("time-off", body).data
    assert (found["status_code"], found["length"]) == ("approved", 4.5)


def book_later(office: Office, person: Person, **changes: Any) -> dict[str, Any]:
    """A week of a leave year that has not begun, into which nothing is carried over."""
    days = {"start_date": "2995-06-01", "end_date": "2995-06-05"}
    return time_off_fields(office, person, **days | changes)


def dry_run_both(program: Program, body: dict[str, Any]) -> tuple[ApiReply, ApiReply]:
    """What the dry run of a request answers, and then the request."""
    return program.post("time-off/dry-run", body), program.post("time-off", body)


def count_stored() -> list[int]:
    return [one.objects.count() for one in (TimeOff, RepeatableRequest, OutgoingMail)]


def test_a_dry_run_answers_what_a_request_would_be_and_stores_nothing(
    office: Office, person: Person, program: Program
) -> None:
    office.leave_of(person, date(2995, 3, 2), date(2995, 3, 3))
    before, body = count_stored(), book_later(office, person)
    # 28 days less Monday and Tuesday are 26; the week takes 5 and leaves 21.
    reply = program.post("time-off/dry-run", body, Idempotency_Key="")
    assert (reply.status, reply.body["warnings"]) == (200, [])
    (left,) = reply.data.pop("left")
    assert reply.data == {"length": 5.0, "duration_minutes": 2400, "status_code": "pending"}
    assert left["leave_year"]["starts_on"] == "2995-01-01"
    assert (left["remaining"], left["remaining_without"]) == (21.0, 26.0)
    assert count_stored() == before
    # The days are free, and the key that was sent with a dry run was not used.
    program.post("time-off/dry-run", body, **ONE_KEY)
    made = program.post("time-off", body, **ONE_KEY)
    assert (made.data["length"], made.data["status_code"]) == (5.0, "pending")


def test_a_dry_run_of_days_in_two_leave_years_has_what_is_left_of_both(
    office: Office, person: Person, program: Program
) -> None:
    # Monday to Thursday are days of 2995, and Friday is one of 2996.
    body = book_later(office, person, start_date="2995-12-28", end_date="2996-01-01")
    found = program.post("time-off/dry-run", body).data
    assert found["length"] == 5.0
    figures = [(one["remaining_without"], one["remaining"]) for one in found["left"]]
    assert figures == [(28.0, 24.0), (28.0, 27.0)]


def test_a_dry_run_warns_of_and_refuses_what_the_request_would_be(
    office: Office, person: Person, program: Program
) -> None:
    # Six weeks are 30 of 28 days.
    wanted = book_later(office, person, end_date="2995-07-10")
    tried, made = dry_run_both(program, wanted)
    assert tried.body["warnings"] == made.body["warnings"] != []
    assert tried.data["left"][0]["remaining"] == -2.0
    other_days = {"start_date": "2995-08-03", "end_date": "2995-08-07"}
    LeavePolicy.objects.create(
        organization=office.organization,
        category=office.leave,
        name="Policy",
        allowance_days=Decimal(28),
        valid_from=date(2026, 1, 1),
        overdraft="refused",
    )
    wrong = ({}, other_days, {"end_date": "2995-05-01"}, {"category_id": "toc_x"}, {"note": "x"})
    codes = []
    for changes in wrong:
        tried, made = dry_run_both(program, book_later(office, person, **changes))
        assert (tried.code, tried.error["details"]) == (made.code, made.error["details"])
        codes.append(tried.code)
    assert codes == ["409 conflict", *["400 invalid_request"] * 4]
    assert TimeOff.objects.count() == 1


def test_a_dry_run_needs_the_scope_of_changes_and_shows_balances_to_readers_alone(
    office: Office, person: Person, program: Program
) -> None:
    body = book_later(office, person)
    reader = Program(office.organization, "time_off:read")
    assert reader.post("time-off/dry-run", body).code == "403 permission_denied"
    writer = Program(office.organization, "time_off:write")
    found = writer.post("time-off/dry-run", body).data
    assert (found["length"], found["left"]) == (5.0, None)
    moving = book_later(office, person, category_id=office.category("Moving").pk)
    assert program.post("time-off/dry-run", moving).data["left"] == []


def test_a_pending_request_is_changed_and_cancelled(
    office: Office, waiting: ApiReply, program: Program
) -> None:
    other = office.category("Moving")
    body = {"end_date": "2026-06-02", "category_id": other.pk}
    changed = program.patch(time_off_path(waiting), body, If_Match=waiting.etag)
    assert (changed.data["length"], changed.data["type"]) == (2.0, "Moving")
    ended = program.post(f"{time_off_path(waiting)}/cancel", {}, If_Match=changed.etag)
    assert (ended.body["cancelled"], ended.data["status_code"]) == (True, "cancelled")


def test_the_note_of_a_decision_is_in_no_answer(waiting: ApiReply, program: Program) -> None:
    body = {"response_note": "CANARY"}
    declined = program.post(f"{time_off_path(waiting)}/decline", body, If_Match=waiting.etag)
    assert declined.body["decision"] == "declined"
    assert "CANARY" not in declined.response.content.decode()
    assert "CANARY" not in program.get(time_off_path(waiting)).response.content.decode()
    assert TimeOff.objects.get().response_note == "CANARY"


def test_a_version_that_has_changed_meanwhile_is_not_overwritten(
    waiting: ApiReply, program: Program
) -> None:
    program.patch(time_off_path(waiting), {"end_date": "2026-06-04"}, If_Match=waiting.etag)
    late = program.post(f"{time_off_path(waiting)}/cancel", If_Match=waiting.etag)
    assert late.code == "412 precondition_failed"
    assert late.etag == program.get(time_off_path(waiting)).etag
    assert TimeOff.objects.get().status == AbsenceStatus.PENDING
    for unusable in ("*", f"W/{late.etag}", f"{late.etag}, {late.etag}", "x"):
        refused = program.post(f"{time_off_path(waiting)}/cancel", If_Match=unusable)
        assert refused.code == "412 precondition_failed"
    assert program.post(f"{time_off_path(waiting)}/cancel").code == "428 precondition_required"


def test_a_repeated_request_gets_the_first_answer(
    office: Office, person: Person, program: Program
) -> None:
    first, again = (
        program.post("time-off", time_off_fields(office, person), **ONE_KEY) for _ in "12"
    )
    assert (again.status, again.body, again.etag) == (201, first.body, first.etag)
    assert TimeOff.objects.count() == 1
    other = program.post("time-off", time_off_fields(office, person, end_date=MONDAY), **ONE_KEY)
    assert other.code == "409 idempotency_conflict"
    # Another program's key is another one.
    overlapping = Program(office.organization).post(
        "time-off", time_off_fields(office, person), **ONE_KEY
    )
    assert overlapping.code == "409 conflict"


def test_a_page_of_the_sdk_cannot_spend_the_key_of_a_program(
    office: Office, person: Person, program: Program
) -> None:
    digest = sha256(b"holiday-2031-ada").hexdigest()
    page = Client(headers={"X-Api-Key": office.organization.widget_key})
    for spelled in (f"hr:{program.row.pk}:{digest}", digest, "holiday-2031-ada"):
        answer = page.post(
            "/api/sdk/tickets/create",
            {"subject": "Hello", "email": "ada@x.example"},
            content_type="application/json",
            headers={"Idempotency-Key": spelled},
        )
        assert answer.status_code == 200, answer.content
    key = {"Idempotency_Key": "holiday-2031-ada"}
    assert program.post("time-off", time_off_fields(office, person), **key).status == 201


def test_a_refused_request_may_be_corrected_under_another_key_only(
    office: Office, person: Person, program: Program
) -> None:
    wrong = program.post(
        "time-off", time_off_fields(office, person, end_date="2026-05-01"), **ONE_KEY
    )
    assert (wrong.code, wrong.fields) == ("400 invalid_request", ["end_date"])
    assert not RepeatableRequest.objects.exists()


@pytest.mark.parametrize("key", ["short", "x" * 256, "täglich-eins", ""])
def test_a_change_needs_a_key(office: Office, person: Person, program: Program, key: str) -> None:
    reply = program.post("time-off", time_off_fields(office, person), Idempotency_Key=key)
    assert reply.status == 400
    assert reply.error["code"] == ("invalid_request" if key else "idempotency_required")
    assert not TimeOff.objects.exists()


def test_a_key_is_kept_for_a_day(office: Office, person: Person, program: Program) -> None:
    program.post("time-off", time_off_fields(office, person), **ONE_KEY)
    yesterday = timezone.now() - timedelta(days=1, seconds=1)
    RepeatableRequest.objects.update(created_at=yesterday)
    assert idempotency.prune() == 1


WRONG: dict[str, tuple[Any, list[str]]] = {
    "nothing": ({}, ["category_id", "end_date", "person_id", "start_date"]),
    "list": ([], [""]),
    "unknown": ({"salary": 1}, ["salary"]),
    "number": ({"person_id": 5}, ["person_id"]),
    "date": ({"start_date": "01.06.2026"}, ["start_date"]),
    "moment": ({"start_date": "2026-06-01T00:00:00Z"}, ["start_date"]),
    "too-early": ({"start_date": "0001-01-01"}, ["start_date"]),
    "too-late": ({"end_date": "9999-12-31"}, ["end_date"]),
    "half": ({"is_from_half_day": "yes"}, ["is_from_half_day"]),
    "person": ({"person_id": "2b7v0c9x4k1m"}, ["person_id"]),
    "category": ({"category_id": "../x"}, ["category_id"]),
    "surrogate": ({"category_id": "\udfff"}, ["category_id"]),
    "key": ({"\udfff": 1}, [""]),
    "nul": ({"category_id": "a\0"}, ["category_id"]),
}


@pytest.mark.parametrize(("changes", "fields"), WRONG.values(), ids=WRONG)
def test_a_wrong_body_is_refused_by_its_fields(
    office: Office, person: Person, program: Program, changes: Any, fields: list[str]
) -> None:
    whole = isinstance(changes, list) or not changes
    body = changes if whole else time_off_fields(office, person) | changes
    reply = program.post("time-off", body)
    assert reply.code == "400 invalid_request"
    assert sorted(reply.fields) == fields
    assert not TimeOff.objects.exists()


def test_every_wrong_field_of_a_body_is_named_and_a_day_that_does_not_exist(
    office: Office, person: Person, program: Program
) -> None:
    changes = {"start_date": "2026-02-29", "end_date": "2026-04-31", "salary": 1}
    reply = program.post("time-off", time_off_fields(office, person) | changes)
    issues = {one["field"]: one["issue"] for one in reply.error["details"]}
    assert issues == {
        "salary": "There is no such field.",
        "start_date": "2026-02-29 does not exist.",
        "end_date": "2026-04-31 does not exist.",
    }


def test_null_for_an_optional_member_of_a_body_is_the_member_left_out(
    office: Office, waiting: ApiReply, program: Program
) -> None:
    halves = {"is_from_half_day": None, "is_to_half_day": None}
    created = program.post("time-off", time_off_fields(office, office.person(), **halves))
    assert (created.status, created.data["length"]) == (201, 5.0)
    assert (created.data["is_from_half_day"], created.data["is_to_half_day"]) == (False, False)
    body = {"end_date": "2026-06-02", "start_date": None, "category_id": None}
    changed = program.patch(time_off_path(waiting), body, If_Match=waiting.etag)
    assert (changed.data["start_date"], changed.data["length"]) == (MONDAY, 2.0)
    assert changed.data["category_id"] == office.leave.pk
    nothing = program.patch(time_off_path(waiting), {"end_date": None}, If_Match=changed.etag)
    assert nothing.error["message"] == "Send at least one field."
    declined = program.post(
        f"{time_off_path(waiting)}/decline", {"response_note": None}, If_Match=changed.etag
    )
    assert declined.body["decision"] == "declined"


def test_null_for_a_required_member_of_a_body_is_refused_by_its_name(
    office: Office, person: Person, program: Program
) -> None:
    reply = program.post("time-off", time_off_fields(office, person, end_date=None))
    assert (reply.code, [*reply.fields]) == ("400 invalid_request", ["end_date"])


def test_text_that_is_no_json_is_refused(program: Program) -> None:
    for body in ("{", '{"a": 1, "a": 2}', "NaN", b"\xff"):
        reply = program.post("time-off", body)
        assert reply.code == "400 invalid_request"
    large = program.post("time-off", "[" + "0," * 3_000_000 + "0]")
    assert large.code == "413 payload_too_large"
    form = {"Idempotency-Key": "request-form", "Content-Type": "text/csv"}
    typed = program.send("POST", "time-off", "a,b", form)
    assert typed.code == "415 unsupported_media_type"


def test_only_known_methods_are_accepted(program: Program) -> None:
    assert program.send("DELETE", "time-off").code == "405 method_not_allowed"
    assert program.send("PUT", "people").code == "405 method_not_allowed"
    assert program.send("OPTIONS", "people").code == "405 method_not_allowed"
    assert program.patch("time-off", {}).code == "405 method_not_allowed"


@pytest.mark.django_db(transaction=True)
def test_two_requests_with_one_key_at_once_create_one_record() -> None:
    office = create_office()
    person = office.person(manager=office.person())
    program = Program(office.organization)

    def ask(_number: int) -> ApiReply:
        try:
            return program.post("time-off", time_off_fields(office, person), **ONE_KEY)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(ask, range(4)))
    assert TimeOff.objects.count() == 1
    created = [one for one in replies if one.status == 201]
    assert created
    assert len({one.data["id"] for one in created}) == 1
    assert {one.status for one in replies} <= {201, 503}


@pytest.mark.django_db(transaction=True)
def test_two_changes_of_one_version_at_once_change_it_once() -> None:
    office = create_office()
    person = office.person(manager=office.person())
    program = Program(office.organization)
    waiting = program.post("time-off", time_off_fields(office, person))
    days = [date(2026, 6, number).isoformat() for number in (1, 2, 3, 4)]

    def change(day: str) -> ApiReply:
        try:
            return program.patch(time_off_path(waiting), {"end_date": day}, If_Match=waiting.etag)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(reply.status for reply in pool.map(change, days))
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 412, 503}
