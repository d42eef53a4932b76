"""The page of a job: its progress, what came of it, and who sees it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from foundation.concurrency.job_threads import NoJobThread
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.shared_connection import wait_for_jobs
from workspace import page_jobs
from workspace.models import PageJob
from workspace.page_jobs import JobFailed, JobResult

pytestmark = pytest.mark.django_db


def browser_of(grant: Grant) -> Client:
    browser = Client()
    browser.force_login(grant.user)
    return browser


def running(grant: Grant, **facts: object) -> PageJob:
    return PageJob.objects.create(
        user=grant.user, organization=grant.organization, title="A test", back="/usage", **facts
    )


def start(grant: Grant, work: Callable[[], JobResult]) -> PageJob:
    job = page_jobs.start(grant.user, grant.organization.pk, "A test", work, back="/usage")
    wait_for_jobs()
    job.refresh_from_db()
    return job


def page_text(grant: Grant, job: PageJob) -> str:
    return str(browser_of(grant).get(f"/jobs/{job.pk}").content.decode())


def test_a_job_that_runs_is_followed(grant: Grant) -> None:
    page = page_text(grant, running(grant))
    assert 'data-live="running"' in page
    assert 'href="/usage"' in page


def test_a_job_whose_process_died_is_interrupted(grant: Grant) -> None:
    job = running(grant, started_at=timezone.now() - timedelta(minutes=6))
    page = page_text(grant, job)
    assert "data-live" not in page
    assert "The server was stopped before this had ended." in page


def test_what_came_of_a_job_is_shown_escaped_for_a_day(grant: Grant) -> None:
    job = running(grant, state="failed", message="<script>no</script>")
    assert "&lt;script&gt;no" in page_text(grant, job)
    PageJob.objects.update(started_at=timezone.now() - timedelta(hours=25))
    assert browser_of(grant).get(f"/jobs/{job.pk}").status_code == 404


def test_a_job_leads_to_the_page_with_its_result(grant: Grant) -> None:
    job = running(grant, state="done", result="/usage")
    assert browser_of(grant).get(f"/jobs/{job.pk}")["Location"] == "/usage"


@pytest.mark.django_db(transaction=True)
def test_a_job_never_starts_before_what_its_page_stores_is_committed(grant: Grant) -> None:
    begun: list[int] = []
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        start(grant, lambda: fail(AssertionError(begun.append(1))))
    wait_for_jobs()
    assert begun == []


@pytest.mark.django_db(transaction=True)
def test_few_jobs_of_a_person_are_kept(grant: Grant) -> None:
    theirs = running(grants.make_grant())
    for _ in range(page_jobs.MAX_KEPT + 1):
        running(grant)
    start(grant, lambda: JobResult("Fine."))
    assert PageJob.objects.filter(user=grant.user).count() == page_jobs.MAX_KEPT
    assert PageJob.objects.filter(pk=theirs.pk).exists()


def test_nobody_else_sees_a_job(grant: Grant) -> None:
    job = running(grant, state="done", message="Secret")
    stranger = grants.make_grant()
    assert browser_of(stranger).get(f"/jobs/{job.pk}").status_code == 404
    assert Client().get(f"/jobs/{job.pk}")["Location"].startswith("/signin")
    assert browser_of(grant).post(f"/jobs/{job.pk}").status_code == 405


def fail(error: Exception) -> JobResult:
    raise error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (JobFailed("No\x00 answer."), "No\\u0000 answer."),
        (LookupError("a secret"), "An unexpected error has occurred."),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_a_job_that_fails_says_why_and_nothing_else(
    grant: Grant, error: Exception, message: str
) -> None:
    job = start(grant, lambda: fail(error))
    assert (job.state, job.message) == ("failed", message)
    assert job.ended_at is not None


def test_a_job_without_a_thread_leaves_no_row(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_job: object) -> None:
        raise NoJobThread("Busy.")

    monkeypatch.setattr("foundation.concurrency.job_threads.JobThread.start", refuse)
    with pytest.raises(NoJobThread):
        start(grant, lambda: JobResult(""))
    assert not PageJob.objects.exists()
