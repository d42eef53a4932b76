"""The pages of keys: an organization's admins create, list and revoke them, for each API."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console import organization_choice
from console.organization_admins import for_admins
from console.organization_choice import OrganizationField
from oauth import addresses, expiry, server_keys
from oauth.endpoints import replies
from oauth.principal import KeyKind
from people import key_limits
from people.mcp import budget
from people.models import OrgUnit, ReferenceItem
from workspace.administration.access import organizations_administered
from workspace.models import Organization, User

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_LISTED: Final = 200
PAGE_OF_STAFF: Final = "admin:oauth_serverkey_changelist"


@dataclass(frozen=True, slots=True)
class KeysPage:
    """What differs between the pages; `chosen` are the scopes that a new key has if left as is.

    `addresses` are the paths at which a key is used, by their names.
    """

    kinds: tuple[KeyKind, ...]
    chosen: tuple[str, ...]
    listed_at: str
    revoked_at: str
    title: "StrOrPromise"
    lede: "StrOrPromise"
    hint: "StrOrPromise"
    created: "StrOrPromise"
    revoking: "StrOrPromise"
    addresses: Mapping["StrOrPromise", str] = field(default_factory=dict)


SDK: Final = KeysPage(
    server_keys.SDK_KINDS,
    (server_keys.SDK_WRITE,),
    "server_keys",
    "server_key_revoke",
    gettext_lazy("Server keys"),
    gettext_lazy(
        "Your own servers use these keys to send customers, tickets and events to Halo. "
        "Never put one on a web page."
    ),
    gettext_lazy("Where the key is used, such as Billing server."),
    gettext_lazy("Server key created"),
    gettext_lazy("Revoke a server key"),
)
HR: Final = KeysPage(
    server_keys.HR_KINDS,
    ("organisation:read", "people:read", "reference:read", "time_off:read"),
    "api_keys",
    "api_key_revoke",
    gettext_lazy("API keys"),
    gettext_lazy(
        "Programs and AI clients use these keys to read and change HR records. "
        "A key for the sandbox sees made-up people only. AI clients cannot sign in to the HR "
        "endpoint: enter the key in the client, as the header Authorization: Bearer."
    ),
    gettext_lazy("Where the key is used, such as Reporting."),
    gettext_lazy("API key created"),
    gettext_lazy("Revoke an API key"),
    {
        gettext_lazy("HR endpoint for AI clients"): "/w/{workspace}/api/mcp",
        gettext_lazy("HR API"): "/w/{workspace}/api/v1",
    },
)
AGENTS: Final = KeysPage(
    server_keys.AGENT_KINDS,
    ("docs:read", "setup:read", "data:read"),
    "agent_keys",
    "agent_key_revoke",
    gettext_lazy("Agent keys"),
    gettext_lazy(
        "Applications use these keys to talk to the agents of your organization. "
        "The permissions limit the tools that an agent may be given."
    ),
    gettext_lazy("Where the key is used, such as Support app."),
    gettext_lazy("Agent key created"),
    gettext_lazy("Revoke an agent key"),
    {gettext_lazy("Base URL"): settings.HALO_AGENTS_PATH},
)


@dataclass(frozen=True, slots=True)
class DataUseReport:
    """Records of people that left over MCP in 24 hours, with the name of the key of each hour."""

    organization: Organization
    total: int
    limit: int
    hours: list[tuple[str, budget.Hour]]


# A select that must have a value has no empty one.
EVERYBODY: Final = "everybody"
RECORDS: Final = {
    KeyKind.LIVE: gettext_lazy("Live records"),
    KeyKind.TEST: gettext_lazy("Sandbox, with made-up people"),
}


class NewKeyForm(forms.Form):
    """What an admin enters for a new key; `organizations` are those that they may choose."""

    organization = OrganizationField()
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    kind = forms.ChoiceField(label=gettext_lazy("Records"))
    scopes = forms.MultipleChoiceField(label=gettext_lazy("Permissions"))
    record_limit = forms.ChoiceField(label=gettext_lazy("People"), required=False)
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expiry"), choices=list(expiry.LIFETIMES.items()), coerce=int
    )

    def __init__(
        self, page: KeysPage, organizations: "list[Organization]", data: object = None
    ) -> None:
        super().__init__(data)  # type: ignore[arg-type]  # a QueryDict, or nothing
        if len(page.kinds) == 1:
            del self.fields["kind"]
        else:
            self.fields["kind"].choices = [(kind, RECORDS[kind]) for kind in page.kinds]  # type: ignore[attr-defined]  # a ChoiceField
        if page is HR:
            limits = [choice for one in organizations for choice in _list_limits(one)]
            choices = [(EVERYBODY, gettext_lazy("Everybody")), *limits]
            self.fields["record_limit"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField
        else:
            del self.fields["record_limit"]
        self.fields["scopes"].choices = list(server_keys.SCOPES[page.kinds[0]].items())  # type: ignore[attr-defined]  # a MultipleChoiceField
        organization_choice.offer(self, [one.pk for one in organizations])
        self.initial = {"scopes": list(page.chosen), "days": 365, "kind": page.kinds[0]}

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        limit = given.get("record_limit")
        if limit == EVERYBODY:
            limit = given["record_limit"] = ""
        if limit and given.get("kind") == KeyKind.TEST:
            self.add_error("record_limit", _("The sandbox has other people: choose everybody."))
        organization = given.get("organization")
        if limit and organization and key_limits.find_row(limit, organization.pk) is None:
            self.add_error("record_limit", _("This belongs to another organization."))
        return given


def _list_limits(organization: Organization) -> list[tuple[str, str]]:
    """The units and work places that a key can be limited to."""
    return [
        (key_limits.to_text(one), _describe_people(one, organization.name))
        for one in key_limits.list_choices(organization)
    ]


def _describe_people(row: OrgUnit | ReferenceItem, organization: str) -> str:
    """Which people: a department, a legal entity and a work place may have one name."""
    kind = row.get_type_display() if isinstance(row, OrgUnit) else _("Work place")
    named = {"name": row, "kind": kind, "organization": organization}
    return _("Only people of %(name)s (%(kind)s, %(organization)s)") % named


@require_http_methods(["GET", "HEAD", "POST"])
@for_admins(PAGE_OF_STAFF)
def index(request: HttpRequest, user: User, *, page: KeysPage) -> HttpResponse:
    """Lists the keys of the organizations that the user administers; POST creates one."""
    if request.method != "POST":
        return _list(request, user, page, NewKeyForm(page, _organizations(user)))
    form = NewKeyForm(page, _organizations(user), request.POST)
    if not form.is_valid():
        return _list(request, user, page, form)
    row = server_keys.build_row(**{"kind": page.kinds[0]} | form.cleaned_data)
    key = server_keys.issue(row, user=user, address=replies.address_of(request))
    used_at = {
        name: addresses.url(path.format(workspace=row.organization.slug))
        for name, path in page.addresses.items()
    }
    context = {"key": key, "page": page, "addresses": used_at, "listed_at": page.listed_at}
    return render(request, "console/server_key_shown.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_admins(PAGE_OF_STAFF)
def revoke(request: HttpRequest, user: User, *, page: KeysPage, key_id: UUID) -> HttpResponse:
    """Confirms and revokes a key. Another organization's key is a 404."""
    rows = server_keys.list_by_organization(organizations_administered(user), page.kinds)
    row = rows.filter(pk=key_id).first()
    if row is None:
        raise Http404
    if request.method != "POST":
        return render(request, "console/server_key_revoke.html", {"key": row, "page": page})
    if server_keys.revoke(row, user=user, address=replies.address_of(request)):
        messages.success(request, _("Revoked. Requests with this key are refused."))
    else:
        messages.info(request, _("This key was already revoked."))
    return redirect(page.listed_at)


