"""Who decides about time off, in how many steps, who cancels what is approved, and what is kept."""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.test import Client
from django.utils import timezone

from foundation.admin_urls import page_url
from oauth.models import KeyKind, ServerKey
from people import employment
from people.models import (
    LeavePolicy,
    Person,
    PersonRelationship,
    RelationshipType,
    TimeOff,
    TimeOffDecision,
)
from tests.people.api.program import ApiReply, Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client
from workspace import outbox
from workspace.models import Membership, OutgoingMail, Role, User

TODAY = date(2026, 5, 4)
# A week from Monday to Friday, four weeks ahead.
MONDAY, FRIDAY = date(2026, 6, 1), date(2026, 6, 5)


@pytest.fixture(autouse=True)
def clock() -> Any:
    with time_machine.travel("2026-05-04T12:00:00Z", tick=False) as traveller:
        yield traveller


@pytest.fixture
def chief(office: Office) -> Person:
    return office.person(first_name="Chief")


@pytest.fixture
def boss(office: Office, chief: Person) -> Person:
    return office.person(
        first_name="Boss", manager=chief, work_email="boss@office.example", job_title="Head"
    )


@pytest.fixture
def person(office: Office, boss: Person) -> Person:
    return office.person(first_name="Ada", manager=boss)


@pytest.fixture
def row(office: Office, person: Person) -> TimeOff:
    return office.leave_of(person, MONDAY, FRIDAY)


def add_policy(office: Office, **values: Any) -> LeavePolicy:
    own = {"organization": office.organization, "category": office.leave, "name": "Policy"}
    given = {"allowance_days": Decimal(28), "valid_from": date(2026, 1, 1)} | values
    return LeavePolicy.objects.create(**own, **given)


def relate(
    office: Office, person: Person, other: Person, kind: RelationshipType, **dates: Any
) -> PersonRelationship:
    return PersonRelationship.objects.create(
        organization=office.organization,
        person=person,
        related_person=other,
        type=kind,
        **{"effective_from": TODAY - timedelta(days=1)} | dates,
    )


def approval(program: Program, row: TimeOff) -> Any:
    return program.get(f"time-off/{row.pk}/approval").data


def waits_for(program: Program, row: TimeOff) -> list[tuple[str, str]]:
    """The names of those who decide next, and by what."""
    return [(one["person_name"], one["role"]) for one in approval(program, row)["approvers"]]


def decide(program: Program, row: TimeOff, verb: str, **body: Any) -> ApiReply:
    etag = program.get(f"time-off/{row.pk}").etag
    return program.post(f"time-off/{row.pk}/{verb}", body, If_Match=etag)


def suspend(office: Office, email: str) -> Membership:
    user = User.objects.create_user(email.upper(), name="Account")
    return Membership.objects.create(
        user=user, organization=office.organization, suspended_at=timezone.now()
    )


def test_the_manager_decides_and_with_the_manager_gone_the_next_one_above(
    boss: Person, row: TimeOff, program: Program
) -> None:
    assert waits_for(program, row) == [("Boss", "manager")]
    employment.change(boss, TODAY, end_date=TODAY - timedelta(days=1))
    assert waits_for(program, row) == [("Chief", "manager")]
    refused = decide(program, row, "approve", decided_by_id=boss.pk)
    assert (refused.code, refused.fields) == ("400 invalid_request", ["decided_by_id"])
    assert refused.error["message"] == "Boss may not decide about this request now."
    # On the last day itself the manager still decides.
    employment.change(boss, TODAY, end_date=TODAY)
    assert waits_for(program, row) == [("Boss", "manager")]


def test_a_manager_whose_membership_is_suspended_does_not_decide(
    office: Office, row: TimeOff, program: Program
) -> None:
    membership = suspend(office, "boss@office.example")
    assert waits_for(program, row) == [("Chief", "manager")]
    membership.suspended_at = None
    membership.save()
    assert waits_for(program, row) == [("Boss", "manager")]


def test_a_suspension_in_another_organization_changes_nothing(
    other_office: Office, row: TimeOff, program: Program
) -> None:
    suspend(other_office, "boss@office.example")
    assert waits_for(program, row) == [("Boss", "manager")]


