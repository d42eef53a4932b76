"""The pages of requests for approval: a person's lists, one request, and the decision.

At the address of a request, programs read its status with the credential that made it. No GET
decides anything: mail scanners and chat previews follow links.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from approvals import decisions, masked_arguments, outcomes
from approvals.decisions import Decider, NotAllowed, SelfApproval, Undecidable
from approvals.models import ApprovalRequest, ApprovalStatus
from foundation.db.storable import escape_unstorable
from gateway import access, policies
from gateway.requests import details as request_details
from gateway.requests import statuses
from gateway.requests.details import ALL_REQUESTS, RequestFilter
from oauth import credentials
from oauth.endpoints import replies
from oauth.principal import Unauthenticated
from tools_registry.pipeline import surfaces
from workspace.models import User

HTML: Final = "text/html"
JSON: Final = "application/json"
# The same for a missing bearer, an unknown request and a request that the bearer did not make.
CHALLENGE: Final = 'Bearer error="invalid_token"'
MAX_NOTE: Final = 500
WAITING: Final = frozenset({ApprovalStatus.PENDING, ApprovalStatus.RUNNING})
Decide: TypeAlias = Callable[[Decider], ApprovalRequest]


class FilterForm(forms.Form):
    """Which requests are listed; each field that is empty stands for all."""

    project = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    status = forms.ChoiceField(
        label=gettext_lazy("Status"),
        required=False,
        choices=[("", gettext_lazy("All")), *ApprovalStatus.choices],
    )
    tool = forms.CharField(label=gettext_lazy("Tool"), required=False, max_length=255)

    def __init__(self, user: User, *given: Any) -> None:
        super().__init__(*given)
        projects = access.projects_of(user).order_by("name").values_list("pk", "name")
        self.fields["project"].choices = [  # type: ignore[attr-defined]  # a ChoiceField
            ("", gettext_lazy("All")),
            *projects,
        ]

    def to_filter(self) -> RequestFilter:
        """Returns the filter; all requests for a form that is not valid."""
        if not self.is_valid():
            return ALL_REQUESTS
        read = self.cleaned_data
        return RequestFilter(read["project"], read["status"], read["tool"])


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Lists the requests that a person made, may decide, and decided."""
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    form = FilterForm(request.user, request.GET)
    wanted = form.to_filter()
    context = {
        "form": form,
        "is_filtered": wanted != ALL_REQUESTS,
        "lists": request_details.lists(request.user, wanted),
        "max_listed": request_details.MAX_LISTED,
    }
    return replies.private(render(request, "console/gateway/requests.html", context))


@require_safe
def one(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Shows one request: a page for people, JSON for programs."""
    if "Authorization" in request.headers:
        return _private(_for_program(request, request_id))
    wants_json = request.get_preferred_type([HTML, JSON]) == JSON
    if not isinstance(request.user, User):
        return (
            _private(_unauthorized_response())
            if wants_json
            else redirect_to_login(request.get_full_path())
        )
    row = _visible(request.user, request_id)
    if wants_json:
        body = statuses.as_json(row)
        if "result" in body:  # as the page shows it
            body["result"] = masked_arguments.masked_result(row)
        return _private(JsonResponse(body))
    return _private(_page(request, request.user, row))


@require_POST
def approve(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Approves a request and starts its call."""
    return _decide_request(request, request_id, lambda by: decisions.approve(request_id, by))


@require_POST
def reject(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Rejects a request, with a reason."""
    note = str(escape_unstorable(request.POST.get("note", ""))).strip()[:MAX_NOTE]
    return _decide_request(
        request, request_id, lambda by: decisions.decline(request_id, by, note), note
    )


def _decide_request(
    request: HttpRequest, request_id: UUID, decide: Decide, note: str = ""
) -> HttpResponse:
    if not isinstance(request.user, User):
        return redirect_to_login(request.path.rpartition("/")[0])
    _visible(request.user, request_id)
    try:
        row = decide(Decider(request.user, replies.address_of(request)))
    except (SelfApproval, NotAllowed) as refused:
        raise PermissionDenied(str(refused)) from refused
    except Undecidable as refused:
        messages.error(request, str(refused))
        if note:
            unsent = _("Your reason was not sent: %(reason)s")
            messages.warning(request, unsent % {"reason": note})
    else:
        _show_outcome(request, row)
    return redirect("approval_request", request_id)


def _show_outcome(request: HttpRequest, row: ApprovalRequest) -> None:
    match row.status:
        case ApprovalStatus.RUNNING:
            messages.success(request, _("Approved. The operation is being executed."))
        case ApprovalStatus.DECLINED:
            messages.success(request, _("Rejected."))
        case ApprovalStatus.FAILED | ApprovalStatus.UNKNOWN:
            messages.error(request, outcomes.reason(row))
        case ApprovalStatus.EXPIRED:
            messages.error(request, _("The request has expired."))


def _page(request: HttpRequest, user: User, row: ApprovalRequest) -> HttpResponse:
    may_decide = request_details.is_open(row) and policies.may_decide(user, row)
    why_not = decisions.why_not_approved(row, user) if may_decide else ""
    context = {
        "row": row,
        "details": request_details.build(row),
        "may_reject": may_decide,
        "may_approve": may_decide and not why_not,
        "why_not": why_not,
        "max_note": MAX_NOTE,
        # What the page shows until the request has ended (static/halo/live.js).
        "live": f"{row.status}-{row.execution_state}-{may_decide}"
        if row.current_status in WAITING
        else "",
    }
    return render(request, "console/gateway/request.html", context)


def _for_program(request: HttpRequest, request_id: UUID) -> JsonResponse:
    """The status of a request for the credential that made it, or another of the same grant."""
    rows = ApprovalRequest.objects.filter(policies.PROJECT_SURFACES.condition())
    row = rows.filter(pk=request_id).first()
    surface = surfaces.find(row.surface) if row else None
    try:
        caller = credentials.authenticate(
            request.headers["Authorization"], surface.credentials if surface else {}
        )
    except Unauthenticated:
        return _unauthorized_response()
    if row is None or str(caller.authorization_id) != row.authorization_id:
        return _unauthorized_response()
    return JsonResponse(statuses.as_json(row))


def _unauthorized_response() -> JsonResponse:
    response = JsonResponse({"error": "unauthorized"}, status=HTTPStatus.UNAUTHORIZED)
    response["WWW-Authenticate"] = CHALLENGE
    return response


def _visible(user: User, request_id: UUID) -> ApprovalRequest:
    row = request_details.visible_to(user, request_id)
    if row is None:
        raise Http404
    return row


def _private(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ("Accept", "Authorization", "Cookie"))
    return replies.private(response)
