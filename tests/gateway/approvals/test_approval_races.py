"""Requests for approval and decisions at the same moment, each on a connection of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.tasks import settle
from gateway.models import Project
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import WRITE, ReviewedProject
from tests.drivers.shared_connection import wait_for_jobs

ROUNDS = 4
pytestmark = pytest.mark.django_db(transaction=True)


def run_at_once(*actions: Callable[[], Any]) -> list[Any]:
    start = Barrier(len(actions))

    def act(action: Callable[[], Any]) -> Any:
        start.wait(60)
        try:
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        done = [*pool.map(act, actions)]
    wait_for_jobs()
    return done


def approving(desk: Client, row: ApprovalRequest) -> Callable[[], int]:
    return lambda: desk.post(f"/requests/{row.pk}/approve").status_code


def approvers(project: ReviewedProject) -> Sequence[Client]:
    people = [project.member("first"), project.member("second")]
    project.rule("*", "require_approval").approvers.set(people)
    return [browser_of(person) for person in people]


@pytest.mark.slow
@pytest.mark.sqlite
def test_n02_the_same_call_24_times_at_once_is_one_request_and_one_execution(
    project: ReviewedProject,
) -> None:
    first, second = approvers(project)
    replies = run_at_once(*[project.call] * 24)
    row = ApprovalRequest.objects.get()
    assert {reply.facts["requestId"] for reply in replies} == {str(row.pk)}
    decided = [approving(first, row), approving(second, row)]
    *pages, last = run_at_once(*decided, *[project.call] * 4, project.call)
    assert pages[:2] == [302, 302]
    assert last.status == 200
    row.refresh_from_db()
    assert (row.status, ApprovalRequest.objects.count()) == ("done", 1)
    assert project.executed == [{"name": "Ada"}]


def test_calls_at_once_file_no_more_requests_than_may_be_open(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.requests.MAX_OPEN_REQUESTS", 3)
    project.rule("*", "require_approval")
    run_at_once(*[partial(project.call, WRITE, name=f"Ada {number}") for number in range(12)])
    assert ApprovalRequest.objects.count() == 3


def test_two_approvers_at_once_are_one_execution(project: ReviewedProject) -> None:
    desks = approvers(project)
    row = project.request()
    assert run_at_once(*(approving(desk, row) for desk in desks)) == [302, 302]
    row.refresh_from_db()
    assert (row.status, project.executed) == ("done", [{"name": "Ada"}])


def expire() -> None:
    ApprovalRequest.objects.filter(status="pending").update(expires_at=timezone.now())
    settle()


@pytest.mark.parametrize("change", ["expire", "reject", "revoke", "policy", "version"])
def test_an_approval_and_a_change_at_once_end_in_one_state(
    project: ReviewedProject, change: str
) -> None:
    desk, other = approvers(project)
    rows = [project.request(WRITE, name=f"person {number}") for number in range(ROUNDS)]
    for number, row in enumerate(rows):
        changes: dict[str, Callable[[], Any]] = {
            "expire": expire,
            "reject": lambda row=row: other.post(f"/requests/{row.pk}/reject").status_code,
            "revoke": project.grant.revoke,
            "policy": lambda: Project.objects.get().rules.update(effect="deny"),
            "version": lambda number=number: Project.objects.update(version=2 + number),
        }
        run_at_once(approving(desk, row), changes[change])
    made = [each["name"] for each in project.executed]
    assert len(set(made)) == len(made)
    for row in rows:
        row.refresh_from_db()
        assert (row.status == "done") == (row_name(row) in made), row.problem
        assert row.status != "running"


def row_name(row: ApprovalRequest) -> str:
    name: str = row.arguments["name"]
    return name
