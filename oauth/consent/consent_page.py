"""The consent page: its content, and the values that its form submits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from oauth import addresses, durations
from oauth.clients import redirects
from oauth.clients.redirects import RedirectDescription
from oauth.consent import offered, remembered, scope_choices
from oauth.consent.authorization_request import default_scope
from oauth.consent.scope_choices import ScopeChoice, ScopeGroup
from oauth.endpoints import pages, replies
from oauth.grants import authorizations
from oauth.models import AuthorizationRequest, Client
from oauth.scopes import ScopeSet
from workspace.models import ACTIVE_MEMBERSHIP, Membership


@dataclass(frozen=True, slots=True)
class OrganizationChoice:
    id: str
    name: str
    role: str
    selected: bool


@dataclass(frozen=True, slots=True)
class ConsentAnswer:
    """The submitted values, kept when the page has to be shown again."""

    place: Membership
    ticked: frozenset[str]
    remember: bool


@dataclass(frozen=True, slots=True)
class RememberChoice:
    """The checkbox “don't ask again”, and a sentence on its effect."""

    sentence: str
    checked: bool


@dataclass(frozen=True, slots=True)
class ConsentPage:
    """The context of `templates/oauth/consent.html`."""

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
    project: str = ""  # the name of the project that is the resource
    is_extensible: bool = False  # whether tools that the project gains later are requested, too
    notice: str = ""
    problem: str = ""

    @property
    def shown_organization(self) -> str:
        """The organization whose tools are listed; the form submits it again."""
        return next((place.id for place in self.organizations if place.selected), "")

    @property
    def offered_scopes(self) -> str:
        """The scopes that the page lists; the form submits them again."""
        return " ".join(choice.value for group in self.scope_groups for choice in group.choices)

    @property
    def included_scopes(self) -> str:
        """The scopes that the page marks as included in others; the form submits them again."""
        choices = [choice for group in self.scope_groups for choice in group.choices]
        return " ".join(choice.value for choice in choices if choice.held_by)


def show(
    request: HttpRequest, asked: AuthorizationRequest, named: ScopeSet, *, notice: str = ""
) -> HttpResponse:
    """Shows the page with the scopes selected that read, and those that the client named."""
    memberships = open_memberships(asked)
    if not memberships:
        if addresses.project_of(asked.resource) is None:
            return pages.no_organization(request)
        return pages.no_project(request)
    selected = offered.initial_selection(asked, named)
    place = _first_choice(asked, memberships)
    page = _page(asked, memberships, ConsentAnswer(place, selected, remember=False))
    return _render_page(request, asked, replace(page, notice=notice))


def _first_choice(asked: AuthorizationRequest, memberships: Sequence[Membership]) -> Membership:
    """The organization that the client was connected to last, else the one that came first."""
    if len(memberships) > 1:
        last = authorizations.last_organization(asked.client, asked.user)
        memberships = sorted(memberships, key=lambda one: one.organization_id != last)
    return memberships[0]


def show_again(
    request: HttpRequest,
    asked: AuthorizationRequest,
    answer: ConsentAnswer,
    *,
    notice: str = "",
    problem: str = "",
) -> HttpResponse:
    """Return the page with the submitted values and with what is new or invalid on it."""
    page = _page(asked, open_memberships(asked), answer)
    response = _render_page(request, asked, replace(page, notice=notice, problem=problem))
    response.status_code = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return response


def _render_page(
    request: HttpRequest, asked: AuthorizationRequest, page: ConsentPage
) -> HttpResponse:
    response = render(request, "oauth/consent.html", {"page": page})
    targets = {"form-action": _form_targets(asked.redirect_uri)}
    response._csp_replace = targets  # type: ignore[attr-defined]  # django-csp reads it there
    response["Referrer-Policy"] = "no-referrer"
    return replies.private(response)


def open_memberships(asked: AuthorizationRequest) -> list[Membership]:
    """Returns the user's active memberships.

    For a project, only the one in its organization: none for a project that does not exist.
    """
    rows = asked.user.memberships.select_related("organization")
    rows = rows.filter(ACTIVE_MEMBERSHIP).order_by("created_at")
    if addresses.project_of(asked.resource) is None:
        return list(rows)
    project = offered.project_of(asked)
    return list(rows.filter(organization=project.organization_id)) if project else []


def _form_targets(redirect_uri: str) -> list[str]:
    # Chromium applies form-action to every hop of the redirect, and a web callback may redirect to
    # the scheme of a desktop app (claude.ai does).
    hops = sorted(f"{scheme}:" for scheme in settings.HALO_APP_SCHEMES)
    return ["'self'", redirects.origin_for_csp(redirect_uri), *hops]


def _page(
    asked: AuthorizationRequest, memberships: list[Membership], answer: ConsentAnswer
) -> ConsentPage:
    groups = scope_choices.groups(offered.get_scopes(asked), answer.place.organization_id)
    project = offered.project_of(asked)
    return ConsentPage(
        request_id=str(asked.pk),
        client_name=asked.client.name,
        client_is_verified=is_verified(asked.client),
        client_origin=origin(asked.client),
        redirect=_destination(asked.redirect_uri),
        user_email=asked.user.email,
        organizations=_organizations(memberships, answer.place),
        earlier=_earlier(asked.client, answer.place),
        scope_groups=_apply_selection(asked, groups, answer.ticked),
        access_lifetime=_lifetime(),
        time_to_answer=_time_to_answer(),
        remember=_remember_choice(asked, answer),
        form_action=reverse("oauth_consent"),
        same_request=same_request(asked),
        project=project.name if project else "",
        is_extensible=offered.is_extensible(asked),
    )


