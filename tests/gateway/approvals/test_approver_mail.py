"""The mail to approvers: one that is refused, unreadable requests, and servers that are down."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import ApprovalRequest
from foundation import limits
from gateway import tasks
from gateway.models import ApproverGroup, Authentication, Project, ProjectTool
from gateway.openapi.shapes import Scheme
from gateway.requests import details
from tests.drivers import grants
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import REMOVE, WRITE, ReviewedProject
from workspace.models import Membership, OutgoingMail, Role
from workspace.tasks import send_mails

SEND = "django.core.mail.backends.locmem.EmailBackend.send_messages"
OPEN = "django.core.mail.backends.locmem.EmailBackend.open"
BEING_NOTIFIED = "This operation requires approval. An approver is being notified."
NOTIFIED = "This operation requires approval. An approver has been notified."


@pytest.fixture
def run_after_a_minute(settings: Any) -> Callable[[], int]:
    settings.HALO_LIMIT_STORE = "memory"  # counters that this test can reset

    def run() -> int:
        limits.reset_store()
        OutgoingMail.objects.filter(claim=None).update(next_attempt_at=timezone.now())
        tasks.mail_waiting()
        return send_mails()

    return run


@pytest.fixture
def refused_addresses(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Addresses that the mail server refuses."""
    addresses: set[str] = set()
    send = EmailBackend.send_messages

    def refuse(backend: Any, messages: Any) -> Any:
        for message in messages:
            if addresses.intersection(message.to):
                raise SMTPRecipientsRefused({message.to[0]: (550, b"No such user")})
        return send(backend, messages)

    monkeypatch.setattr(SEND, refuse)
    return addresses


def refuse_connection(*_given: Any) -> None:
    raise ConnectionRefusedError


def addresses() -> list[str]:
    return [message.to[0] for message in mail.outbox]


def test_a_refused_address_keeps_no_mail_from_the_others_and_repeats_none(
    project: ReviewedProject, run_after_a_minute: Callable[[], int], refused_addresses: set[str]
) -> None:
    people = [project.member(name) for name in ("abe", "bo", "cy", "dee")]
    project.rule(WRITE, "require_approval").approvers.add(*people)
    project.request(WRITE, name="Grace")
    refused_addresses |= {"bo@example.com", "cy@example.com"}
    assert [run_after_a_minute() for _ in range(4)] == [2, 0, 0, 0]
    assert sorted(addresses()) == ["abe@example.com", "dee@example.com"]
    failed = OutgoingMail.objects.filter(state="failed")
    assert {(row.recipient, row.error) for row in failed} == {
        ("bo@example.com", "550 No such user"),
        ("cy@example.com", "550 No such user"),
    }


