"""The page of MCP tokens: a user creates, lists and revokes their own tokens for projects."""

from http import HTTPStatus
from typing import Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console.gateway.access import for_members
from gateway.access import projects_of
from gateway.models import Project
from oauth import addresses, expiry, mcp_tokens
from oauth.endpoints import replies
from workspace.models import User

MAX_LISTED: Final = 200
DEFAULT_DAYS: Final = 90
REVOKED_AT: Final = "project_token_revoke"


class NewTokenForm(forms.Form):
    """What a user enters for a new token: one of their organizations' projects, and its name."""

    project = forms.ModelChoiceField(
        Project.objects.none(), label=gettext_lazy("Project"), empty_label=None
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expiry"), choices=list(expiry.LIFETIMES.items()), coerce=int
    )

    def __init__(self, user: User, data: object = None, *, project: str = "") -> None:
        super().__init__(data)  # type: ignore[arg-type]  # a QueryDict, or nothing
        chosen = self.fields["project"]
        chosen.queryset = projects_of(user).order_by("name", "pk")  # type: ignore[attr-defined]  # a ModelChoiceField
        self.initial = {"days": DEFAULT_DAYS, "project": project}


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the user's tokens; POST creates one. `?project=` selects a project in the form."""
    if request.method != "POST":
        return _list(request, user, NewTokenForm(user, project=request.GET.get("project", "")))
    form = NewTokenForm(user, request.POST)
    if not form.is_valid():
        return _list(request, user, form)
    project: Project = form.cleaned_data["project"]
    try:
        token = mcp_tokens.issue(
            user,
            project.organization,
            f"/{project.pk}",
            name=form.cleaned_data["name"],
            days=form.cleaned_data["days"],
            address=replies.address_of(request),
        )
    except mcp_tokens.NotAMember as left:  # since the form was checked
        raise Http404 from left
    except mcp_tokens.TooManyTokens as refused:
        form.add_error("project", str(refused))
        return _list(request, user, form)
    context = {"token": token, "project": project, "url": addresses.url(f"/{project.pk}")}
    return render(request, "console/gateway/token_shown.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def revoke(request: HttpRequest, user: User, token_id: UUID) -> HttpResponse:
    """Confirms and revokes a token. Another user's token is a 404."""
    row = mcp_tokens.of_user(user).filter(pk=token_id).first()
    if row is None:
        raise Http404
    if request.method != "POST":
        context = {"token": row, "listed_at": "project_tokens", "revoked_at": REVOKED_AT}
        return render(request, "console/gateway/token_revoke.html", context)
    if mcp_tokens.revoke(row, user=user, address=replies.address_of(request)):
        messages.success(request, _("Revoked. Requests with this token are refused."))
    else:
        messages.info(request, _("This token was already revoked."))
    return redirect("project_tokens")


def _list(request: HttpRequest, user: User, form: NewTokenForm) -> HttpResponse:
    tokens = mcp_tokens.listed(mcp_tokens.of_user(user)[:MAX_LISTED])
    ids = {token.project_id for token in tokens}
    names = dict(Project.objects.filter(pk__in=ids).values_list("pk", "name"))
    rows = [(token, names.get(token.project_id, token.project_id)) for token in tokens]
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    context = {"form": form, "tokens": rows}
    return render(request, "console/gateway/tokens.html", context, status=status)