def test_where_nobody_above_is_left_admins_and_programs_decide(
    boss: Person, chief: Person, row: TimeOff, program: Program
) -> None:
    for one in (boss, chief):
        employment.change(one, TODAY, end_date=TODAY - timedelta(days=1))
    assert waits_for(program, row) == []
    assert decide(program, row, "approve").data["status_code"] == "approved"


def test_approvers_decide_in_place_of_the_manager_while_the_relationship_holds(
    office: Office, person: Person, row: TimeOff, program: Program, clock: Any
) -> None:
    other = office.person(first_name="Otto")
    relate(office, person, other, RelationshipType.APPROVER, effective_to=TODAY + timedelta(days=1))
    relate(office, person, office.person(), RelationshipType.DOTTED_LINE_MANAGER)
    assert waits_for(program, row) == [("Otto", "approver")]
    # The end is exclusive.
    clock.shift(timedelta(days=1))
    assert waits_for(Program(office.organization), row) == [("Boss", "manager")]


def test_somebody_without_a_manager_waits_for_their_approver(
    office: Office, program: Program
) -> None:
    alone = office.person(first_name="Ida")
    relate(office, alone, office.person(first_name="Otto"), RelationshipType.APPROVER)
    row = office.leave_of(alone, MONDAY, FRIDAY)
    assert row.status == "pending"
    assert waits_for(program, row) == [("Otto", "approver")]


def test_a_deputy_decides_as_the_manager_does_but_not_about_their_own_days(
    office: Office, boss: Person, row: TimeOff, program: Program
) -> None:
    deputy = office.person(first_name="Dora", manager=boss)
    own = office.leave_of(deputy, MONDAY, FRIDAY)
    relate(office, boss, deputy, RelationshipType.DEPUTY)
    assert waits_for(program, row) == [("Boss", "manager"), ("Dora", "deputy")]
    assert approval(program, row)["approvers"][1]["deputy_of_id"] == boss.pk
    assert waits_for(program, own) == [("Boss", "manager")]
    assert decide(program, own, "approve", decided_by_id=deputy.pk).code == "400 invalid_request"
    done = decide(program, row, "approve", decided_by_id=deputy.pk)
    assert done.data["status_code"] == "approved"
    (decision,) = approval(program, row)["decisions"]
    assert (decision["person_name"], decision["role"]) == ("Dora", "deputy")


def test_who_decided_when_and_with_which_comment_is_answered_and_kept(
    office: Office, boss: Person, row: TimeOff, program: Program
) -> None:
    body = {"decided_by_id": boss.pk, "comment": "Enjoy it"}
    assert decide(program, row, "approve", **body).status == 200
    assert approval(program, row)["decisions"] == [
        {
            "decision": "approved",
            "step": 1,
            "decided_at": "2026-05-04T12:00:00Z",
            "role": "manager",
            "person_id": boss.pk,
            "person_name": "Boss",
            "account": None,
            "program": "Program",
            "comment": "Enjoy it",
        }
    ]
    # A key that may not read people is answered no names.
    nameless = Program(office.organization, "time_off:read")
    assert approval(nameless, row)["decisions"][0]["person_name"] is None


def test_a_rejection_keeps_its_comment_and_the_private_note_stays_private(
    row: TimeOff, program: Program
) -> None:
    body = {"response_note": "CANARY", "comment": "Too many are away"}
    assert decide(program, row, "decline", **body).data["status_code"] == "rejected"
    reply = program.get(f"time-off/{row.pk}/approval")
    (decision,) = reply.data["decisions"]
    assert (decision["decision"], decision["role"]) == ("rejected", "program")
    assert decision["comment"] == "Too many are away"
    assert "CANARY" not in reply.response.content.decode()


