"""The consent page: what is shown of a request, and nothing that the form could widen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from oauth import pages, ports, redirects, replies, scopes
from oauth.models import AuthorizationRequest, Client
from oauth.ports import UnlockedTool
from oauth.redirects import RedirectDescription
from oauth.scopes import Scope, ScopeSet
from workspace.models import Membership, User


@dataclass(frozen=True, slots=True)
class OrganizationChoice:
    id: str
    name: str
    role: str
    selected: bool


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    """One scope to tick or untick, in plain words, with the tools it unlocks today."""

    value: str
    title: str
    sentence: str
    kind: str
    tools: tuple[UnlockedTool, ...]
    empty_reason: str
    checked: bool

    @property
    def is_empty(self) -> bool:
        return not self.tools


@dataclass(frozen=True, slots=True)
class ScopeGroup:
    kind: str
    title: str
    choices: tuple[ScopeChoice, ...]


@dataclass(frozen=True, slots=True)
class ConsentPage:
    """Everything `templates/oauth/consent.html` shows."""

    request_id: str
    client_name: str
    client_is_verified: bool
    client_origin: str
    redirect: RedirectDescription
    user_email: str
    organizations: tuple[OrganizationChoice, ...]
    scope_groups: tuple[ScopeGroup, ...]
    access_lifetime: str
    form_action: str
    problem: str = ""


def show(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    """Ask the person."""
    memberships = open_memberships(asked.user)
    if not memberships:
        return pages.no_organization(request)
    return _rendered(request, asked, _page(asked, memberships, memberships[0]))


def show_again(request: HttpRequest, asked: AuthorizationRequest, *, problem: str) -> HttpResponse:
    """Ask once more what to mend: with the organization they chose, and nothing ticked for them."""
    memberships = open_memberships(asked.user)
    if not memberships:
        return pages.no_organization(request)
    chosen = request.POST.get("organization")
    same = (place for place in memberships if str(place.organization_id) == chosen)
    page = _page(asked, memberships, next(same, memberships[0]))
    response = _rendered(request, asked, _unticked(replace(page, problem=problem)))
    response.status_code = 400
    return response


def _unticked(page: ConsentPage) -> ConsentPage:
    groups = [
        replace(group, choices=tuple(replace(choice, checked=False) for choice in group.choices))
        for group in page.scope_groups
    ]
    return replace(page, scope_groups=tuple(groups))


def _rendered(request: HttpRequest, asked: AuthorizationRequest, page: ConsentPage) -> HttpResponse:
    response = render(request, "oauth/consent.html", {"page": page})
    targets = {"form-action": _form_targets(asked.redirect_uri)}
    response._csp_replace = targets  # type: ignore[attr-defined]  # django-csp reads it there
    response["Referrer-Policy"] = "no-referrer"
    return replies.private(response)


def open_memberships(user: User) -> list[Membership]:
    """The places a person may grant access to: not those of suspended organizations."""
    rows = user.memberships.select_related("organization")
    return list(rows.filter(organization__suspended_at__isnull=True).order_by("created_at"))


def _form_targets(redirect_uri: str) -> list[str]:
    # Chromium holds form-action against every hop of the redirect, and a web callback may hop on
    # to its desktop app's scheme (claude.ai does).
    hops = sorted(f"{scheme}:" for scheme in settings.HALO_APP_SCHEMES)
    return ["'self'", redirects.origin_for_csp(redirect_uri), *hops]


def _page(
    asked: AuthorizationRequest, memberships: list[Membership], chosen: Membership
) -> ConsentPage:
    return ConsentPage(
        request_id=str(asked.pk),
        client_name=asked.client.name,
        client_is_verified=is_verified(asked.client),
        client_origin=origin(asked.client),
        redirect=_destination(asked.redirect_uri),
        user_email=asked.user.email,
        organizations=_organizations(memberships, chosen),
        scope_groups=scope_groups(scopes.parse(asked.scope), chosen.organization_id),
        access_lifetime=_lifetime(),
        form_action=reverse("oauth_consent"),
    )


def is_verified(client: Client) -> bool:
    """Whether somebody here vouches for the name, or anyone could have chosen it."""
    return client.registration_source == Client.RegistrationSource.MANUAL


def origin(client: Client) -> str:
    """How the client came to be known here, in a sentence."""
    if client.registration_source == Client.RegistrationSource.MANUAL:
        return _("An admin registered it here.")
    if client.registration_source == Client.RegistrationSource.CIMD:
        # The one thing about it that is proven (draft-ietf-oauth-client-id-metadata-document-00,
        # section 6.4).
        return _("It describes itself at %(host)s.") % {"host": urlsplit(client.client_id).netloc}
    day = date_format(client.created, "DATE_FORMAT")
    return _("It registered itself on %(day)s.") % {"day": day}


def _destination(redirect_uri: str) -> RedirectDescription:
    described = redirects.describe(redirect_uri)
    if described.kind == "loopback":
        # The host is named as well: MCP authorization/security-considerations, "Localhost Redirect
        # URI Risks".
        words = _("a program on this computer (%(host)s)") % {"host": described.display_host}
        return described._replace(display_host=words)
    if described.kind == "app":
        app = described.display_host.title()
        return described._replace(display_host=_("the %(app)s app") % {"app": app})
    return described


def _organizations(
    memberships: list[Membership], chosen: Membership
) -> tuple[OrganizationChoice, ...]:
    return tuple(
        OrganizationChoice(
            id=str(place.organization_id),
            name=place.organization.name,
            role=place.get_role_display(),
            selected=place is chosen,
        )
        for place in memberships
    )


def scope_groups(scope: ScopeSet, organization_id: UUID) -> tuple[ScopeGroup, ...]:
    """Scopes in plain words, reading before acting, each with what it unlocks there today."""
    explainer = ports.scope_explainer()
    unlocked = explainer.tools(scope, organization_id)
    names = explainer.integration_names()
    choices = [_choice(one, tools, names) for one, tools in unlocked.items()]
    choices.sort(key=lambda choice: choice.kind != "read")
    titles = {"read": _("Look things up"), "act": _("Act for you")}
    return tuple(
        ScopeGroup(kind, titles[kind], tuple(members))
        for kind, members in groupby(choices, key=lambda choice: choice.kind)
    )


def _choice(scope: Scope, tools: Sequence[UnlockedTool], names: Mapping[str, str]) -> ScopeChoice:
    words = scopes.describe(scope, names)
    return ScopeChoice(
        value=str(scope),
        title=words.title,
        sentence=words.sentence,
        kind=words.kind,
        tools=tuple(tools),
        empty_reason=_("nothing behind it is connected and switched on."),
        checked=True,
    )


def _lifetime() -> str:
    minutes = max(1, settings.HALO_ACCESS_TOKEN_SECONDS // 60)
    hours, rest = divmod(minutes, 60)
    if rest:
        span = ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    else:
        span = ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}
    return _("Access lasts %(span)s at a time and renews itself until you revoke it.") % {
        "span": span
    }
