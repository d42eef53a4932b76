"""The pages of service clients: an organization's admins create, change and end them."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from console import organization_choice
from console.organization_admins import for_admins
from console.organization_choice import OrganizationField
from console.personal_tokens import ScopesForm
from oauth import addresses, scopes
from oauth.clients import service_clients
from oauth.clients.service_clients import ListedClient, NewServiceClient
from oauth.consent import scope_choices
from oauth.endpoints import replies
from workspace.administration.access import organizations_administered
from workspace.models import User

ClientPage: TypeAlias = Callable[[HttpRequest, User, ListedClient], HttpResponse]

MAX_LISTED: Final = 200
PAGE_OF_STAFF: Final = "admin:oauth_serviceclient_changelist"
METHODS: Final = {
    service_clients.METHODS[0]: gettext_lazy("A secret, in the Authorization header"),
    service_clients.METHODS[1]: gettext_lazy("A secret, in the request body"),
    service_clients.KEY: gettext_lazy("A private key of its own, with a signed assertion"),
}


class KeysField(forms.CharField):
    """Public keys as a JWK Set."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        from oauth.clients import assertions  # noqa: PLC0415  few requests need PyJWT

        try:
            return assertions.parse_keys(text)
        except assertions.InvalidKeys as refused:
            raise forms.ValidationError(str(refused)) from refused


class KeysForm(forms.Form):
    """The keys that replace those of a service client."""

    jwks = KeysField(label=gettext_lazy("Public keys (JWK Set)"))


class NewClientForm(ScopesForm):
    """What an admin enters for a new service client."""

    organization = OrganizationField()
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    method = forms.ChoiceField(label=gettext_lazy("Authentication"), choices=list(METHODS.items()))
    jwks = KeysField(label=gettext_lazy("Public keys (JWK Set)"), required=False)

    def __init__(self, user: User, data: object = None) -> None:
        super().__init__(data)
        organization_choice.offer(self, organizations_administered(user))
        self.initial = {"scopes": [str(one) for one in scopes.ADVERTISED]}

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        is_without_keys = not given.get("jwks") and "jwks" not in self.errors
        if given.get("method") == service_clients.KEY and is_without_keys:
            self.add_error("jwks", _("Enter the public keys of the program."))
        return given


def _client_required(page: ClientPage) -> Callable[[HttpRequest, UUID], HttpResponse]:
    """Requires an admin of the client's organization, and a client that has not ended."""

    @wraps(page)
    def wrapper(request: HttpRequest, user: User, client_id: UUID) -> HttpResponse:
        rows = service_clients.list_by_organization(organizations_administered(user))
        row = rows.filter(pk=client_id).first()
        if row is None:
            raise Http404
        (client,) = service_clients.list_with_status([row])
        if client.status == "ended":
            messages.info(request, _("This service client was already deleted."))
            return redirect("service_clients")
        return page(request, user, client)

    return for_admins(PAGE_OF_STAFF)(wrapper)


@require_http_methods(["GET", "HEAD", "POST"])
@for_admins(PAGE_OF_STAFF)
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the service clients of the user's organizations; POST creates one."""
    if request.method != "POST":
        return _list(request, user, NewClientForm(user))
    form = NewClientForm(user, request.POST)
    if not form.is_valid():
        return _list(request, user, form)
    given = form.cleaned_data
    created = service_clients.create(
        given["organization"],
        name=given["name"],
        method=given["method"],
        scope=given["scopes"],
        jwks=given["jwks"],
        user=user,
        address=replies.address_of(request),
    )
    return _credentials(request, created)


@require_http_methods(["GET", "HEAD", "POST"])
@_client_required
def credentials(request: HttpRequest, user: User, client: ListedClient) -> HttpResponse:
    """Replaces the secret of a service client, or its public keys."""
    row, has_keys = client.row, client.has_keys
    form = KeysForm(request.POST if request.method == "POST" else None)
    context = {"client": row, "form": form if has_keys else None}
    if request.method != "POST":
        return render(request, "console/service_client_credentials.html", context)
    address = replies.address_of(request)
    if not has_keys:
        secret = service_clients.replace_secret(row, user=user, address=address)
        return _credentials(request, NewServiceClient(row, secret))
    if not form.is_valid():
        template, status = "console/service_client_credentials.html", HTTPStatus.BAD_REQUEST
        return render(request, template, context, status=status)
    service_clients.replace_keys(row, form.cleaned_data["jwks"], user=user, address=address)
    messages.success(request, _("Replaced. Assertions that other keys signed are refused."))
    return redirect("service_clients")


@require_POST
@_client_required
def switch(request: HttpRequest, user: User, client: ListedClient) -> HttpResponse:
    """Disables a service client, or enables it with `on` in the form."""
    is_on = "on" in request.POST
    service_clients.switch(client.row, is_on=is_on, user=user, address=replies.address_of(request))
    on, off = _("Enabled."), _("Disabled. Its tokens are refused until you enable it.")
    messages.success(request, on if is_on else off)
    return redirect("service_clients")


@require_http_methods(["GET", "HEAD", "POST"])
@_client_required
def end(request: HttpRequest, user: User, client: ListedClient) -> HttpResponse:
    """Confirms and ends a service client."""
    if request.method != "POST":
        return render(request, "console/service_client_end.html", {"client": client.row})
    service_clients.end(client.row, user=user, address=replies.address_of(request))
    messages.success(request, _("Deleted. Requests of this service client are refused."))
    return redirect("service_clients")


def _credentials(request: HttpRequest, shown: NewServiceClient) -> HttpResponse:
    context = {
        "client": shown.row,
        "secret": shown.secret,
        "token_url": addresses.url("/api/mcp/oauth/token"),
        "url": addresses.resource(),
        "listed_at": "service_clients",
    }
    return render(request, "console/service_client_shown.html", context)


def _list(request: HttpRequest, user: User, form: NewClientForm) -> HttpResponse:
    rows = service_clients.list_by_organization(organizations_administered(user))[:MAX_LISTED]
    clients = service_clients.list_with_status(rows)
    names = scope_choices.names({scope for client in clients for scope in client.scope})
    described = [
        (client, ", ".join(scopes.describe(scope, names).title for scope in client.scope))
        for client in clients
    ]
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    context = {"form": form, "clients": described}
    return render(request, "console/service_clients.html", context, status=status)
