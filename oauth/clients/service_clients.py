"""Service clients: programs with credentials and a member of their own, and no person behind them.

An admin of an organization creates one. Its access tokens are issued under one authorization, so
they are verified as those of all clients are (`oauth/grants/grant_conditions.py`). Source: RFC 6749
section 4.4; MCP extension io.modelcontextprotocol/oauth-client-credentials.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from audit import record
from foundation import ids
from oauth import addresses, scopes
from oauth.clients import clients
from oauth.consent import grantable
from oauth.errors import InvalidGrant, InvalidScope, UnauthorizedClient
from oauth.grants import authorizations, grant_conditions, tokens
from oauth.models import AuthMethod, Authorization, Client, ServiceClient
from oauth.scopes import ScopeSet
from workspace import changes, organizations
from workspace.models import Organization, User

# No mail is delivered to this domain (RFC 2606 section 2).
DOMAIN: Final = "programs.invalid"
KEY: Final = AuthMethod.KEY
METHODS: Final = (AuthMethod.BASIC, AuthMethod.POST, KEY)


@dataclass(frozen=True, slots=True)
class NewServiceClient:
    """A service client and its secret, which cannot be read again; None with keys of its own."""

    row: ServiceClient
    secret: str | None

    def __repr__(self) -> str:
        return f"<NewServiceClient {self.row.pk}>"


@dataclass(frozen=True, slots=True)
class ListedClient:
    """A service client in a list, and its status: active, disabled or ended."""

    row: ServiceClient
    status: str

    @property
    def has_keys(self) -> bool:
        return self.row.client.auth_method == KEY

    @property
    def scope(self) -> ScopeSet:
        return scopes.parse(self.row.authorization.scope)


@transaction.atomic
def create(
    organization: Organization,
    *,
    name: str,
    method: str,
    scope: ScopeSet,
    jwks: Mapping[str, Any] | None,
    user: User,
    address: str,
) -> NewServiceClient:
    """Creates a service client with its member, whose role is Member.

    Raises InvalidScope for no scope and for one that cannot be granted for the workspace.
    """
    if not scope or grantable.only(scope) != scope or any(one.project for one in scope):
        raise InvalidScope("A service client has scopes of the workspace, and at least one.")
    client = Client.objects.create(
        client_id=ids.opaque(clients.CLIENT_ID),
        name=name,
        auth_method=method,
        registration_source=Client.RegistrationSource.MANUAL,
        registered_from=address,
    )
    member = User.objects.create_user(f"{client.pk}@{DOMAIN}", name=name, is_program=True)
    authorization = Authorization.objects.create(
        client=client,
        user=member,
        organization=organization,
        membership=organizations.join(organization, member),
        scope=str(scope),
        resource=addresses.resource(),
    )
    row = ServiceClient.objects.create(
        organization=organization,
        client=client,
        authorization=authorization,
        jwks=jwks if method == AuthMethod.KEY else None,
        created_by=user,
    )
    secret = None if method == AuthMethod.KEY else clients.rotate_secret(client)
    _record("service_client_created", row, user, address)
    return NewServiceClient(row, secret)


def issue_token(client: Client, *, scope: str | None, resource: str | None) -> dict[str, object]:
    """Returns the response with an access token for an authenticated client (RFC 6749 4.4.3).

    Raises UnauthorizedClient for a client of another kind, InvalidGrant if its authorization is not
    active, InvalidTarget and InvalidScope.
    """
    rows = ServiceClient.objects.select_related("authorization")
    service = rows.filter(client=client).first()
    if service is None:
        raise UnauthorizedClient(
            "This client may not use client_credentials: an admin creates a service client for it."
        )
    authorization = service.authorization
    authorizations.require_resource(authorization, resource)
    if not Authorization.objects.filter(grant_conditions.active(), pk=authorization.pk).exists():
        raise InvalidGrant("An admin has disabled or deleted this client.")
    body = tokens.issue_access(authorization, _granted_scopes(authorization, scope))
    ServiceClient.objects.filter(pk=service.pk).update(last_used_at=timezone.now())
    Client.objects.filter(pk=client.pk, first_token_at=None).update(first_token_at=timezone.now())
    return body


def list_by_organization(organization_ids: Iterable[UUID]) -> QuerySet[ServiceClient]:
    """Returns the service clients of these organizations, the newest first."""
    rows = ServiceClient.objects.filter(organization__in=list(organization_ids))
    return rows.select_related("organization", "client", "authorization").order_by("-pk")


def list_with_status(rows: Iterable[ServiceClient]) -> list[ListedClient]:
    rows = list(rows)
    grants = Authorization.objects.filter(pk__in=[row.authorization_id for row in rows])
    failing = {row.pk: grant_conditions.failing(row) for row in grant_conditions.annotate(grants)}
    return [ListedClient(row, _status(failing[row.authorization_id])) for row in rows]


def replace_secret(row: ServiceClient, *, user: User, address: str) -> str:
    """Replaces the secret; returns the new one. The old one is refused from now on."""
    secret = clients.rotate_secret(row.client)
    _record("client_secret_rotated", row, user, address)
    return secret


def replace_keys(row: ServiceClient, jwks: Mapping[str, Any], *, user: User, address: str) -> None:
    """Replaces the public keys; assertions that the former keys signed are refused from now on."""
    row.jwks = dict(jwks)
    row.save(update_fields=["jwks"])
    _record("service_client_keys_replaced", row, user, address)


def switch(row: ServiceClient, *, is_on: bool, user: User, address: str) -> bool:
    """Enables or disables a service client; returns whether that changed anything."""
    rows = Client.objects.filter(pk=row.client_id, disabled_at__isnull=not is_on)
    if not rows.update(disabled_at=None if is_on else timezone.now()):
        return False
    changes.publish([row.organization_id])
    _record("client_enabled" if is_on else "client_disabled", row, user, address)
    return True


@transaction.atomic
def end(row: ServiceClient, *, user: User, address: str) -> bool:
    """Ends a service client for good with its member; returns whether it was active before."""
    if not authorizations.revoke(row.authorization_id, reason="revoked_by_admin"):
        return False
    member = User.objects.filter(pk=row.authorization.user_id, is_program=True)
    member.update(is_active=False)
    row.authorization.user.memberships.all().delete()
    _record("service_client_ended", row, user, address)
    return True


def _granted_scopes(authorization: Authorization, requested: str | None) -> ScopeSet:
    """Returns those of the requested scopes that the client has.

    Clients request the scope of the challenge, which names more than some have. The response names
    what was granted (RFC 6749 section 3.3). Raises InvalidScope if that is nothing.
    """
    held = scopes.parse(authorization.scope)
    granted = held if requested is None else held.intersect(grantable.parse(requested))
    if not granted:
        raise InvalidScope(f"This service client has none of the requested scopes, but {held}.")
    return granted


def _status(failing: tuple[grant_conditions.GrantCondition, ...]) -> str:
    if any(condition.is_final for condition in failing):
        return "ended"
    return "disabled" if failing else "active"


def _record(kind: str, row: ServiceClient, user: User, address: str) -> None:
    record.security_event(
        kind,
        address=address,
        subject=str(row.pk),
        organization_id=str(row.organization_id),
        client_id=row.client.client_id,
        user_id=str(user.pk),
        detail=f"{row.client.name} ({row.authorization.scope})",
    )
