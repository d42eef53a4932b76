"""The worker executes approved calls: the page answers at once, and who approves may leave it.

The worker is this process (`tests/drivers/shared_connection.py`), unless a test takes it away.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from approvals import execution, expiry, tasks
from approvals.models import ApprovalRequest
from foundation import journal, queueing
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
def held_calls(project: ReviewedProject) -> Iterator[Held]:
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


def test_u10_an_approval_answers_while_its_call_runs(
    project: ReviewedProject, held_calls: Held
) -> None:
    row, desk = project.request(), project.owner()
    page = approve(desk, row)
    assert "Approved. The operation is being executed." in page
    assert 'data-live="running-' in page
    assert held_calls.begun.acquire(timeout=TIMEOUT)
    client = desk.get(f"/requests/{row.pk}", headers={"Accept": "application/json"})
    assert client.json()["status"] == "APPROVED"
    held_calls.released.set()
    wait_for_jobs()
    assert 'data-live=""' in desk.get(f"/requests/{row.pk}").content.decode()
    row.refresh_from_db()
    assert (row.status, held_calls) == ("done", [{"name": "Ada"}])


def test_u10_an_organization_runs_few_approvals_at_a_time_and_the_rest_after_them(
    project: ReviewedProject, held_calls: Held
) -> None:
    most = job_threads.OF_ORGANIZATION
    rows = [project.request(WRITE, name=f"person {number}") for number in range(most + 1)]
    desk = project.owner()
    pages = [approve(desk, row) for row in rows]
    assert all("being executed" in page for page in pages)
    for _ in range(most):
        assert held_calls.begun.acquire(timeout=TIMEOUT)
    rows[most].refresh_from_db()
    assert (rows[most].status, rows[most].execution_state) == ("running", "queued")
    held_calls.released.set()
    wait_for_jobs()
    assert {each["name"] for each in held_calls} == {row.arguments["name"] for row in rows}
    assert {*ApprovalRequest.objects.values_list("status", flat=True)} == {"done"}


@pytest.fixture
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker loses every message."""
    monkeypatch.setattr(queueing, "send", lambda *_message: None)


@pytest.mark.usefixtures("no_messages")
def test_an_approval_whose_message_is_lost_is_executed_by_the_schedule(
    project: ReviewedProject,
) -> None:
    row, desk = project.request(), project.owner()
    assert "Waits for the background worker" in approve(desk, row)
    assert tasks.execute_queued() == 1
    wait_for_jobs()
    row.refresh_from_db()
    assert (row.status, row.execution_state, row.decider_address) == ("done", "", "")
    assert project.executed == [{"name": "Ada"}]


@pytest.mark.usefixtures("no_messages")
def test_a_message_that_arrives_twice_is_one_execution(project: ReviewedProject) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    for _ in range(3):
        tasks.execute(str(row.pk))
    wait_for_jobs()
    assert project.executed == [{"name": "Ada"}]


@pytest.mark.usefixtures("no_messages")
def test_two_messages_at_once_are_one_execution(
    project: ReviewedProject, held_calls: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    both_have_read, begin = threading.Barrier(2), execution._begin
    threads: list[threading.Thread] = []

    def begin_together(queued: ApprovalRequest) -> ApprovalRequest | None:
        threads.append(threading.current_thread())
        both_have_read.wait(TIMEOUT)
        return begin(queued)

    monkeypatch.setattr(execution, "_begin", begin_together)
    for _ in range(2):
        tasks.execute(str(row.pk))
    assert held_calls.begun.acquire(timeout=TIMEOUT)
    # The call of one is held; the other one ends, or has called the API too.
    until = time.monotonic() + TIMEOUT
    while all(thread.is_alive() for thread in threads) and time.monotonic() < until:
        if held_calls.begun.acquire(timeout=0.05):
            break
    held_calls.released.set()
    wait_for_jobs()
    assert held_calls == [{"name": "Ada"}]


@pytest.mark.usefixtures("no_messages")
def test_the_worker_makes_the_checks_again(project: ReviewedProject) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    project.rule("*", "deny")
    tasks.execute_queued()
    wait_for_jobs()
    row.refresh_from_db()
    assert (row.status, row.decided_by, row.problem) == ("pending", None, "Denied by policy")
    assert project.executed == []


@pytest.mark.usefixtures("no_messages")
def test_an_approval_that_no_worker_executes_waits_for_a_decision_again(
    project: ReviewedProject,
) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    ApprovalRequest.objects.update(claimed_at=timezone.now() - expiry.MAX_QUEUED)
    assert tasks.settle() == 1
    row.refresh_from_db()
    assert (row.status, row.decided_by, row.claim) == ("pending", None, None)
    assert row.problem == expiry.NOT_EXECUTED
    tasks.execute_queued()
    wait_for_jobs()
    assert project.executed == []
    approve(desk, row)
    tasks.execute_queued()
    wait_for_jobs()
    assert project.executed == [{"name": "Ada"}]


@pytest.mark.usefixtures("no_messages")
def test_an_execution_whose_process_was_killed_is_never_repeated(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    with monkeypatch.context() as patched:
        # It is not there any more when its call has been sent.
        patched.setattr(execution, "_end", lambda *_outcome: None)
        tasks.execute_queued()
        wait_for_jobs()
    tasks.execute(str(row.pk))
    tasks.execute_queued()
    wait_for_jobs()
    assert project.executed == [{"name": "Ada"}]
    ApprovalRequest.objects.update(claimed_at=timezone.now() - expiry.MAX_EXECUTION)
    tasks.settle()
    row.refresh_from_db()
    assert (row.status, row.problem) == ("unknown", expiry.LEFT_BEHIND)
    assert project.executed == [{"name": "Ada"}]


def test_the_outcome_of_an_approval_survives_the_database(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    settings.HALO_DATA_DIR = tmp_path
    monkeypatch.setattr(journal, "PAUSES", (0.0,))
    row, desk = project.request(), project.owner()

    def fail(_entry: Any) -> None:
        raise OperationalError("the connection is lost")

    with monkeypatch.context() as patched:
        patched.setitem(journal._writes, execution.OUTCOME, fail)
        approve(desk, row)
        wait_for_jobs()
    row.refresh_from_db()
    assert (row.status, project.executed) == ("running", [{"name": "Ada"}])
    # Marked in the meantime, as after an outage of an hour.
    ApprovalRequest.objects.update(claimed_at=timezone.now() - expiry.MAX_EXECUTION)
    tasks.settle()
    assert journal.replay() == 1
    row.refresh_from_db()
    assert row.status == "done"
    assert row.result["content"][0]["text"] == "made Ada"


def test_u10_the_admin_shows_that_a_call_runs(project: ReviewedProject, held_calls: Held) -> None:
    row, desk = project.request(), project.owner()
    approve(desk, row)
    assert held_calls.begun.acquire(timeout=TIMEOUT)
    row.refresh_from_db()
    root = project.member("root", Role.ADMIN)
    root.is_superuser = root.is_staff = True
    root.save()
    address = page_url("approvals_approvalrequest_change", row.pk)
    assert 'data-live="running-begun"' in browser_of(root).get(address).content.decode()
    held_calls.released.set()
    wait_for_jobs()
    assert 'data-live=""' in browser_of(root).get(address).content.decode()
