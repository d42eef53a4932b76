"""Jobs of people: started on a page, run in a thread, and shown on a page of their own.

    reserve a thread -> store the job -> the page answers -> run -> store what came of it

Every process can show a job, since all that is known of it is in its row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from foundation.concurrency import job_threads
from foundation.db.storable import escape_unstorable
from workspace.models import PageJob, User

log = structlog.get_logger(__name__)
LIFETIME: Final = timedelta(days=1)
MAX_KEPT: Final = 20  # of one person
MAX_MESSAGE: Final = 1_000


class JobFailed(Exception):
    """The job ends without a result; the text is for the person."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ends that has not failed; `result` is the path of a page with what it made."""

    message: str
    result: str = ""


def start(
    user: User, organization_id: UUID, title: str, work: Callable[[], JobResult], *, back: str
) -> PageJob:
    """Starts a job of a person, and returns its row.

    `work` raises JobFailed. `back` is the path of the page on which the job is started. Raises
    NoJobThread if the person or the organization has as many jobs as they may, and RuntimeError in
    a transaction.
    """
    with job_threads.reserve(user.pk, organization_id) as thread:
        # Durable: a job reads what its page has stored.
        with transaction.atomic(durable=True):
            _forget_old(user)
            job = PageJob.objects.create(
                user=user, organization_id=organization_id, title=title[:200], back=back
            )
        try:
            thread.start(partial(_run, job.pk, work))
        except job_threads.NoJobThread:
            job.delete()
            raise
    return job


def jobs_of(user: User) -> QuerySet[PageJob]:
    """Returns the jobs that a person has started within a day."""
    return PageJob.objects.filter(user=user, started_at__gt=timezone.now() - LIFETIME)


def latest(user: User, back: str) -> PageJob | None:
    """Returns the newest job that the person has started on a page."""
    return jobs_of(user).filter(back=back).order_by("-started_at").first()


def forget(result: str) -> None:
    """Deletes the job whose result is the page at a path, because the page is gone."""
    PageJob.objects.filter(result=result).delete()


def _forget_old(user: User) -> None:
    PageJob.objects.filter(started_at__lt=timezone.now() - LIFETIME).delete()
    own = PageJob.objects.filter(user=user).order_by("-started_at")
    kept = [*own.values_list("pk", flat=True)[: MAX_KEPT - 1]]
    own.exclude(pk__in=kept).delete()


def _run(job_id: UUID, work: Callable[[], JobResult]) -> None:
    state = PageJob.JobState.DONE
    try:
        ended = work()
    except JobFailed as failed:
        state, ended = PageJob.JobState.FAILED, JobResult(str(failed))
    except Exception:
        log.exception("page_job_failed", job=str(job_id))
        state, ended = PageJob.JobState.FAILED, JobResult(_("An unexpected error has occurred."))
    PageJob.objects.filter(pk=job_id).update(
        state=state,
        message=str(escape_unstorable(ended.message))[:MAX_MESSAGE],
        result=ended.result,
        ended_at=timezone.now(),
    )
