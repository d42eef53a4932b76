"""Who sends a request of the SDK API: a page with the widget key, or a server with a server key.

A page may add an identity token, which proves one customer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from rest_framework.request import Request

from foundation.limits import Verdict
from oauth import identity_tokens, server_keys
from oauth.endpoints.replies import address_of
from oauth.identity_tokens import Identity, InvalidToken
from oauth.principal import KeyKind, Unauthenticated
from rest.errors import ApiError, field_error
from rest.key_limits import charge_request, key_bucket, reject_key
from workspace import flags, organizations
from workspace.models import Organization

KEY_HEADER: Final = "X-Api-Key"
BEARER: Final = "bearer "
# Other text is in no row, and may be text that a database refuses.
WIDGET_KEY: Final = re.compile(r"[!-~]{1,80}")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a request presents: a widget key, and a bearer token of either kind."""

    widget_key: str = ""
    bearer: str = ""

    def __repr__(self) -> str:
        return "<Secrets>"

    @property
    def is_server(self) -> bool:
        return self.bearer.startswith(server_keys.PREFIXES[KeyKind.SDK])

    @property
    def key(self) -> str:
        """Returns what the rate limit of the request is counted by."""
        return self.bearer if self.is_server else self.widget_key


@dataclass(frozen=True, slots=True)
class SdkCaller:
    """Whose data a request writes, and whom it may name.

    A server may name every customer. A page may name the customer of its `identity`, and others
    only if the organization has switched identity verification off. `credential` names what it
    is authenticated by: a server key by its id. `is_page_trusted`: the organization lets its pages
    write what only servers may otherwise.
    """

    organization: Organization
    credential: str
    is_server: bool
    identity: Identity | None = None
    is_verifying: bool = True
    is_page_trusted: bool = False

    @property
    def is_trusted(self) -> bool:
        """Returns whether the id and email of the customer that it names are proven."""
        return self.is_server or self.identity is not None

    @property
    def may_claim_all(self) -> bool:
        """Returns whether traits that only a server may write are stored."""
        return self.is_server or self.is_page_trusted

    @property
    def claims(self) -> Mapping[str, Any]:
        return self.identity.claims if self.identity else {}


def read_secrets(request: Request) -> Secrets:
    """Returns the secrets in the headers of a request."""
    authorization = request.headers.get("Authorization", "")
    has_bearer = authorization.lower().startswith(BEARER)
    bearer = authorization[len(BEARER) :].strip(" \t") if has_bearer else ""
    return Secrets(request.headers.get(KEY_HEADER, ""), bearer)


def charge(request: Request, secrets: Secrets) -> None:
    """Charges a request to its address and its key. Raises ApiError."""
    of_key = key_bucket("sdk", secrets.key, settings.HALO_RATE_SDK)
    charge_request(address_of(request), of_key, Verdict.headers)


def authenticate(request: Request, secrets: Secrets, scope: str) -> SdkCaller:
    """Returns the caller of a request that writes. Raises ApiError."""
    if secrets.is_server:
        return _server(request, secrets, scope)
    organization = _find_organization(request, secrets)
    identity = None
    if secrets.bearer:
        try:
            identity = identity_tokens.identity(organization, secrets.bearer)
        except InvalidToken as problem:
            raise field_error(403, "user_token", str(problem)) from None
    chosen = organizations.read_flags(organization.pk)
    return SdkCaller(
        organization,
        "widget",
        is_server=False,
        identity=identity,
        is_verifying=chosen[flags.IDENTITY_VERIFICATION],
        is_page_trusted=chosen[flags.PAGE_ACCOUNT_TRAITS],
    )


def authenticate_update(request: Request, secrets: Secrets) -> SdkCaller:
    """Returns the caller of a bulk update: a server key, or a token with the scope users.update.

    Raises ApiError.
    """
    if secrets.is_server:
        return _server(request, secrets, server_keys.USERS_UPDATE)
    organization = _find_organization(request, secrets)
    try:
        identity_tokens.check_update(organization, secrets.bearer)
    except InvalidToken as problem:
        raise field_error(403, "user_token", str(problem)) from None
    return SdkCaller(organization, "update-token", is_server=True)


def _server(request: Request, secrets: Secrets, scope: str) -> SdkCaller:
    try:
        found = server_keys.authenticate(secrets.bearer)
    except Unauthenticated:
        raise _unknown(request, "server key") from None
    if scope not in found.scopes:
        raise ApiError(403, f"The server key needs the scope {scope}.")
    organization = Organization.objects.get(pk=found.organization_id)
    return SdkCaller(organization, str(found.key_id), is_server=True)


def _find_organization(request: Request, secrets: Secrets) -> Organization:
    rows = Organization.objects.filter(suspended_at__isnull=True)
    key = secrets.widget_key
    found = rows.filter(widget_key=key).first() if WIDGET_KEY.fullmatch(key) else None
    if found is None:
        raise _unknown(request, "widget key" if secrets.widget_key else "no key")
    return found


def _unknown(request: Request, detail: str) -> ApiError:
    return reject_key(
        "sdk_key_rejected",
        address=address_of(request),
        detail=detail,
        realm="halo-sdk",
        message=f"Send a valid widget key as {KEY_HEADER}, or a server key as bearer.",
    )