def test_ai_clients_read_who_decides_and_decided_but_no_comment(
    office: Office, boss: Person, row: TimeOff, program: Program
) -> None:
    mcp = client(program)
    call = {"operation_id": "getTimeOffApproval", "args": {"pathParams": {"time_off_id": row.pk}}}
    found = mcp.call("call_api_operation", call).facts["answer"]["data"]
    assert found["approvers"] == [
        {
            "person_id": boss.pk,
            "person_name": "Boss",
            "role": "manager",
            "deputy_of_id": None,
        }
    ]
    decide(program, row, "approve", decided_by_id=boss.pk, comment="CANARY")
    reply = mcp.call("call_api_operation", call)
    (decision,) = reply.facts["answer"]["data"]["decisions"]
    assert (decision["decision"], decision["person_name"]) == ("approved", "Boss")
    assert decision["decided_at"] == "2026-05-04T12:00:00Z"
    assert b"CANARY" not in reply.body
    sickness = office.category("Sickness", is_sickness=True)
    ill = office.leave_of(office.person(manager=boss), MONDAY, FRIDAY, category=sickness)
    call["args"] = {"pathParams": {"time_off_id": ill.pk}}
    assert mcp.call("call_api_operation", call).result["isError"] is True


def test_a_decider_of_another_organization_does_not_exist(
    other_office: Office, row: TimeOff, program: Program
) -> None:
    theirs = other_office.person()
    for verb in ("approve", "decline", "cancel"):
        refused = decide(program, row, verb, decided_by_id=theirs.pk)
        assert (refused.code, refused.fields) == ("400 invalid_request", ["decided_by_id"])
    assert Program(other_office.organization).get(f"time-off/{row.pk}/approval").status == 404
    assert not TimeOffDecision.objects.exists()


def test_two_steps_are_two_people_the_manager_and_the_one_above(
    office: Office, boss: Person, chief: Person, row: TimeOff, program: Program
) -> None:
    add_policy(office, approval_steps=2)
    first = decide(program, row, "approve", decided_by_id=boss.pk)
    assert (first.data["status_code"], first.body["decision"]) == ("pending", "approved")
    found = approval(program, row)
    assert (found["steps"], found["approved_steps"]) == (2, 1)
    assert waits_for(program, row) == [("Chief", "manager")]
    assert decide(program, row, "approve", decided_by_id=boss.pk).code == "400 invalid_request"
    second = decide(program, row, "approve", decided_by_id=chief.pk, comment="Yes")
    assert second.data["status_code"] == "approved"
    steps = [(one["step"], one["person_name"]) for one in approval(program, row)["decisions"]]
    assert steps == [(1, "Boss"), (2, "Chief")]


def test_one_key_or_one_deputy_does_not_approve_both_steps(
    office: Office, boss: Person, chief: Person, row: TimeOff, program: Program
) -> None:
    add_policy(office, approval_steps=2)
    assert decide(program, row, "approve").data["status_code"] == "pending"
    refused = decide(program, row, "approve")
    assert refused.error["message"] == (
        "Somebody else has to approve this request in the second step."
    )
    other = office.leave_of(office.person(manager=boss), MONDAY, FRIDAY)
    deputy = office.person(first_name="Dora")
    for manager in (boss, chief):
        relate(office, manager, deputy, RelationshipType.DEPUTY)
    assert decide(program, other, "approve", decided_by_id=deputy.pk).status == 200
    # It does not wait for the deputy of both, whose second approval is refused.
    assert waits_for(program, other) == [("Chief", "manager")]
    assert decide(program, other, "approve", decided_by_id=deputy.pk).code == "400 invalid_request"
    # The key has decided for itself: it does not decide for the one above too.
    assert decide(program, row, "approve", decided_by_id=chief.pk).code == "400 invalid_request"
    third = office.leave_of(office.person(manager=boss), MONDAY, FRIDAY)
    assert decide(program, third, "approve", decided_by_id=boss.pk).status == 200
    assert decide(program, third, "approve").code == "400 invalid_request"
    assert decide(program, third, "approve", decided_by_id=chief.pk).status == 200