def _list(request: HttpRequest, user: User, page: KeysPage, form: NewKeyForm) -> HttpResponse:
    rows = server_keys.list_by_organization(organizations_administered(user), page.kinds)
    keys = server_keys.list_with_status(rows[:MAX_LISTED])
    context: dict[str, Any] = {
        "form": form,
        "keys": [replace(one, limit=_describe_limit(one)) for one in keys],
        "page": page,
    }
    if page is HR:
        context["uses"] = [_use(one) for one in _organizations(user)]
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    return render(request, "console/server_keys.html", context, status=status)


def _describe_limit(key: server_keys.ListedKey) -> str:
    row = key.row
    if not row.record_limit:
        return ""
    named = key_limits.find_row(row.record_limit, row.organization_id)
    if named is None:
        return _("No people: what the key is limited to was deleted.")
    return _describe_people(named, row.organization.name)


def _use(organization: Organization) -> DataUseReport:
    """What an organization's AI clients were answered in the last 24 hours."""
    hours = budget.count_by_hour(organization.pk, timezone.now() - budget.WINDOW)
    keys = server_keys.list_by_organization([organization.pk], server_keys.HR_KINDS)
    names = dict(keys.values_list("pk", "name"))
    listed = [(names.get(one.key_id, ""), one) for one in hours]
    total = sum(one.rows for one in hours)
    return DataUseReport(organization, total, settings.HALO_HR_DAILY_ROWS, listed)


def _organizations(user: User) -> "list[Organization]":
    return list(Organization.objects.filter(pk__in=organizations_administered(user)))
