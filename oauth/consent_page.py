"""The consent page: what is shown of a request, and nothing that the form could widen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlsplit

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
from oauth.scopes import Scope
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


def show(
    request: HttpRequest, asked: AuthorizationRequest, *, problem: str = "", status: int = 200
) -> HttpResponse:
    """Ask the person. `problem` says what to mend when the last answer could not be taken."""
    memberships = list(open_memberships(asked.user))
    if not memberships:
        return pages.no_organization(request)
    page = _page(asked, memberships, problem)
    response = render(request, "oauth/consent.html", {"page": page}, status=status)
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


def _page(asked: AuthorizationRequest, memberships: list[Membership], problem: str) -> ConsentPage:
    return ConsentPage(
        request_id=str(asked.pk),
        client_name=asked.client.name,
        client_is_verified=asked.client.registration_source == Client.RegistrationSource.MANUAL,
        client_origin=_origin(asked.client),
        redirect=_destination(asked.redirect_uri),
        user_email=asked.user.email,
        organizations=_organizations(memberships),
        scope_groups=_groups(asked, memberships[0]),
        access_lifetime=_lifetime(),
        form_action=reverse("oauth_consent"),
        problem=problem,
    )


def _origin(client: Client) -> str:
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


def _organizations(memberships: list[Membership]) -> tuple[OrganizationChoice, ...]:
    return tuple(
        OrganizationChoice(
            id=str(place.organization_id),
            name=place.organization.name,
            role=place.get_role_display(),
            selected=index == 0,
        )
        for index, place in enumerate(memberships)
    )


def _groups(asked: AuthorizationRequest, place: Membership) -> tuple[ScopeGroup, ...]:
    explainer = ports.scope_explainer()
    unlocked = explainer.tools(scopes.parse(asked.scope), place.organization_id)
    names = explainer.integration_names()
    choices = [_choice(scope, tools, names) for scope, tools in unlocked.items()]
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
