"""Changes over MCP: prepared, approved by a person, and made once or not at all."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from audit import record
from mcp_protocol.revisions import Revision
from oauth.models import KeyKind
from people import time_off
from people.models import LeavePolicy, Person, TimeOff, TimeOffCategory
from tests.drivers.elicitation_client import accept
from tests.drivers.mcp import McpClient, Reply
from tests.people.api.program import Program
from tests.people.conftest import Office, create_office
from tests.people.mcp.changes.committing import (
    DECLINE,
    FRIDAY,
    MODERN,
    MONDAY,
    answer_request,
    ask,
    ask_for_approval,
    booking,
    commit,
    prepare,
    question,
    reason,
    token_of,
)
from tests.people.mcp.endpoint import client, failure


def test_leave_is_booked_when_the_person_approves(office: Office, mcp: McpClient) -> None:
    person = office.person(last_name="Lovelace", manager=office.person())
    prepared = prepare(mcp, "createTimeOff", booking(office, person))
    assert not TimeOff.objects.exists()
    facts = prepared.facts
    assert prepared.result["structuredContent"] == facts
    assert facts["frozen_payload"] == {
        "operation_id": "createTimeOff",
        "method": "POST",
        "path": "/time-off",
        "body": booking(office, person),
    }
    changes = {one["field"]: one["to"] for one in facts["difference"]}
    assert (changes["start_date"], changes["length"]) == ("2026-06-01", 5.0)
    assert changes["status_code"] == "pending"
    assert facts["person"] == {"id": person.pk, "display_name": "Ada Lovelace"}
    first = ask_for_approval(mcp, token_of(prepared))
    for words in (
        f"Person: Ada Lovelace ({person.pk})",
        "Days: Monday 2026-06-01 to Friday 2026-06-05",
        "Length: 5 days",
        "Category: taken from an allowance of 28 days",
        "Status: pending",
        "28 of 28 days now, 23 afterwards. Pending requests are subtracted.",
    ):
        assert words in question(first)
    # A model reads the same words before it shows them.
    assert question(first).startswith(facts["question"])
    assert not TimeOff.objects.exists()
    done = answer_request(mcp, token_of(prepared), first, accept(approve=True)).facts
    row = TimeOff.objects.get()
    assert (row.start_date, row.end_date, row.status) == (MONDAY, FRIDAY, "pending")
    assert done["is_repeated"] is False
    assert done["answer"]["data"]["id"] == row.pk
    assert "category_id" not in done["answer"]["data"]


def test_a_change_shows_what_it_was_and_what_it_becomes(office: Office, mcp: McpClient) -> None:
    person = office.person(manager=office.person())
    row = office.leave_of(person, MONDAY, FRIDAY)
    other = office.category("CANARY moving")
    body = {"end_date": "2026-06-03", "category_id": other.pk}
    prepared = prepare(mcp, "updateTimeOff", body, time_off_id=row.pk)
    differences = {one["field"]: one for one in prepared.facts["difference"]}
    assert differences["end_date"] == {
        "field": "end_date",
        "from": "2026-06-05",
        "to": "2026-06-03",
    }
    assert (differences["length"]["from"], differences["length"]["to"]) == (5.0, 3.0)
    # The present category of a record is in no answer.
    assert differences["category_id"] == {"field": "category_id", "to": other.pk}
    first = ask_for_approval(mcp, token_of(prepared))
    for words in (
        "to Friday 2026-06-05 becomes Monday 2026-06-01 to Wednesday 2026-06-03",
        "Length: 5 days becomes 3 days",
        "Category: taken from an allowance of 28 days becomes taken from no allowance",
        "23 of 28 days now, 28 afterwards.",
    ):
        assert words in question(first)
    for reply in (prepared, first):
        assert office.leave.pk.encode() not in reply.body
        assert b"CANARY" not in reply.body
    answer_request(mcp, token_of(prepared), first, accept(approve=True))
    row.refresh_from_db()
    assert (row.end_date, row.category_id) == (date(2026, 6, 3), other.pk)


LEFT = "23.5 of 28 days now, 28 afterwards. Pending requests are subtracted."


def test_a_cancelled_request_is_asked_about_in_whole(office: Office, mcp: McpClient) -> None:
    office.leave.is_named_to_ai = True
    office.leave.save()
    person = office.person(last_name="Lovelace\u202e", manager=office.person())
    row = office.leave_of(person, MONDAY, FRIDAY, is_to_half_day=True)
    first = ask_for_approval(mcp, token_of(prepare(mcp, "cancelTimeOff", time_off_id=row.pk)))
    assert question(first).splitlines()[:9] == [
        "Approve this change to HR records?",
        "Cancel a request; an approved one as its leave policy allows.",
        f"Request: {row.pk}",
        f"Person: Ada Lovelace ({person.pk})",
        "Days: Monday 2026-06-01 to Friday 2026-06-05, half of the last day",
        "Length: 4.5 days",
        "Category: Leave, taken from an allowance of 28 days",
        "Status: pending becomes cancelled",
        f"Left of Leave, 2026-01-01 to 2026-12-31: {LEFT}",
    ]
    row.refresh_from_db()
    assert row.status == "pending"


def test_an_approved_request_is_cancelled_over_mcp_as_its_policy_allows(
    office: Office, mcp: McpClient
) -> None:
    """1 to 5 June are 5 of 28 days: 23 are left with them, and 28 without."""
    row = office.leave_of(office.person(last_name="Lovelace"), MONDAY, FRIDAY)
    refused = prepare(mcp, "cancelTimeOff", time_off_id=row.pk)
    assert "This one is approved." in failure(refused)["message"]
    LeavePolicy.objects.create(
        organization=office.organization,
        category=office.leave,
        name="Policy",
        allowance_days=28,
        valid_from=date(2020, 1, 1),
        cancellation="everybody",
        cancellation_days=0,
    )
    with time_machine.travel("2026-06-01T12:00:00Z", tick=False):
        mcp = client(Program(office.organization), MODERN)
        body = {"decided_by_id": row.person_id, "comment": "Not\nneeded"}
        token = token_of(prepare(mcp, "cancelTimeOff", body, time_off_id=row.pk))
        first = ask_for_approval(mcp, token)
        for words in (
            "Status: approved becomes cancelled",
            "23 of 28 days now, 28 afterwards.",
            f"Decided by the person: {row.person_id}",
            "Comment: Not needed",
        ):
            assert words in question(first)
        answer_request(mcp, token, first, accept(approve=True))
    row.refresh_from_db()
    assert row.status == "cancelled"
    assert row.decisions.get().role == "person"


def test_a_question_about_the_closed_year_says_what_it_takes_of_the_present_one(
    office: Office, mcp: McpClient
) -> None:
    """28 days are left of each year, and all of the closed one are carried over: 56."""
    TimeOffCategory.objects.update(carry_over_days=28)
    year = timezone.localdate().year
    person = office.person(
        start_date=date(2020, 1, 1), created_at=datetime(year - 1, 1, 2, tzinfo=UTC)
    )
    monday, friday = (date.fromisocalendar(year - 1, 10, day).isoformat() for day in (1, 5))
    body = booking(office, person, start_date=monday, end_date=friday)
    first = ask_for_approval(mcp, token_of(prepare(mcp, "createTimeOff", body)))
    for words in (
        f"{year - 1}-01-01 to {year - 1}-12-31: 28 of 28 days now, 23 afterwards.",
        f"{year}-01-01 to {year}-12-31: 56 of 56 days now, 51 afterwards.",
    ):
        assert words in question(first)


def test_a_question_says_what_a_booking_exceeds_and_that_days_are_long_past(
    office: Office, mcp: McpClient
) -> None:
    person = office.person()
    first = ask_for_approval(
        mcp,
        token_of(
            prepare(
                mcp,
                "createTimeOff",
                # 5 January to 13 February 2026: six weeks.
                booking(office, person, start_date="2026-01-05", end_date="2026-02-13"),
            )
        ),
    )
    assert "28 of 28 days now, -2 afterwards." in question(first)
    assert "More is taken than there is." in question(first)
    sick = office.category("CANARY flu", is_sickness=True)
    # Monday 28 December 2020 to Friday 1 January 2021.
    days = {"start_date": "2020-12-28", "end_date": "2021-01-01"}
    body = booking(office, person, category_id=sick.pk, **days)
    first = ask_for_approval(mcp, token_of(prepare(mcp, "createTimeOff", body)))
    for words in (
        "Category: sickness\n",
        "No allowance changes.",
        "These days are in a leave year that has ended.",
    ):
        assert words in question(first)
    body["category_id"] = office.leave.pk
    first = ask_for_approval(mcp, token_of(prepare(mcp, "createTimeOff", body)))
    # Monday to Thursday in one year, Friday in the next.
    for words in (
        "2020-01-01 to 2020-12-31: 28 of 28 days now, 24 afterwards.",
        "2021-01-01 to 2021-12-31: 28 of 28 days now, 27 afterwards.",
    ):
        assert words in question(first)


@pytest.mark.parametrize("answer", [DECLINE, {"action": "cancel"}, accept(approve=False)], ids=str)
def test_nothing_is_changed_without_an_approval(
    office: Office, mcp: McpClient, answer: Any
) -> None:
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    refused = failure(commit(mcp, token, answer))
    assert refused["reason"] == "declined"
    assert refused["message"] == "The person did not approve the change. Nothing was changed."
    # The token has ended: the person is not asked again.
    assert reason(ask(mcp, "commit_api_write", {"confirmation_token": token})) == "declined"
    assert not TimeOff.objects.exists()


@pytest.mark.parametrize(
    "answer",
    [accept(), accept(approve="yes"), accept(approve=1), {"action": "accept"}, {}, "yes", None, []],
    ids=str,
)
def test_an_answer_that_is_no_clear_yes_is_a_no_and_is_asked_for_once(
    office: Office, mcp: McpClient, answer: Any
) -> None:
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    refused = failure(answer_request(mcp, token, ask_for_approval(mcp, token), answer))
    assert refused["reason"] == "declined"
    assert refused["message"] == "The person did not approve the change. Nothing was changed."
    assert reason(ask(mcp, "commit_api_write", {"confirmation_token": token})) == "declined"
    assert not TimeOff.objects.exists()


def test_an_answer_to_a_question_that_was_not_asked_approves_nothing(
    office: Office, mcp: McpClient
) -> None:
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    given = {"confirmation_token": token}
    first = ask(mcp, "commit_api_write", given, inputResponses={"approval": accept(approve=True)})
    assert first.result["resultType"] == "input_required"
    assert not TimeOff.objects.exists()


@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}], ids=str)
def test_a_client_that_cannot_ask_changes_nothing(
    office: Office, program: Program, mcp: McpClient, capabilities: Any
) -> None:
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    given = {"confirmation_token": token}
    refused = ask(mcp, "commit_api_write", given, capabilities)
    assert refused.error["data"]["requiredCapabilities"] == {"elicitation": {"form": {}}}
    # A handshake client without a session has never said what it can do.
    without = client(program, Revision.V2025_11_25).call("commit_api_write", given)
    assert "does not support that" in failure(without)["message"]
    assert not TimeOff.objects.exists()


def test_a_commit_is_repeated_without_a_second_change(office: Office, mcp: McpClient) -> None:
    person = office.person()
    token = token_of(prepare(mcp, "createTimeOff", booking(office, person)))
    first = commit(mcp, token).facts
    again = ask(mcp, "commit_api_write", {"confirmation_token": token}).facts
    assert again == {**first, "is_repeated": True}
    assert TimeOff.objects.count() == 1
    # And nothing else has changed with the same answer.
    row = TimeOff.objects.get()
    assert first["answer"]["data"]["id"] == row.pk


def test_the_question_says_how_long_it_can_be_answered(
    office: Office, mcp: McpClient, settings: Any
) -> None:
    person = office.person(manager=office.person())
    now = datetime.now(UTC)
    with time_machine.travel(now, tick=False):
        token = token_of(prepare(mcp, "createTimeOff", booking(office, person)))
        # The prepared change ends before the question would.
        assert question(ask_for_approval(mcp, token)).endswith("\n\nAnswer within 5 minutes.")
        settings.HALO_ASK_SECONDS = 75
        assert question(ask_for_approval(mcp, token)).endswith("\n\nAnswer within 75 seconds.")
    settings.HALO_ASK_SECONDS = 3600
    with time_machine.travel(now + timedelta(minutes=2), tick=False):
        assert question(ask_for_approval(mcp, token)).endswith("\n\nAnswer within 3 minutes.")


def test_a_record_that_changed_meanwhile_is_not_overwritten(office: Office, mcp: McpClient) -> None:
    person = office.person(manager=office.person())
    row = office.leave_of(person, MONDAY, FRIDAY)
    token = token_of(prepare(mcp, "updateTimeOff", {"end_date": "2026-06-03"}, time_off_id=row.pk))
    first = ask_for_approval(mcp, token)
    time_off.change(office.organization.pk, row.pk, end_date=date(2026, 6, 4))
    refused = failure(answer_request(mcp, token, first, accept(approve=True)))
    assert refused["reason"] == "precondition_failed"
    assert "Prepare the change again" in refused["message"]
    row.refresh_from_db()
    assert row.end_date == date(2026, 6, 4)


def test_days_that_were_taken_meanwhile_are_a_conflict(office: Office, mcp: McpClient) -> None:
    person = office.person()
    token = token_of(prepare(mcp, "createTimeOff", booking(office, person)))
    first = ask_for_approval(mcp, token)
    office.leave_of(person, MONDAY, MONDAY)
    refused = failure(answer_request(mcp, token, first, accept(approve=True)))
    assert (refused["reason"], refused["field"]) == ("conflict", "start_date")
    assert TimeOff.objects.count() == 1


def test_what_changes_after_the_question_is_asked_about_again(
    office: Office, mcp: McpClient
) -> None:
    person = office.person()
    token = token_of(prepare(mcp, "createTimeOff", booking(office, person)))
    first = ask_for_approval(mcp, token)
    Person.objects.filter(pk=person.pk).update(manager=office.person(), first_name="Grace")
    second = answer_request(mcp, token, first, accept(approve=True))
    assert "Grace" in question(second)
    assert not TimeOff.objects.exists()


def test_a_token_ends_after_five_minutes(office: Office, mcp: McpClient) -> None:
    now = timezone.now()
    person = office.person()
    with time_machine.travel(now, tick=False):
        token = token_of(prepare(mcp, "createTimeOff", booking(office, person)))
        first = ask_for_approval(mcp, token)
    with time_machine.travel(now + timedelta(minutes=5, seconds=1), tick=False):
        refused = failure(ask(mcp, "commit_api_write", {"confirmation_token": token}))
        late = answer_request(mcp, token, first, accept(approve=True))
    assert (refused["reason"], refused["field"]) == ("invalid_confirmation", "confirmation_token")
    for refusal in (refused, failure(late)):
        assert "Prepare the change again with prepare_api_write." in refusal["message"]
    assert not TimeOff.objects.exists()


def test_a_token_is_of_one_key_and_cannot_be_changed(
    office: Office, other_office: Office, mcp: McpClient
) -> None:
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    others = (
        (client(Program(office.organization), MODERN), token),
        (client(Program(other_office.organization), MODERN), token),
        (client(Program(office.organization, kind=KeyKind.TEST), MODERN), token),
        (mcp, token[:-1] + ("A" if token[-1] != "A" else "B")),
        (mcp, token + "A"),
        (mcp, "no token"),
        (mcp, "A" * 8_192),
    )
    for one, text in others:
        reply = ask(one, "commit_api_write", {"confirmation_token": text})
        assert failure(reply)["field"] == "confirmation_token"
    assert not TimeOff.objects.exists()


def test_a_server_that_stops_after_the_change_does_not_make_it_twice(
    office: Office, mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is committed, and its answer is lost with the process."""
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    first = ask_for_approval(mcp, token)
    finish = record.finish

    def fail(*_given: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(record, "finish", fail)
    assert answer_request(mcp, token, first, accept(approve=True)).status == 500
    monkeypatch.setattr(record, "finish", finish)
    again = ask(mcp, "commit_api_write", {"confirmation_token": token}).facts
    assert again["is_repeated"] is True
    assert TimeOff.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_commits_at_once_make_one_change() -> None:
    office = create_office()
    mcp = client(Program(office.organization), MODERN)
    token = token_of(prepare(mcp, "createTimeOff", booking(office, office.person())))
    rounds = [ask_for_approval(mcp, token) for _number in range(6)]

    def approve(first: Reply) -> Reply:
        try:
            return answer_request(mcp, token, first, accept(approve=True))
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(approve, rounds))
    assert TimeOff.objects.count() == 1
    done = [reply.facts for reply in replies if not reply.result["isError"]]
    assert [one["is_repeated"] for one in done].count(False) == 1
    assert {one["answer"]["data"]["id"] for one in done} == {TimeOff.objects.get().pk}
