"""The mail to approvers: one that is refused, unreadable requests, and workers that are killed."""

from collections.abc import Callable
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
from gateway.models import ApproverGroup
from gateway.requests import details
from tests.drivers.reviewed_project import REMOVE, WRITE, ReviewedProject
from workspace.models import Role

SEND = "django.core.mail.backends.locmem.EmailBackend.send_messages"
OPEN = "django.core.mail.backends.locmem.EmailBackend.open"


@pytest.fixture
def run_after_a_minute(settings: Any) -> Callable[[], int]:
    settings.HALO_LIMIT_STORE = "memory"  # counters that this test can reset

    def run() -> int:
        limits.reset_store()
        return tasks.mail_waiting()

    return run


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> set[str]:
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


def addresses() -> list[str]:
    return [message.to[0] for message in mail.outbox]


def test_a_refused_address_keeps_no_mail_from_the_others_and_repeats_none(
    project: ReviewedProject, run_after_a_minute: Callable[[], int], refused: set[str]
) -> None:
    people = [project.member(name) for name in ("abe", "bo", "cy", "dee")]
    project.rule(WRITE, "require_approval").approvers.add(*people)
    project.request(WRITE, name="Grace")
    refused |= {"bo@example.com", "cy@example.com"}
    assert [run_after_a_minute() for _ in range(4)] == [2, 0, 0, 0]
    assert addresses() == ["abe@example.com", "dee@example.com"]


def test_a_request_that_nobody_was_mailed_about_is_announced_later(
    project: ReviewedProject, run_after_a_minute: Callable[[], int], refused: set[str]
) -> None:
    only, other = project.member("only"), project.member("other")
    project.rule(WRITE, "require_approval").approvers.add(only)
    project.rule(REMOVE, "require_approval").approvers.add(other)
    project.request(WRITE, name="Grace")
    project.request(REMOVE, name="Grace")
    refused.add(only.email)
    assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    refused.clear()
    assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    assert addresses() == [other.email, only.email]


@pytest.mark.parametrize(
    ("age", "mailed"),
    [
        (timedelta(), ["abe@example.com", "abe@example.com", "bo@example.com"]),
        # One of them knows, and is not mailed without end.
        (timedelta(minutes=16), ["abe@example.com"]),
    ],
)
def test_approvers_who_were_not_reached_when_the_server_went_down_are_mailed_later(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
    age: timedelta,
    mailed: list[str],
) -> None:
    people = [project.member(name) for name in ("abe", "bo")]
    project.rule(WRITE, "require_approval").approvers.add(*people)
    row = project.request(WRITE, name="Grace")
    rows = ApprovalRequest.objects.filter(pk=row.pk)
    rows.update(created_at=timezone.now() - age)
    with monkeypatch.context() as patched:

        def open_once(*_given: Any) -> None:
            if mail.outbox:
                raise ConnectionRefusedError

        patched.setattr(OPEN, open_once)
        assert run_after_a_minute() == 1
    assert run_after_a_minute() == 0
    rows.filter(announced_at=None).update(announcing_until=timezone.now())  # 5 minutes later
    assert [run_after_a_minute() for _ in range(2)] == [len(mailed) - 1, 0]
    assert addresses() == mailed


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


def test_a_request_that_cannot_be_described_is_announced_by_its_link(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.rule(WRITE, "require_approval").approvers.add(project.member("first"))
    broken, whole = (project.request(WRITE, name=name) for name in ("Grace", "Hopper"))
    describe = "gateway.requests.approver_mail.request_details.of"
    original = details.of

    def fail(row: ApprovalRequest) -> Any:
        if row.pk == broken.pk:
            raise KeyError("a document that is gone")
        return original(row)

    monkeypatch.setattr(describe, fail)
    assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    body = mail.outbox[0].body
    assert f"/requests/{broken.pk}" in body
    assert f"/requests/{whole.pk}" in body


def test_mails_of_a_worker_that_was_killed_are_sent_once_more_after_five_minutes(
    project: ReviewedProject,
    run_after_a_minute: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project.rule(WRITE, "require_approval").approvers.add(project.member("first"))
    project.request(WRITE, name="Grace")
    start = timezone.now()

    def end_process(*_given: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, time_machine.travel(start, tick=False):
        patched.setattr(SEND, end_process)
        limits.reset_store()
        with pytest.raises(SystemExit):
            tasks.mail_waiting()
    with time_machine.travel(start + timedelta(minutes=4), tick=False):
        assert run_after_a_minute() == 0
    with time_machine.travel(start + timedelta(minutes=6), tick=False):
        assert [run_after_a_minute() for _ in range(2)] == [1, 0]
    assert len(mail.outbox) == 1


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
    assert len(of_nine) < 60
