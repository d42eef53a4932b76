"""The page of MCP tokens: a user creates, lists and revokes their own tokens for projects."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console import token_pages
from console.gateway.access import for_members
from console.token_pages import DEFAULT_DAYS, MAX_LISTED
from gateway.access import projects_of
from gateway.models import Project
from oauth import addresses, expiry, mcp_tokens
from oauth.endpoints import replies
from oauth.mcp_tokens import NewToken
from workspace.models import User

LISTED_AT: Final = "project_tokens"
REVOKED_AT: Final = "project_token_revoke"


class NewProjectTokenForm(forms.Form):
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
        chosen.label_from_instance = _label  # type: ignore[attr-defined]  # the same
        self.initial = {"days": DEFAULT_DAYS, "project": project}


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the user's tokens; POST creates one. `?project=` selects a project in the form."""
    if request.method != "POST":
        return _list(
            request, user, NewProjectTokenForm(user, project=request.GET.get("project", ""))
        )
    form = NewProjectTokenForm(user, request.POST)
    token = token_pages.create(form, "project", partial(_issue, request, user))
    if token is None:
        return _list(request, user, form)
    project: Project = form.cleaned_data["project"]
    url = addresses.url(f"/{project.pk}")
    context = {"token": token, "project": project, "url": url, "listed_at": LISTED_AT}
    return render(request, "console/gateway/token_shown.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def revoke(request: HttpRequest, user: User, token_id: UUID) -> HttpResponse:
    """Confirms and revokes a token. Another user's token is a 404."""
    tokens = mcp_tokens.list_project_tokens(user).filter(pk=token_id)
    return token_pages.revoke(request, user, tokens, listed_at=LISTED_AT, revoked_at=REVOKED_AT)


def _label(project: Project) -> str:
    return f"{project.name} ({project.organization.name})"


def _issue(request: HttpRequest, user: User, given: Mapping[str, Any]) -> NewToken:
    project: Project = given["project"]
    return mcp_tokens.issue(
        user,
        project.organization,
        f"/{project.pk}",
        name=given["name"],
        days=given["days"],
        address=replies.address_of(request),
    )


def _list(request: HttpRequest, user: User, form: NewProjectTokenForm) -> HttpResponse:
    tokens = mcp_tokens.list_with_status(mcp_tokens.list_project_tokens(user)[:MAX_LISTED])
    ids = {token.project_id for token in tokens}
    names = dict(Project.objects.filter(pk__in=ids).values_list("pk", "name"))
    rows = [(token, names.get(token.project_id, token.project_id)) for token in tokens]
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    context = {"form": form, "tokens": rows, "listed_at": LISTED_AT}
    return render(request, "console/gateway/tokens.html", context, status=status)
