"""The page of server keys: an organization's admins create, list and revoke them."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, Final, ParamSpec, TypeAlias
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from oauth import expiry, server_keys
from oauth.endpoints import replies
from workspace.administration.access import organizations_administered
from workspace.models import Organization, User

Given = ParamSpec("Given")
View: TypeAlias = Callable[Concatenate[HttpRequest, Given], HttpResponse]
Page: TypeAlias = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]

MAX_LISTED: Final = 200


class NewKeyForm(forms.Form):
    """What an admin enters for a new key; `organizations` are those that they may choose."""

    organization = forms.ModelChoiceField(
        Organization.objects.none(), label=gettext_lazy("Organization"), empty_label=None
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"), choices=list(server_keys.SCOPES.items())
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expiry"), choices=list(expiry.LIFETIMES.items()), coerce=int
    )

    def __init__(self, organizations: "list[Organization]", data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]  # a QueryDict, or nothing
        ids = [one.pk for one in organizations]
        chosen = self.fields["organization"]
        chosen.queryset = Organization.objects.filter(pk__in=ids).order_by("name")  # type: ignore[attr-defined]  # a ModelChoiceField
        self.initial = {"scopes": [server_keys.SDK_WRITE], "days": 365}


def _for_admins(page: Page[Given]) -> View[Given]:
    """Requires sign-in by an admin of an organization.

    Platform staff who administer none use the admin's own page; others get 404.
    """

    @wraps(page)
    def guarded(request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        if not organizations_administered(request.user):
            if admin.site.has_permission(request):
                return redirect("admin:oauth_serverkey_changelist")
            raise Http404
        return replies.private(page(request, request.user, *args, **kwargs))

    return guarded


@require_http_methods(["GET", "HEAD", "POST"])
@_for_admins
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the keys of the organizations that the user administers; POST creates one."""
    if request.method != "POST":
        return _list(request, user, NewKeyForm(_organizations(user)))
    form = NewKeyForm(_organizations(user), request.POST)
    if not form.is_valid():
        return _list(request, user, form)
    row = server_keys.unsaved(**form.cleaned_data)
    key = server_keys.issue(row, user=user, address=replies.address_of(request))
    return render(request, "console/server_key_shown.html", {"key": key})


@require_http_methods(["GET", "HEAD", "POST"])
@_for_admins
def revoke(request: HttpRequest, user: User, key_id: UUID) -> HttpResponse:
    """Confirms and revokes a key. Another organization's key is a 404."""
    rows = server_keys.of_organizations(organizations_administered(user))
    row = rows.filter(pk=key_id).first()
    if row is None:
        raise Http404
    if request.method != "POST":
        return render(request, "console/server_key_revoke.html", {"key": row})
    if server_keys.revoke(row, user=user, address=replies.address_of(request)):
        messages.success(request, _("Revoked. Requests with this key are refused."))
    else:
        messages.info(request, _("This key was already revoked."))
    return redirect("server_keys")


def _list(request: HttpRequest, user: User, form: NewKeyForm) -> HttpResponse:
    rows = server_keys.of_organizations(organizations_administered(user))[:MAX_LISTED]
    context = {"form": form, "keys": server_keys.listed(rows)}
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    return render(request, "console/server_keys.html", context, status=status)


def _organizations(user: User) -> "list[Organization]":
    return list(Organization.objects.filter(pk__in=organizations_administered(user)))