def same_request(asked: AuthorizationRequest) -> str:
    """Returns the same request, for use after signing in with another account.

    It names no default scope: what the client did not ask for by name must not be selected.
    """
    default = default_scope(asked.client, addresses.project_of(asked.resource))
    parameters = {
        "response_type": "code",
        "client_id": asked.client.client_id,
        "redirect_uri": asked.redirect_uri,
        "resource": asked.resource,
        "code_challenge": asked.code_challenge,
        "code_challenge_method": "S256",
        "prompt": "consent",  # the page must be shown, whatever is remembered
        **({} if asked.scope == str(default) else {"scope": asked.scope}),
        **({} if asked.state is None else {"state": asked.state}),
    }
    return f"{reverse('oauth_authorize')}?{urlencode(parameters)}"


def find_included_scopes(asked: AuthorizationRequest, ticked: frozenset[str]) -> dict[str, str]:
    """Returns the cleared scopes that a selected scope includes, each with that scope."""
    choices = offered.get_scopes(asked)
    left = [scope for scope in choices if str(scope) in ticked]
    return {
        str(scope): str(wider)
        for scope in choices
        for wider in left
        if str(scope) not in ticked and ScopeSet((wider,)).covers(scope)
    }


def _apply_selection(
    asked: AuthorizationRequest, groups: Sequence[ScopeGroup], ticked: frozenset[str]
) -> tuple[ScopeGroup, ...]:
    titles = {choice.value: choice.title for group in groups for choice in group.choices}
    included, added = find_included_scopes(asked, ticked), set(map(str, offered.additions(asked)))

    def update_choice(choice: ScopeChoice) -> ScopeChoice:
        return replace(
            choice,
            checked=choice.value in ticked,
            is_added=choice.value in added,
            held_by=titles.get(included.get(choice.value, ""), ""),
        )

    return tuple(
        replace(group, choices=tuple(update_choice(choice) for choice in group.choices))
        for group in groups
    )


def _earlier(client: Client, place: Membership) -> str:
    """Returns the number of earlier connections of the client; approving does not change them."""
    living = list(authorizations.living(client, place).values_list("created_at", flat=True))
    if not living:
        return ""
    words = ngettext(
        "Already connected (%(day)s). Approving adds a second connection.",
        "Already connected (%(n)d times, most recently %(day)s). Approving adds another "
        "connection.",
        len(living),
    )
    return words % {"n": len(living), "day": _short_date(living[0])}


def _short_date(moment: datetime) -> str:
    return date_format(moment, "M j" if moment.year == timezone.now().year else "M j, Y")


def _remember_choice(asked: AuthorizationRequest, answer: ConsentAnswer) -> RememberChoice | None:
    if not remembered.may_be_kept(asked.client, asked.redirect_uri):
        return None
    days = settings.HALO_REMEMBER_CONSENT_DAYS
    words = ngettext(
        "For %(n)d day, identical requests that redirect to %(host)s are approved without asking. "
        "You can undo this under Connections.",
        "For %(n)d days, identical requests that redirect to %(host)s are approved without asking. "
        "You can undo this under Connections.",
        days,
    )
    host = redirects.describe(asked.redirect_uri).display_host
    return RememberChoice(words % {"n": days, "host": host}, answer.remember)


def is_verified(client: Client) -> bool:
    """Whether an admin registered the client; if not, anyone could have chosen its name."""
    return client.registration_source == Client.RegistrationSource.MANUAL


def origin(client: Client) -> str:
    """How the client was registered, in a sentence."""
    if client.registration_source == Client.RegistrationSource.MANUAL:
        return _("Registered by an administrator.")
    if client.registration_source == Client.RegistrationSource.CIMD:
        # The only verified part (draft-ietf-oauth-client-id-metadata-document-00, section 6.4).
        return _("Its description is published at %(host)s.") % {
            "host": urlsplit(client.client_id).netloc
        }
    day = date_format(client.created, "DATE_FORMAT")
    site = client.metadata.get("client_uri")
    if not site:
        return _("It registered itself on %(day)s.") % {"day": day}
    # No proof of identity, but a name on another host than the metadata is suspicious.
    words = _(
        "It registered itself on %(day)s. It claims to be from %(host)s. We could not verify that."
    )
    return words % {"day": day, "host": redirects.describe(site).display_host}


def _destination(redirect_uri: str) -> RedirectDescription:
    described = redirects.describe(redirect_uri)
    if described.kind == "loopback":
        # The page names the host as well: MCP authorization/security-considerations, "Localhost
        # Redirect URI Risks".
        words = _("a program on this computer (%(host)s)") % {"host": described.display_host}
        return described._replace(display_host=words)
    if described.kind == "app":
        # Any program can claim a scheme, so the page names the scheme and no program.
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


def _lifetime() -> str:
    span = durations.to_words(settings.HALO_ACCESS_TOKEN_SECONDS)
    return _("Access tokens last %(span)s and renew until you revoke access.") % {"span": span}


def _time_to_answer() -> str:
    span = durations.to_words(settings.HALO_CONSENT_SECONDS)
    return _("This request expires in %(span)s.") % {"span": span}
