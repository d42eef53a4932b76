"""The page of personal tokens: a user creates, lists and revokes their own for /api/mcp."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console import organization_choice, token_pages
from console.gateway.access import for_members
from console.organization_choice import OrganizationField
from console.token_pages import DEFAULT_DAYS, MAX_LISTED
from oauth import addresses, expiry, mcp_tokens, scopes
from oauth.consent import grantable, scope_choices
from oauth.endpoints import replies
from oauth.mcp_tokens import ListedToken, NewToken
from oauth.scopes import Scope, ScopeDescription, ScopeSet
from workspace.models import User

LISTED_AT: Final = "personal_tokens"
REVOKED_AT: Final = "personal_token_revoke"
# A personal token has more permissions than one for a project, so it always expires.
LIFETIMES: Final = [(days, title) for days, title in expiry.LIFETIMES.items() if days]


@dataclass(frozen=True, slots=True)
class PersonalToken:
    """A token in a list, and what it permits in words."""

    token: ListedToken
    titles: str


@dataclass(frozen=True, slots=True)
class OfferedScope:
    """A scope of the form; a narrow one is within another scope that is offered."""

    value: str
    words: ScopeDescription
    is_narrow: bool


def offered_scopes() -> list[OfferedScope]:
    """Returns the scopes that a user may give a token or a program, the wide ones first."""
    everything = grantable.everything()
    names = scope_choices.names(everything)
    return [
        OfferedScope(
            str(scope), scopes.describe(scope, names), scope not in scopes.SUPPORTED.members
        )
        for scope in everything
    ]


class ScopesForm(forms.Form):
    """A form with a choice of scopes; `scope_groups` are those to show, the narrow ones apart."""

    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        error_messages={"required": gettext_lazy("Select at least one permission.")},
    )

    def __init__(self, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]  # a QueryDict, or nothing
        self.offered = offered_scopes()
        self.fields["scopes"].choices = [(one.value, one.words.title) for one in self.offered]  # type: ignore[attr-defined]  # a MultipleChoiceField

    def scope_groups(self) -> list[tuple[bool, list[OfferedScope]]]:
        return [
            (is_narrow, list(members))
            for is_narrow, members in groupby(self.offered, key=lambda one: one.is_narrow)
        ]

    def clean_scopes(self) -> ScopeSet:
        return grantable.parse(" ".join(self.cleaned_data["scopes"]))


class NewPersonalTokenForm(ScopesForm):
    """What a user enters for a new token: one of their organizations, a name and permissions."""

    organization = OrganizationField()
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    days = forms.TypedChoiceField(label=gettext_lazy("Expiry"), choices=LIFETIMES, coerce=int)

    def __init__(self, user: User, data: object = None) -> None:
        super().__init__(data)
        organization_choice.offer(self, user.active_roles)
        self.initial = {"days": DEFAULT_DAYS, "scopes": [str(one) for one in scopes.ADVERTISED]}


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the user's personal tokens; POST creates one."""
    if request.method != "POST":
        return _list(request, user, NewPersonalTokenForm(user))
    form = NewPersonalTokenForm(user, request.POST)
    token = token_pages.create(form, "organization", partial(_issue, request, user))
    if token is None:
        return _list(request, user, form)
    context = {"token": token, "url": addresses.resource(), "listed_at": LISTED_AT}
    return render(request, "console/personal_token_shown.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def revoke(request: HttpRequest, user: User, token_id: UUID) -> HttpResponse:
    """Confirms and revokes a personal token. Another user's token is a 404."""
    tokens = mcp_tokens.personal(user).filter(pk=token_id)
    return token_pages.revoke(request, user, tokens, listed_at=LISTED_AT, revoked_at=REVOKED_AT)


def active(user: User) -> list[PersonalToken]:
    """Returns the user's tokens that have not ended, the newest first."""
    listed = mcp_tokens.list_with_status(mcp_tokens.personal(user)[:MAX_LISTED])
    return _describe_tokens(token for token in listed if token.status in {"active", "paused"})


def _issue(request: HttpRequest, user: User, given: Mapping[str, Any]) -> NewToken:
    return mcp_tokens.issue_personal(
        user,
        given["organization"],
        given["scopes"],
        name=given["name"],
        days=given["days"],
        address=replies.address_of(request),
    )


def _describe_tokens(rows: Iterable[ListedToken]) -> list[PersonalToken]:
    """Returns the tokens of a list with their scopes in words."""
    tokens = list(rows)
    names = scope_choices.names({scope for token in tokens for scope in token.scope})
    return [PersonalToken(token, _titles(token.scope, names)) for token in tokens]


def _titles(granted: Iterable[Scope], names: dict[str, str]) -> str:
    return ", ".join(scopes.describe(scope, names).title for scope in granted)


def _list(request: HttpRequest, user: User, form: NewPersonalTokenForm) -> HttpResponse:
    tokens = _describe_tokens(mcp_tokens.list_with_status(mcp_tokens.personal(user)[:MAX_LISTED]))
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    context = {"form": form, "tokens": tokens, "listed_at": LISTED_AT}
    return render(request, "console/personal_tokens.html", context, status=status)
