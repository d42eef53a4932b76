"""The page of credentials for a project's API: added, tested and removed, never shown."""

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from console.gateway.access import project_member_required, save_form
from foundation import stale_forms
from foundation.concurrency.job_threads import NoJobThread
from foundation.stale_forms import FormValue
from gateway import access, calling, credentials, policies, servers, source
from gateway.calling import UpstreamCall
from gateway.credentials import InvalidSecret
from gateway.models import Authentication, Effect, Project, UpstreamCredential
from gateway.openapi.shapes import Scheme
from oauth.endpoints import replies
from tools_registry import vendors
from tools_registry.api import ToolFailure, Unauthorized
from tools_registry.vendors.slots import Upstream
from workspace import page_jobs
from workspace.models import User
from workspace.page_jobs import JobFailed, JobResult

# A person waits for the result.
TEST_SECONDS: Final = 8.0


@dataclass(frozen=True, slots=True)
class SchemeCredential:
    """One security scheme of a project, and the credential that there is for it."""

    scheme: Scheme
    is_supported: bool
    row: UpstreamCredential | None

    @property
    def is_readable(self) -> bool:
        return self.row is not None and credentials.is_readable(self.row)


@require_http_methods(["GET", "HEAD", "POST"])
@project_member_required
def index(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Lists the credentials that the person may enter; POST stores or removes one.

    To members whose calls use the project's credential it says that admins enter it. A secret is
    stored for the URLs and the owner that the page showed, so under the lock that confirming a
    server takes.
    """
    if request.method != "POST":
        return _list(request, user, project)
    page = reverse("project_credentials", args=[project.pk])
    return save_form(request, project, page, lambda locked: _save(request, user, locked))


def _save(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    owner = _owner(user, project)
    scheme = _scheme(project, request.POST.get("scheme", ""))
    stale_forms.compare(request.POST.get(stale_forms.FIELD, ""), _credential_facts(project))
    address = replies.address_of(request)
    if request.POST.get("act") == "remove":
        if credentials.forget(project, owner, scheme.name):
            credentials.record_change("removed", project, owner, user, address)
        messages.success(request, _("Credential removed."))
        return redirect("project_credentials", project.pk)
    secret, username = (request.POST.get(name, "").strip() for name in ("secret", "username"))
    try:
        credentials.store(project, owner, scheme, secret, username=username)
    except InvalidSecret as invalid:
        return _list(request, user, project, failed=scheme.name, problem=str(invalid))
    credentials.record_change("stored", project, owner, user, address)
    messages.success(request, _("Credential saved."))
    return redirect("project_credentials", project.pk)


@require_POST
@project_member_required
def test(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Starts a call of an operation that only reads and needs no argument."""
    _owner(user, project)
    call = _cheapest(project)
    if call is None:
        messages.warning(request, _("No tool reads without arguments, so nothing was called."))
        return redirect("project_credentials", project.pk)
    back = reverse("project_credentials", args=[project.pk])
    title = _("Test of the connection of %(name)s") % {"name": project.name}
    try:
        job = page_jobs.start(
            user, project.organization_id, title, partial(_send, call, project, user), back=back
        )
    except NoJobThread as busy:
        messages.error(request, str(busy))
        return redirect("project_credentials", project.pk)
    return redirect("page_job", job.pk)


def _send(call: UpstreamCall, project: Project, user: User) -> JobResult:
    """Makes the call of a test. Raises JobFailed."""
    organization_id = project.organization_id
    try:
        prepared = call.prepare(organization_id, {})
        target = policies.PROJECT_SURFACES.name_of(project.pk)
        with vendors.hold_slot(Upstream(organization_id, target, prepared.origin, TEST_SECONDS)):
            calling.send(
                call,
                prepared,
                organization_id=organization_id,
                user_id=user.pk,
                seconds=TEST_SECONDS,
            )
    except Unauthorized as refused:
        raise JobFailed(refused.message) from None
    except ToolFailure as failure:
        why = {"tool": call.name, "why": failure.message}
        raise JobFailed(_("%(tool)s failed: %(why)s") % why) from None
    return JobResult(_("The API accepted a call of %(tool)s.") % {"tool": call.name})


def _list(
    request: HttpRequest, user: User, project: Project, *, failed: str = "", problem: str = ""
) -> HttpResponse:
    is_shared = project.authentication == Authentication.PROJECT
    may_enter = not is_shared or access.may_edit(user, project)
    rows = {
        row.scheme: row for row in credentials.list_stored(project, None if is_shared else user)
    }
    context = {
        "project": project,
        "urls": _urls(project),
        "shown_values": stale_forms.hidden_field(stale_forms.serialize(_credential_facts(project))),
        "is_shared": is_shared,
        "is_needed": project.authentication != Authentication.NONE,
        "may_enter": may_enter,
        "places": [
            SchemeCredential(scheme, credentials.is_supported(scheme), rows.get(scheme.name))
            for scheme in credentials.schemes_of(project)
        ],
        "failed": failed,
        "problem": problem,
        "job": page_jobs.latest(user, request.path),
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "console/gateway/credentials.html", context, status=status)


def _urls(project: Project) -> list[str]:
    """Where the credentials that are entered now are sent."""
    return list(dict.fromkeys([project.target_url, *servers.read(project.servers).values()]))


def _credential_facts(project: Project) -> dict[str, FormValue]:
    """What the page says of a secret: where it is sent, and whose calls it is for."""
    whose = str(project.get_authentication_display())
    return {
        "urls": FormValue(_("Credentials are sent to"), _urls(project)),
        "authentication": FormValue(_("Authentication"), whose),
    }


def _owner(user: User, project: Project) -> User | None:
    """Whose credential the person enters: None for the project's, which only admins enter."""
    if project.authentication != Authentication.PROJECT:
        return user
    if access.may_edit(user, project):
        return None
    raise Http404


def _scheme(project: Project, name: str) -> Scheme:
    for scheme in credentials.schemes_of(project):
        if scheme.name == name and credentials.is_supported(scheme):
            return scheme
    raise Http404


def _cheapest(project: Project) -> UpstreamCall | None:
    """The first tool that only reads, and that needs a credential but no argument.

    Only one at the target URL, and one that the policy allows: the test asks for no approval.
    """
    rows = project.tools.filter(is_present=True, is_enabled=True, is_read=True, needs_review=False)
    policy = policies.read(project.pk)
    calls = [source.call_of(source.tool_of(row, version=project.version)) for row in rows]
    usable = [
        call
        for call in calls
        if call is not None
        and call.operation.method.upper() in {"GET", "HEAD"}
        and not call.operation.full_schema.get("required")
        and not call.operation.server
        and policy.decide(call.name, {}, is_read=True).effect == Effect.ALLOW
    ]
    # One that is open to everybody proves nothing.
    usable.sort(key=lambda call: (not any(call.operation.security), call.name))
    return usable[0] if usable else None
