"""The consent page: what is shown of a request, and nothing that the form could widen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import groupby
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from oauth import (
    authorizations,
    durations,
    pages,
    ports,
    redirects,
    remembered,
    replies,
    scopes,
)
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
    held_by: str = ""  # the title of a scope that is ticked and includes this one, which is not

    @property
    def is_empty(self) -> bool:
        return not self.tools


@dataclass(frozen=True, slots=True)
class ScopeGroup:
    kind: str
    title: str
    choices: tuple[ScopeChoice, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the form says so far: it is kept when the page has to be shown again."""

    place: Membership
    ticked: frozenset[str]
    remember: bool


@dataclass(frozen=True, slots=True)
class RememberChoice:
    """The box “don't ask again”, and in a sentence what it would and would not do."""

    sentence: str
    checked: bool


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
    earlier: str
    scope_groups: tuple[ScopeGroup, ...]
    access_lifetime: str
    time_to_answer: str
    remember: RememberChoice | None
    form_action: str
    same_request: str
    notice: str = ""
    problem: str = ""

    @property
    def shown(self) -> str:
        """The organization whose tools are listed; the form says it back."""
        return next((place.id for place in self.organizations if place.selected), "")

    @property
    def held(self) -> str:
        """The scopes of which the page says that unticking takes nothing; the form says it back."""
        choices = [choice for group in self.scope_groups for choice in group.choices]
        return " ".join(choice.value for choice in choices if choice.held_by)


def show(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    """Ask the person, everything ticked that the client asks for."""
    memberships = open_memberships(asked.user)
    if not memberships:
        return pages.no_organization(request)
    everything = frozenset(map(str, scopes.parse(asked.scope)))
    page = _page(asked, memberships, Answer(memberships[0], everything, remember=False))
    return _rendered(request, asked, page)


def show_again(
    request: HttpRequest,
    asked: AuthorizationRequest,
    answer: Answer,
    *,
    notice: str = "",
    problem: str = "",
) -> HttpResponse:
    """Ask once more with the form as it was left: what is new on it, or what is to be mended."""
    page = _page(asked, open_memberships(asked.user), answer)
    response = _rendered(request, asked, replace(page, notice=notice, problem=problem))
    response.status_code = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return response


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
    asked: AuthorizationRequest, memberships: list[Membership], answer: Answer
) -> ConsentPage:
    groups = scope_groups(scopes.parse(asked.scope), answer.place.organization_id)
    return ConsentPage(
        request_id=str(asked.pk),
        client_name=asked.client.name,
        client_is_verified=is_verified(asked.client),
        client_origin=origin(asked.client),
        redirect=_destination(asked.redirect_uri),
        user_email=asked.user.email,
        organizations=_organizations(memberships, answer.place),
        earlier=_earlier(asked.client, answer.place),
        scope_groups=_as_left(groups, held(asked, answer.ticked), answer.ticked),
        access_lifetime=_lifetime(),
        time_to_answer=_time_to_answer(),
        remember=_remember_choice(asked, answer),
        form_action=reverse("oauth_consent"),
        same_request=_same_request(asked),
    )


def _same_request(asked: AuthorizationRequest) -> str:
    """The request once more, for whoever signs in after the person who is not the right one."""
    parameters = {
        "response_type": "code",
        "client_id": asked.client.client_id,
        "redirect_uri": asked.redirect_uri,
        "scope": asked.scope,
        "resource": asked.resource,
        "code_challenge": asked.code_challenge,
        "code_challenge_method": "S256",
        "prompt": "consent",  # this page was to be shown, whatever is remembered
        **({} if asked.state is None else {"state": asked.state}),
    }
    return f"{reverse('oauth_authorize')}?{urlencode(parameters)}"


def held(asked: AuthorizationRequest, ticked: frozenset[str]) -> dict[str, str]:
    """What is unticked and allowed all the same, each with the ticked scope that includes it."""
    offered = scopes.parse(asked.scope)
    left = [scope for scope in offered if str(scope) in ticked]
    return {
        str(scope): str(wider)
        for scope in offered
        for wider in left
        if str(scope) not in ticked and ScopeSet((wider,)).covers(scope)
    }


def _as_left(
    groups: Sequence[ScopeGroup], held: Mapping[str, str], ticked: frozenset[str]
) -> tuple[ScopeGroup, ...]:
    titles = {choice.value: choice.title for group in groups for choice in group.choices}

    def left(choice: ScopeChoice) -> ScopeChoice:
        wider = titles.get(held.get(choice.value, ""), "")
        return replace(choice, checked=choice.value in ticked, held_by=wider)

    return tuple(
        replace(group, choices=tuple(left(choice) for choice in group.choices)) for group in groups
    )


def _earlier(client: Client, place: Membership) -> str:
    """What this client has there already, which an approval neither widens nor replaces."""
    living = list(authorizations.living(client, place).values_list("created_at", flat=True))
    if not living:
        return ""
    words = ngettext(
        "You connected it there on %(day)s already. Approving adds a second connection and leaves "
        "that one as it is.",
        "It has %(n)d connections there already, the latest since %(day)s. Approving adds another "
        "and leaves those as they are.",
        len(living),
    )
    return words % {"n": len(living), "day": date_format(living[0], "DATE_FORMAT")}


def _remember_choice(asked: AuthorizationRequest, answer: Answer) -> RememberChoice | None:
    if not remembered.may_be_kept(asked.client, asked.redirect_uri):
        return None
    days = settings.HALO_REMEMBER_CONSENT_DAYS
    words = ngettext(
        "For %(n)d day it gets this access again without asking you, if it asks for exactly this "
        "and the answer goes to %(host)s. Under Connections you can have it ask again.",
        "For %(n)d days it gets this access again without asking you, if it asks for exactly this "
        "and the answer goes to %(host)s. Under Connections you can have it ask again.",
        days,
    )
    host = redirects.describe(asked.redirect_uri).display_host
    return RememberChoice(words % {"n": days, "host": host}, answer.remember)


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
    site = client.metadata.get("client_uri")
    if not site:
        return _("It registered itself on %(day)s.") % {"day": day}
    # No proof of anything, but a name of one's own that does not fit is a sign.
    words = _("It registered itself on %(day)s and says that it belongs to %(host)s. Anyone can.")
    return words % {"day": day, "host": redirects.describe(site).display_host}


def _destination(redirect_uri: str) -> RedirectDescription:
    described = redirects.describe(redirect_uri)
    if described.kind == "loopback":
        # The host is named as well: MCP authorization/security-considerations, "Localhost Redirect
        # URI Risks".
        words = _("a program on this computer (%(host)s)") % {"host": described.display_host}
        return described._replace(display_host=words)
    if described.kind == "app":
        # Any program can claim a scheme, so the page names the scheme and vouches for no program.
        words = _("an app on this device (%(scheme)s:)") % {"scheme": described.display_host}
        return described._replace(display_host=words)
    return described


def _organizations(
    memberships: list[Membership], chosen: Membership
) -> tuple[OrganizationChoice, ...]:
    return tuple(
        OrganizationChoice(
            id=str(place.organization_id),
            name=place.organization.name,
            role=place.get_role_display(),
            selected=place.pk == chosen.pk,
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
    span = durations.in_words(settings.HALO_ACCESS_TOKEN_SECONDS)
    return _("Access lasts %(span)s at a time and renews itself until you revoke it.") % {
        "span": span
    }


def _time_to_answer() -> str:
    span = durations.in_words(settings.HALO_CONSENT_SECONDS)
    return _("This page can be answered for %(span)s.") % {"span": span}
