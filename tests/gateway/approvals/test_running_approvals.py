"""Approved calls that take long: the page answers at once, and who approves may leave it."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from approvals.models import ApprovalRequest
from foundation.admin_urls import page_url
from foundation.concurrency import job_threads
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import WRITE, ReviewedProject
from tests.drivers.shared_connection import wait_for_jobs
from workspace.models import Role

TIMEOUT = 20
pytestmark = pytest.mark.django_db(transaction=True)


class Held(list[dict[str, Any]]):
    """What the API was made to do; each call waits for its release."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.released = threading.Semaphore(0), threading.Event()

    def append(self, arguments: dict[str, Any]) -> None:
        super().append(arguments)
        self.begun.release()
        assert self.released.wait(TIMEOUT)


@pytest.fixture
def held(project: ReviewedProject) -> Iterator[Held]:
    calls = Held()
    project.executed = calls
    yield calls
    calls.released.set()
    wait_for_jobs()


def elsewhere(act: Callable[[], Any]) -> Any:
    """The result of an act on another thread: the test goes on while a job runs."""

    def acting() -> Any:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(acting).result(TIMEOUT)


def approve(desk: Client, row: ApprovalRequest) -> str:
    """The page behind an approval."""
    post = desk.post
    page = elsewhere(lambda: post(f"/requests/{row.pk}/approve", follow=True))
    return str(page.content.decode())


def test_u10_an_approval_answers_while_its_call_runs(project: ReviewedProject, held: Held) -> None:
    row, desk = project.request(), project.owner()
    page = approve(desk, row)
    assert "Approved. The operation is being executed." in page
    assert 'data-live="running-False"' in page
    assert held.begun.acquire(timeout=TIMEOUT)
    client = desk.get(f"/requests/{row.pk}", headers={"Accept": "application/json"})
    assert client.json()["status"] == "APPROVED"
    held.released.set()
    wait_for_jobs()
    assert 'data-live=""' in desk.get(f"/requests/{row.pk}").content.decode()
    row.refresh_from_db()
    assert (row.status, held) == ("done", [{"name": "Ada"}])


def test_u10_who_has_an_approval_running_waits_with_the_next(
    project: ReviewedProject, held: Held
) -> None:
    first, second = project.request(), project.request(WRITE, name="Bob")
    desk = project.owner()
    approve(desk, first)
    assert held.begun.acquire(timeout=TIMEOUT)
    assert "Something that you started is still running." in approve(desk, second)
    second.refresh_from_db()
    assert (second.status, second.decided_by) == ("pending", None)
    held.released.set()
    wait_for_jobs()
    approve(desk, second)
    wait_for_jobs()
    assert [each["name"] for each in held] == ["Ada", "Bob"]


def test_u10_an_organization_runs_few_approvals_at_a_time(
    project: ReviewedProject, held: Held
) -> None:
    most = job_threads.OF_ORGANIZATION
    people = [project.member(f"approver {number}", Role.ADMIN) for number in range(most + 1)]
    project.rule("*", "require_approval").approvers.set(people)
    rows = [project.request(WRITE, name=f"person {number}") for number in range(most + 1)]
    pages = [approve(browser_of(person), row) for person, row in zip(people, rows, strict=True)]
    assert ["being executed" in page for page in pages] == [*[True] * most, False]
    assert "Others in your organization" in pages[most]
    for _ in range(most):
        assert held.begun.acquire(timeout=TIMEOUT)
    rows[most].refresh_from_db()
    assert rows[most].status == "pending"


def test_u10_a_machine_without_threads_leaves_a_request_waiting(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, desk = project.request(), project.owner()

    def refuse(_thread: Any, _job: Any) -> None:
        raise job_threads.NoJobThread("The server is busy.")

    monkeypatch.setattr(job_threads.JobThread, "start", refuse)
    assert "The server is busy." in approve(desk, row)
    row.refresh_from_db()
    assert (row.status, row.decided_by, row.sent_at) == ("pending", None, None)
    assert project.executed == []


def test_u10_the_admin_shows_that_a_call_runs(project: ReviewedProject, held: Held) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    assert held.begun.acquire(timeout=TIMEOUT)
    row.refresh_from_db()
    root = project.member("root", Role.ADMIN)
    root.is_superuser = root.is_staff = True
    root.save()
    address = page_url("approvals_approvalrequest_change", row.pk)
    assert 'data-live="running"' in browser_of(root).get(address).content.decode()
    held.released.set()
    wait_for_jobs()
    assert 'data-live=""' in browser_of(root).get(address).content.decode()