def test_two_keys_of_one_account_or_that_account_do_not_approve_both_steps(
    office: Office, boss: Person, row: TimeOff, browser: Client, program: Program
) -> None:
    """Keys have the same name: by it alone nobody is known."""
    add_policy(office, approval_steps=2)
    second = Program(office.organization)
    admin = User.objects.get(email="admin@office.example")
    keys = ServerKey.objects.filter(pk__in=[program.row.pk, second.row.pk])
    keys.update(created_by=admin)
    other = office.leave_of(office.person(manager=boss), MONDAY, FRIDAY)
    assert decide(program, other, "approve", decided_by_id=boss.pk).status == 200
    assert decide(second, other, "approve").code == "400 invalid_request"
    assert decide(program, row, "approve").status == 200
    assert decide(second, row, "approve").code == "400 invalid_request"
    act(browser, "approve", row)
    row.refresh_from_db()
    assert (row.status, row.approved_steps) == ("pending", 1)
    # Keys that nobody, or somebody else, created are others.
    keys.filter(pk=second.row.pk).update(created_by=None)
    assert decide(second, row, "approve").data["status_code"] == "approved"


def test_a_changed_request_needs_its_first_approval_again(
    office: Office, boss: Person, chief: Person, row: TimeOff, program: Program
) -> None:
    add_policy(office, approval_steps=2)
    decide(program, row, "approve", decided_by_id=boss.pk)
    etag = program.get(f"time-off/{row.pk}").etag
    program.patch(f"time-off/{row.pk}", {"end_date": "2026-06-04"}, If_Match=etag)
    assert approval(program, row)["approved_steps"] == 0
    assert decide(program, row, "approve", decided_by_id=chief.pk).code == "400 invalid_request"
    assert decide(program, row, "approve", decided_by_id=boss.pk).status == 200
    assert decide(program, row, "approve", decided_by_id=chief.pk).data["status_code"] == "approved"


def approve_now(program: Program, row: TimeOff) -> None:
    assert decide(program, row, "approve").data["status_code"] == "approved"


def test_without_a_policy_only_an_admin_cancels_what_is_approved(
    row: TimeOff, program: Program
) -> None:
    approve_now(program, row)
    assert approval(program, row)["cancellable_until"] is None
    refused = decide(program, row, "cancel")
    assert refused.error["message"] == (
        "Only a pending request can be changed. This one is approved."
    )


def test_a_policy_lets_an_approved_request_be_cancelled_until_a_day(
    office: Office, person: Person, boss: Person, program: Program, clock: Any
) -> None:
    """Monday 1 June less seven days is Monday 25 May, the last day; on 26 May it is too late."""
    add_policy(office, cancellation="everybody", cancellation_days=7)
    rows = [office.leave_of(person, MONDAY, MONDAY)]
    rows += [office.leave_of(one, MONDAY, MONDAY) for one in (office.person(manager=boss), boss)]
    for row in rows:
        approve_now(program, row)
        assert approval(program, row)["cancellable_until"] == "2026-05-25"
    clock.move_to("2026-05-25T12:00:00Z")
    program = Program(office.organization)
    done = decide(program, rows[0], "cancel", decided_by_id=person.pk, comment="I am ill")
    assert (done.data["status_code"], done.body["cancelled"]) == ("cancelled", True)
    last = approval(program, rows[0])["decisions"][-1]
    assert (last["decision"], last["role"], last["step"]) == ("cancelled", "person", None)
    # Programs that read changes hear of it.
    changed = program.get("time-off", updated_since="2026-05-25T00:00:00Z").data
    assert [one["status_code"] for one in changed] == ["cancelled"]
    # The day is free again.
    office.leave_of(person, MONDAY, MONDAY)
    assert decide(program, rows[1], "cancel", decided_by_id=boss.pk).status == 200
    clock.move_to("2026-05-26T12:00:00Z")
    program = Program(office.organization)
    late = decide(program, rows[2], "cancel")
    assert late.code == "409 conflict"
    assert late.error["message"] == (
        "This request could be cancelled until 2026-05-25. An admin can still cancel it."
    )


def test_a_policy_can_leave_cancellation_to_approvers(
    office: Office, person: Person, boss: Person, row: TimeOff, program: Program
) -> None:
    add_policy(office, cancellation="approvers")
    approve_now(program, row)
    refused = decide(program, row, "cancel", decided_by_id=person.pk)
    assert (refused.code, refused.fields) == ("400 invalid_request", ["decided_by_id"])
    assert decide(program, row, "cancel", decided_by_id=boss.pk).status == 200


