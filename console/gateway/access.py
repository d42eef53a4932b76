"""Who may open the pages of projects: members of an organization, and its admins to change one."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec, TypeAlias

from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from foundation.stale_forms import StaleForm
from gateway import access
from gateway.models import Project
from oauth.endpoints import replies
from workspace.administration import stale
from workspace.models import User

Given = ParamSpec("Given")
View: TypeAlias = Callable[Concatenate[HttpRequest, Given], HttpResponse]
Page: TypeAlias = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]
ProjectPage: TypeAlias = Callable[[HttpRequest, User, Project], HttpResponse]


def for_members(page: Page[Given]) -> View[Given]:
    """Requires sign-in; what a person sees depends on their organizations."""

    @wraps(page)
    def wrapper(request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        return replies.private(page(request, request.user, *args, **kwargs))

    return wrapper


def project_member_required(page: ProjectPage) -> Callable[[HttpRequest, str], HttpResponse]:
    """Requires a member of the project's organization; everybody else gets 404."""

    @wraps(page)
    def wrapper(request: HttpRequest, user: User, project_id: str) -> HttpResponse:
        try:
            project = access.project_for(user, project_id)
        except Project.DoesNotExist:
            raise Http404 from None
        return page(request, user, project)

    return for_members(wrapper)


def project_admin_required(page: ProjectPage) -> Callable[[HttpRequest, str], HttpResponse]:
    """Requires an admin of the project's organization; everybody else gets 404."""

    @wraps(page)
    def wrapper(request: HttpRequest, user: User, project: Project) -> HttpResponse:
        if not access.may_edit(user, project):
            raise Http404
        return page(request, user, project)

    return project_member_required(wrapper)


def save_form(
    request: HttpRequest, project: Project, page: str, act: Callable[[Project], HttpResponse]
) -> HttpResponse:
    """Saves a form of a project under the project's lock, unless what it showed has changed.

    The lock is that of `projects.change`, of imports and of the policy. `page` is the address of
    the page that shows the form.
    """
    return refuse_stale(request, project, page, lambda: _run_under_lock(project, act))


def refuse_stale(
    request: HttpRequest, project: Project, page: str, act: Callable[[], HttpResponse]
) -> HttpResponse:
    """Returns the response of an action, or the page that says what has changed meanwhile."""
    try:
        return act()
    except StaleForm as refused:
        context = {
            "changes": refused.changes,
            "history": stale.history([project], refused.shown_at),
            "page": page,
        }
        return render(request, "console/stale_form.html", context, status=HTTPStatus.CONFLICT)


@transaction.atomic
def _run_under_lock(project: Project, act: Callable[[Project], HttpResponse]) -> HttpResponse:
    try:
        locked = access.lock_project(project)
    except Project.DoesNotExist:
        raise Http404 from None
    return act(locked)
