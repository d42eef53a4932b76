"""The pages of requests for approval: a person's lists, one request, and the decision.

At the address of a request, programs read its status with the credential that made it. No GET
decides anything: mail scanners and chat previews follow links.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, TypeAlias
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from approvals import deciders, decisions, expiry, masked_arguments, outcomes, requests
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

# What the names of the boxes of a list begin with.
SELECTED: Final = "request-"
HTML: Final = "text/html"
JSON: Final = "application/json"
# The same for a missing bearer, an unknown request and a request that the bearer did not make.
CHALLENGE: Final = 'Bearer error="invalid_token"'
MAX_NOTE: Final = 500
# Of the requests that wait for a person, how many are counted.
MAX_WAITING: Final = 99
WAITING: Final = frozenset({ApprovalStatus.PENDING, ApprovalStatus.RUNNING})
Decide: TypeAlias = Callable[[Decider], ApprovalRequest]


# What the buttons below several requests do, the status that follows, and what is said then.
DECISIONS: Final[Mapping[str, tuple[Callable[[UUID, Decider], ApprovalRequest], str, Any]]] = {
    "approve": (decisions.approve, ApprovalStatus.RUNNING, gettext_lazy("%(count)d approved.")),
    "reject": (decisions.decline, ApprovalStatus.DECLINED, gettext_lazy("%(count)d rejected.")),
}


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
    if expiry.end_with_requesters(ApprovalRequest.objects.filter(pk=request_id)):
        row.refresh_from_db()
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


@require_safe
def review(request: HttpRequest) -> HttpResponse:
    """Shows each of the selected requests in full, to decide them together."""
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    selected = {name.removeprefix(SELECTED) for name in request.GET if name.startswith(SELECTED)}
    rows = _find_selected(request.user, selected)
    if not rows:
        messages.error(request, _("Select requests that wait for you."))
        return redirect("approval_requests")
    why_not = [decisions.why_not_approved(row, request.user) for row in rows]
    context = {
        "left_out": len(selected) - len(rows),
        "reviewed": [*zip(map(request_details.build, rows), why_not, strict=True)],
        "approvable": [row for row, why in zip(rows, why_not, strict=True) if not why],
    }
    return replies.private(render(request, "console/gateway/requests_review.html", context))


@require_POST
def decide(request: HttpRequest) -> HttpResponse:
    """Approves or rejects the requests that a page has shown in full."""
    if not isinstance(request.user, User):
        return redirect_to_login(reverse("approval_requests"))
    decider = Decider(request.user, replies.address_of(request))
    decision, decided = request.POST.get("decision", ""), 0
    if decision not in DECISIONS:
        raise Http404
    act, status, done = DECISIONS[decision]
    selected = {*request.POST.getlist("request")}
    rows = _find_selected(request.user, selected)
    for row in rows:
        try:
            after = act(row.pk, decider)
        except Undecidable as refused:
            messages.error(request, f"{row.tool}: {refused}")
            continue
        if after.status == status:
            decided += 1
        else:  # it has ended at once, as when the document has changed
            messages.error(request, f"{row.tool}: {outcomes.reason(after)}")
    if decided:
        messages.success(request, done % {"count": decided})
    if left := len(selected) - len(rows):
        text = _("Not decided, because they do not wait for you any more: %(count)d.")
        messages.warning(request, text % {"count": left})
    return redirect(f"{reverse('approval_requests')}#to-decide")


def _find_selected(user: User, selected: Collection[str]) -> list[ApprovalRequest]:
    """Returns those of the named requests for calls to projects that a person may approve.

    Raises BadRequest for more than a list has.
    """
    if len(selected) > request_details.MAX_LISTED:
        raise BadRequest(f"Select at most {request_details.MAX_LISTED} requests.")
    keys = []
    for each in selected:
        with suppress(ValueError):
            keys.append(UUID(each))
    wanted = policies.PROJECT_SURFACES.condition() & Q(pk__in=keys)
    return [*decisions.list_decidable(user, wanted)]


@require_POST
def withdraw(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Ends a request that its requester does not want to be decided any more."""
    return _decide_request(request, request_id, lambda by: decisions.withdraw(request_id, by.user))


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
    return redirect(_page_after(request, request.user, request_id))


def _page_after(request: HttpRequest, user: User, request_id: UUID) -> str:
    """The page that the form of a decision asks for: the list, the next request, or this one."""
    following = request.POST.get("then")
    if following == "next":
        waiting = [row.pk for row in islice(_list_others(user, request_id), MAX_WAITING)]
        # The order of the list, from here on; then those before it.
        after = [key for key in waiting if key < request_id]
        if waiting:
            return reverse("approval_request", args=[(after or waiting)[0]])
    if following in {"next", "list"}:
        shown = QueryDict(request.POST.get("filter", "")).urlencode()
        return f"{reverse('approval_requests')}{'?' if shown else ''}{shown}#to-decide"
    return reverse("approval_request", args=[request_id])


def _list_others(user: User, request_id: UUID) -> Iterator[ApprovalRequest]:
    """Returns the other requests for calls to projects that a person may approve."""
    others = policies.PROJECT_SURFACES.condition() & ~Q(pk=request_id)
    return decisions.list_decidable(user, others)


def _show_outcome(request: HttpRequest, row: ApprovalRequest) -> None:
    match row.status:
        case ApprovalStatus.RUNNING:
            messages.success(request, _("Approved. The operation is being executed."))
        case ApprovalStatus.DECLINED:
            is_withdrawn = requests.is_withdrawn(row)
            messages.success(request, _("Withdrawn.") if is_withdrawn else _("Rejected."))
        case ApprovalStatus.FAILED | ApprovalStatus.UNKNOWN:
            messages.error(request, outcomes.reason(row))
        case ApprovalStatus.EXPIRED:
            messages.error(request, _("The request has expired."))


def _page(request: HttpRequest, user: User, row: ApprovalRequest) -> HttpResponse:
    may_decide = request_details.is_open(row) and policies.may_decide(user, row)
    why_not = decisions.why_not_approved(row, user) if may_decide else ""
    is_waiting = row.current_status == ApprovalStatus.PENDING
    obstacle = decisions.find_problem(row) if is_waiting else ""
    context = {
        "row": row,
        "details": request_details.build(row),
        "may_reject": may_decide,
        "may_approve": may_decide and not why_not,
        "why_not": why_not,
        "obstacle": obstacle if obstacle != why_not else "",
        "label": outcomes.get_label(row),
        "approvers": policies.describe_approvers(row) if is_waiting else "",
        # How many others there are to go on with.
        "others": sum(1 for _row in islice(_list_others(user, row.pk), MAX_WAITING))
        if may_decide
        else 0,
        "may_withdraw": is_waiting and deciders.is_own(row, user),
        "max_note": MAX_NOTE,
        # What the page shows until the request has ended (static/halo/live.js).
        "live": f"{row.status}-{row.execution_state}-{may_decide}-{bool(why_not)}-{bool(obstacle)}"
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