def test_the_person_withdraws_a_pending_request_and_a_colleague_does_not(
    office: Office, person: Person, row: TimeOff, program: Program
) -> None:
    refused = decide(program, row, "cancel", decided_by_id=office.person().pk)
    assert refused.code == "400 invalid_request"
    done = decide(program, row, "cancel", decided_by_id=person.pk)
    assert done.data["status_code"] == "cancelled"
    assert decide(program, row, "cancel").code == "409 conflict"


@pytest.fixture
def browser(office: Office) -> Client:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    return browser


def act(browser: Client, verb: str, row: TimeOff, comment: str = "") -> str:
    form = {"action": verb, "_selected_action": [row.pk], "comment": comment}
    answer = browser.post(page_url("people_timeoff_changelist"), form, follow=True)
    return str(answer.content.decode())


def test_an_admin_decides_with_a_comment_and_cancels_what_is_approved_at_any_time(
    office: Office, row: TimeOff, browser: Client, clock: Any
) -> None:
    act(browser, "approve", row, "Enjoy <b>it</b>")
    clock.move_to("2026-07-01T12:00:00Z")
    browser.force_login(User.objects.get(email="admin@office.example"))
    assert "1 request was changed." in act(browser, "cancel", row, "Never taken")
    row.refresh_from_db()
    assert row.status == "cancelled"
    shown = browser.get(page_url("people_timeoff_change", row.pk)).content.decode()
    for text in ("Enjoy &lt;b&gt;it&lt;/b&gt;", "Never taken", "Approved (Admin)", "Cancelled"):
        assert text in shown
    found = approval(Program(office.organization), row)["decisions"]
    assert [one["account"] for one in found] == ["admin@office.example"] * 2


def test_the_page_of_a_request_says_who_decides(
    boss: Person, row: TimeOff, browser: Client
) -> None:
    shown = browser.get(page_url("people_timeoff_change", row.pk)).content.decode()
    assert "Boss (Manager)" in shown
    employment.change(boss, TODAY, end_date=TODAY - timedelta(days=1))
    shown = browser.get(page_url("people_timeoff_change", row.pk)).content.decode()
    assert "Chief (Manager)" in shown


def test_one_person_does_not_approve_both_steps_once_by_key_and_once_on_the_page(
    office: Office, boss: Person, row: TimeOff, browser: Client, program: Program
) -> None:
    """An admin who is the manager too: the account has the work email, in other letters."""
    add_policy(office, approval_steps=2)
    User.objects.filter(email="admin@office.example").update(email="Boss@Office.example")
    assert decide(program, row, "approve", decided_by_id=boss.pk).status == 200
    act(browser, "approve", row)
    row.refresh_from_db()
    assert (row.status, row.approved_steps) == ("pending", 1)
    User.objects.filter(email="Boss@Office.example").update(email="admin@office.example")
    act(browser, "approve", row)
    row.refresh_from_db()
    assert (row.status, row.approved_steps) == ("approved", 2)


def list_waiting(program: Program, decider: Person) -> list[str]:
    """The first names of those whose requests wait for somebody, over REST; the same over MCP."""
    found = program.get("time-off", waits_for_id=decider.pk).data
    reply = client(program).call("list_time_off", {"waits_for_id": decider.pk})
    assert [one["id"] for one in reply.facts["data"]] == [one["id"] for one in found]
    return sorted(one["person_name"] for one in found)


def test_requests_are_listed_by_whom_they_wait_for(
    office: Office, boss: Person, chief: Person, row: TimeOff, program: Program
) -> None:
    """Of the manager, of a deputy, of an approver, and of the one above in the second step."""
    add_policy(office, approval_steps=2)
    deputy, otto = office.person(first_name="Dora", manager=boss), office.person(first_name="Otto")
    relate(office, boss, deputy, RelationshipType.DEPUTY)
    office.leave_of(deputy, MONDAY, FRIDAY)
    ida = office.person(first_name="Ida", manager=boss)
    relate(office, ida, otto, RelationshipType.APPROVER)
    office.leave_of(ida, MONDAY, FRIDAY)
    assert list_waiting(program, boss) == ["Ada", "Dora"]
    assert list_waiting(program, deputy) == ["Ada"]
    assert list_waiting(program, otto) == ["Ida"]
    assert list_waiting(program, chief) == []
    decide(program, row, "approve", decided_by_id=boss.pk)
    assert (list_waiting(program, boss), list_waiting(program, chief)) == (["Dora"], ["Ada"])
    decide(program, row, "approve", decided_by_id=chief.pk)
    assert list_waiting(program, chief) == []