def test_nothing_says_that_an_approver_has_been_notified_before_a_mail_was_sent(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.rule(WRITE, "require_approval").approvers.add(project.member("first"))
    said = [project.call(WRITE, name="Grace").facts["message"]]
    with monkeypatch.context() as patched:
        patched.setattr(OPEN, refuse_connection)
        assert run_after_a_minute() == 0
    said.append(project.call(WRITE, name="Grace").facts["message"])
    assert run_after_a_minute() == 1
    said.append(project.call(WRITE, name="Grace").facts["message"])
    expected = (BEING_NOTIFIED, BEING_NOTIFIED, NOTIFIED)
    assert all(map(str.startswith, said, expected))


def test_a_mail_that_waits_is_replaced_by_one_that_names_its_requests_too(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = project.member("first"), project.member("second")
    project.rule(WRITE, "require_approval").approvers.add(first)
    project.rule(REMOVE, "require_approval").approvers.add(first, second)
    ended = project.request(WRITE, name="Alan")
    early = project.request(WRITE, name="Ada")
    with monkeypatch.context() as patched:
        patched.setattr(OPEN, refuse_connection)
        assert run_after_a_minute() == 0
        ApprovalRequest.objects.filter(pk=ended.pk).update(status="declined")
        late = project.request(REMOVE, name="Grace")
        assert run_after_a_minute() == 0
    assert [run_after_a_minute() for _ in range(2)] == [2, 0]
    bodies = {message.to[0]: message.body for message in mail.outbox}
    named = {to: {row.pk for row in (ended, early, late) if str(row.pk) in body}
             for to, body in bodies.items()}  # fmt: skip
    assert named == {first.email: {early.pk, late.pk}, second.email: {late.pk}}


def test_approvers_who_were_not_reached_when_the_server_went_down_are_mailed_later(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = [project.member(name) for name in ("abe", "bo")]
    project.rule(WRITE, "require_approval").approvers.add(*people)
    project.request(WRITE, name="Grace")
    with monkeypatch.context() as patched:

        def open_once(*_given: Any) -> None:
            if mail.outbox:
                raise ConnectionRefusedError

        patched.setattr(OPEN, open_once)
        assert run_after_a_minute() == 1
    assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    assert sorted(addresses()) == ["abe@example.com", "bo@example.com"]


def test_no_mail_is_sent_once_its_requests_have_expired(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.rule(WRITE, "require_approval").approvers.add(project.member("first"))
    row = project.request(WRITE, name="Grace")
    with monkeypatch.context() as patched:
        patched.setattr(OPEN, refuse_connection)
        assert run_after_a_minute() == 0
    with time_machine.travel(row.expires_at + timedelta(seconds=1), tick=False):
        assert run_after_a_minute() == 0
    assert OutgoingMail.objects.get().state == "failed"


def test_who_joins_a_group_later_is_mailed_then(
    project: ReviewedProject, run_after_a_minute: Callable[[], int]
) -> None:
    group = ApproverGroup.objects.create(organization=project.grant.organization, name="Finance")
    project.rule(WRITE, "require_approval").approver_groups.add(group)
    project.request(WRITE, name="Grace")
    assert run_after_a_minute() == 0
    group.members.add(project.member("late"))
    assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    assert addresses() == ["late@example.com"]


def test_people_of_other_organizations_are_not_mailed(
    project: ReviewedProject, run_after_a_minute: Callable[[], int]
) -> None:
    stranger = grants.make_grant().user
    rule = project.rule(WRITE, "require_approval", approver_roles=[*Role])
    rule.approvers.add(stranger, project.member("own"))
    project.request(WRITE, name="Grace")
    run_after_a_minute()
    assert "own@example.com" in addresses()
    members = Membership.objects.filter(organization=project.grant.organization)
    assert {*addresses()} <= {*members.values_list("user__email", flat=True)}


def test_a_request_that_cannot_be_described_is_announced_by_its_link(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.rule(WRITE, "require_approval").approvers.add(project.member("first"))
    broken, whole = (project.request(WRITE, name=name) for name in ("Grace", "Hopper"))
    describe = "gateway.requests.approver_mail.request_details.build"
    original = details.build

    def fail(row: ApprovalRequest) -> Any:
        if row.pk == broken.pk:
            raise KeyError("a document that is gone")
        return original(row)

    monkeypatch.setattr(describe, fail)
    assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    body = mail.outbox[0].body
    assert f"/requests/{broken.pk}" in body
    assert f"/requests/{whole.pk}" in body


def test_approvers_of_many_requests_are_found_once(
    project: ReviewedProject, run_after_a_minute: Callable[[], int]
) -> None:
    for number in range(30):
        project.member(f"member{number}")
    project.member("boss", Role.ADMIN)
    project.rule(WRITE, "require_approval", approver_roles=["admin"])
    project.request(WRITE, name="Ada")
    with CaptureQueriesContext(connection) as of_one:
        run_after_a_minute()
    for number in range(9):
        project.request(WRITE, name=f"Grace {number}")
    with CaptureQueriesContext(connection) as of_nine:
        run_after_a_minute()
    assert len(mail.outbox) == 4
    of_members = [
        sum("workspace_membership" in one["sql"] for one in captured.captured_queries)
        for captured in (of_one, of_nine)
    ]
    assert of_members[0] == of_members[1] < 5
    # Each request is described once, not once for each approver.
    assert len(of_nine) < 70


def test_arguments_are_written_as_they_are_sent(
    project: ReviewedProject, run_after_a_minute: Callable[[], int]
) -> None:
    project.rule(WRITE, "require_approval").approvers.add(project.member("first"))
    request = project.request(WRITE, name="007", amount=1999, address={"zip": 10115})
    assert run_after_a_minute() == 1
    body = mail.outbox[0].body
    assert 'name: "007"' in body
    assert "amount: 1999" in body
    assert 'address: { "zip"' in body
    assert ": 10115 }" in body
    shown = {one.name: one.text for one in details.build(request).arguments}
    # A text that looks like a number does not look like one.
    assert (shown["name"], shown["amount"]) == ('"007"', "1999")


def test_a_requester_whose_credential_is_missing_gets_one_mail_until_their_requests_have_ended(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
) -> None:
    require_credential()
    Project.objects.update(authentication=Authentication.PERSON)
    requester, owner = project.grant.user, project.row.owner
    assert owner is not None
    rows = [project.request(WRITE, name=name) for name in ("Ada", "Bob")]
    assert run_after_a_minute() == 2
    own = next(message for message in mail.outbox if message.to == [requester.email])
    assert own.subject == "Your credential for Users is missing"
    assert f"/projects/{project.row.pk}/credentials" in own.body
    assert WRITE in own.body
    pending = project.call(WRITE, name="Cy").facts
    assert BEING_NOTIFIED in pending["message"]  # the approver of this one, not the requester
    assert run_after_a_minute() == 1
    assert addresses().count(requester.email) == 1
    browser = browser_of(owner)
    for row in (*rows, ApprovalRequest.objects.get(pk=pending["requestId"])):
        browser.post(f"/requests/{row.pk}/reject")
    project.request(WRITE, name="Dee")
    assert run_after_a_minute() == 2
    assert addresses().count(requester.email) == 2
    stored = OutgoingMail.objects.filter(kind="credential")
    assert {row.recipient for row in stored} == {requester.email}


@pytest.mark.parametrize("authentication", ["none", "project", "person"])
@pytest.mark.parametrize("is_there", [True, False])
def test_only_a_requester_who_can_add_the_missing_credential_gets_a_mail(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    authentication: str,
    is_there: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    require_credential()
    Project.objects.update(authentication=authentication)
    project.request(WRITE, name="Ada")
    if not is_there:
        Membership.objects.filter(user=project.grant.user).delete()
    run_after_a_minute()
    gets_mail = authentication == "person" and is_there
    assert (project.grant.user.email in addresses()) == gets_mail


def require_credential() -> None:
    """Makes the API of the project one that needs a bearer token."""
    scheme = asdict(Scheme(name="key", kind="bearer"))
    for tool in ProjectTool.objects.all():
        tool.operation["security"] = [[scheme]]
        tool.save()
