"""Authorizations: the root of a token family. Created by one consent, revoked by one UPDATE."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from audit import record
from oauth import addresses
from oauth.errors import InvalidTarget
from oauth.grants import grant_conditions
from oauth.grants.grant_conditions import NOT_REVOKED
from oauth.models import Authorization, AuthorizationRequest, Client, Grant, RefreshToken
from oauth.scopes import ScopeSet
from workspace import changes
from workspace.models import Membership, User


def lasts_until(authorization: Authorization) -> datetime:
    """Returns when the token family of a consent ends, however often it is refreshed."""
    return authorization.created_at + timedelta(days=settings.HALO_REFRESH_MAX_DAYS)


def idle_until(refreshed_at: datetime) -> datetime:
    """Returns when a refresh token that is issued now ends, unless it is used before."""
    return refreshed_at + timedelta(days=settings.HALO_REFRESH_IDLE_DAYS)


def list_expired(now: datetime) -> QuerySet[Authorization]:
    """Returns authorizations that are too old, or whose tokens were not refreshed for too long.

    An authorization without any refresh token has not been used yet, and is only too old. That of
    a service client does not expire.
    """
    oldest = now - timedelta(days=settings.HALO_REFRESH_MAX_DAYS)
    oldest_token = now - timedelta(days=settings.HALO_REFRESH_IDLE_DAYS)
    tokens = RefreshToken.objects.filter(authorization=OuterRef("pk"))
    is_idle = Exists(tokens) & ~Exists(tokens.filter(created__gt=oldest_token))
    too_old = Q(created_at__lte=oldest)
    return Authorization.objects.filter(too_old | is_idle, NOT_REVOKED.q(), service=None)


def give(request: AuthorizationRequest, membership: Membership, scope: ScopeSet) -> Authorization:
    """Creates the authorization of a consent."""
    return Authorization.objects.create(
        client=request.client,
        user=membership.user,
        organization=membership.organization,
        membership=membership,
        scope=str(scope),
        resource=request.resource,
    )


def living(client: Client, membership: Membership) -> QuerySet[Authorization]:
    """Returns the active authorizations of a client for a user's membership, newest first."""
    rows = Authorization.objects.filter(client=client, membership=membership)
    return rows.filter(grant_conditions.not_ended()).order_by("-pk")


def last_organization(client: Client, user: User) -> UUID | None:
    """Returns the organization that a user connected a client to last, None for the first time."""
    rows = Authorization.objects.filter(client=client, user=user).order_by("-pk")
    return rows.values_list("organization", flat=True).first()


def revoke(authorization_id: UUID, *, reason: str) -> bool:
    """Revokes a token family and its credentials; returns False if it was revoked before."""
    rows = Authorization.objects.filter(pk=authorization_id)
    in_force = rows.filter(NOT_REVOKED.q())
    if not in_force.update(revoked_at=timezone.now(), revoke_reason=reason):
        return False
    changes.publish(rows.values_list("organization", flat=True))
    return True


def is_active(credential: Grant | RefreshToken) -> bool:
    """Returns whether the grant of a code or refresh token is active."""
    rows = type(credential).objects.filter(pk=credential.pk)
    return rows.filter(grant_conditions.active("authorization__")).exists()


def is_usable(authorization_id: UUID) -> bool:
    """Returns whether a grant is active and for this server."""
    rows = Authorization.objects.filter(grant_conditions.active(), pk=authorization_id)
    identifier = rows.values_list("resource", flat=True).first()
    return identifier is not None and addresses.is_of_this_deployment(identifier)


def require_resource(authorization: Authorization, given: str | None) -> None:
    """Checks a `resource` parameter against the consent (RFC 8707 section 2.2).

    Absent, it means the resource of the consent: a token family of another deployment is refused
    all the same. Raises InvalidTarget.
    """
    is_asked = given is None or addresses.canonical_resource(given) == authorization.resource
    if not (is_asked and addresses.is_of_this_deployment(authorization.resource)):
        raise InvalidTarget(hint="This authorization was granted for another resource.")


def report(kind: str, authorization: Authorization, *, address: str, detail: str = "") -> None:
    """Records an event of a token family: a sign of theft, a change, or its end."""
    record.security_event(
        kind,
        address=address,
        subject=str(authorization.pk),
        organization_id=str(authorization.organization_id),
        client_id=authorization.client.client_id,
        user_id=str(authorization.user_id),
        detail=detail,
    )