def test_nothing_is_listed_as_waiting_for_somebody_of_another_organization(
    other_office: Office, row: TimeOff, program: Program
) -> None:
    refused = program.get("time-off", waits_for_id=other_office.person().pk)
    assert (refused.code, refused.fields) == ("400 invalid_request", ["waits_for_id"])
    assert program.get("time-off", waits_for_id=row.person.manager_id).data != []


def test_the_page_lists_what_waits_for_the_visitor_and_for_a_person(
    boss: Person, chief: Person, row: TimeOff, browser: Client
) -> None:
    page = page_url("people_timeoff_changelist")
    link = f"{page}?waits_for={boss.pk}"
    assert link in browser.get(page_url("people_person_change", boss.pk)).content.decode()
    assert str(row.pk) in browser.get(link).content.decode()
    assert str(row.pk) not in browser.get(f"{page}?waits_for={chief.pk}").content.decode()
    assert str(row.pk) not in browser.get(f"{page}?waits_for=me").content.decode()
    User.objects.filter(email="admin@office.example").update(email="Boss@Office.example")
    assert str(row.pk) in browser.get(f"{page}?waits_for=me").content.decode()


@pytest.fixture
def mails(office: Office, chief: Person) -> Callable[[], list[str]]:
    """Sends what is due, and returns the subjects of the mails to the chief since the last time."""
    add_policy(office, approval_steps=2)
    Person.objects.filter(pk=chief.pk).update(work_email="chief@office.example")

    def send() -> list[str]:
        mail.outbox.clear()
        outbox.send_due()
        assert {address for one in mail.outbox for address in one.to} <= {"chief@office.example"}
        return [f"{one.subject}\n{one.body}" for one in mail.outbox]

    return send


def test_the_next_one_is_sent_a_mail_when_the_first_approval_is_given(
    boss: Person, row: TimeOff, program: Program, mails: Callable[[], list[str]]
) -> None:
    assert mails() == []
    decide(program, row, "approve", decided_by_id=boss.pk)
    (mail_text,) = mails()
    assert mail_text.startswith("Ada requests time off: your approval is needed")
    assert "- Ada: 2026-06-01 to 2026-06-05" in mail_text
    # Why somebody is absent is in no mail.
    assert "Leave" not in mail_text


def test_one_mail_a_minute_has_all_requests_that_wait(
    office: Office, boss: Person, program: Program, mails: Callable[[], list[str]], clock: Any
) -> None:
    rows = [
        office.leave_of(office.person(first_name=name, manager=boss), MONDAY, FRIDAY)
        for name in ("Ada", "Ida", "Udo", "Eva")
    ]
    for one in rows[:2]:
        decide(program, one, "approve", decided_by_id=boss.pk)
    (first,) = mails()
    assert first.startswith("2 requests for time off wait for your approval")
    for one in rows[2:]:
        decide(program, one, "approve", decided_by_id=boss.pk)
        assert mails() == []
    clock.shift(timedelta(seconds=61))
    (second,) = mails()
    assert all(f"- {name}: " in second for name in ("Ada", "Ida", "Udo", "Eva"))


def test_made_up_people_of_a_sandbox_are_sent_no_mail(
    office: Office, mails: Callable[[], list[str]]
) -> None:
    program = Program(office.organization, kind=KeyKind.TEST)
    waiting = program.get("time-off", status="pending", limit="1").data[0]
    found = TimeOff.objects.get(pk=waiting["id"])
    own = {"organization": found.organization, "category": found.category, "name": "Policy"}
    values = {"allowance_days": 28, "valid_from": date(2026, 1, 1), "approval_steps": 2}
    LeavePolicy.objects.create(**own, **values)
    assert decide(program, found, "approve").data["status_code"] == "pending"
    assert not OutgoingMail.objects.exists()
    assert mails() == []
