"""The page of a job that a person has started: its progress, and what came of it."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from console.gateway.access import for_members
from workspace import page_jobs
from workspace.models import User


@require_safe
@for_members
def page(request: HttpRequest, user: User, job_id: UUID) -> HttpResponse:
    """Shows a job until it has ended, then its message or the page with its result."""
    job = page_jobs.jobs_of(user).filter(pk=job_id).first()
    if job is None:
        raise Http404
    if job.result:
        return redirect(job.result)
    context = {"job": job, "state": job.current_state}
    return render(request, "console/page_job.html", context)
