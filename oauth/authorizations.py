"""The root of a chain: given once, by one consent; revoked by one UPDATE."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from audit import record
from oauth import addresses, scopes
from oauth.errors import InvalidTarget
from oauth.models import Authorization, AuthorizationRequest, Client, Grant, RefreshToken
from oauth.scopes import ScopeSet
from workspace import changes
from workspace.models import Membership

# What must hold, beside the token itself, for a credential to work. The hot path says the same
# in SQL (`oauth/principal.py`); a test holds the two together.
STANDING: Mapping[str, Any] = {
    "authorization__revoked_at__isnull": True,
    "authorization__membership__isnull": False,
    "authorization__user__is_active": True,
    "authorization__organization__suspended_at__isnull": True,
    "authorization__client__disabled_at__isnull": True,
}


def give(request: AuthorizationRequest, membership: Membership, scope: ScopeSet) -> Authorization:
    """Write down a consent."""
    return Authorization.objects.create(
        client=request.client,
        user=membership.user,
        organization=membership.organization,
        membership=membership,
        scope=str(scope),
        resource=request.resource,
    )


def living(client: Client, membership: Membership) -> QuerySet[Authorization]:
    """What a person has let a client do in one organization and not ended, newest first."""
    rows = Authorization.objects.filter(client=client, membership=membership)
    return rows.filter(revoked_at__isnull=True).order_by("-pk")


def revoke(authorization_id: UUID, *, reason: str) -> bool:
    """End a chain and everything under it; False when it had ended before."""
    rows = Authorization.objects.filter(pk=authorization_id)
    living = rows.filter(revoked_at__isnull=True)
    if not living.update(revoked_at=timezone.now(), revoke_reason=reason):
        return False
    changes.publish(rows.values_list("organization", flat=True))
    return True


def stands(credential: Grant | RefreshToken) -> bool:
    """Whether the chain, person, membership, organization and client behind it all stand."""
    return type(credential).objects.filter(pk=credential.pk, **STANDING).exists()


def standing_scope(authorization_id: UUID) -> ScopeSet | None:
    """What a consent grants at this moment; None unless it and all behind it stand.

    For what was asked for under it and is done later, when its token may be over.
    """
    standing = {name.removeprefix("authorization__"): value for name, value in STANDING.items()}
    row = Authorization.objects.filter(pk=authorization_id, **standing).first()
    if row is None or row.resource != addresses.resource():
        return None
    return scopes.parse(row.scope)


def require_resource(authorization: Authorization, given: str | None) -> None:
    """Hold a `resource` parameter against what was consented to (RFC 8707 section 2.2).

    Absent, it means this server: a chain of another deployment is refused all the same. Raises
    InvalidTarget.
    """
    if addresses.canonical_resource(given) != authorization.resource:
        raise InvalidTarget(hint="This authorization is for another resource.")


def report(kind: str, authorization: Authorization, *, address: str, detail: str = "") -> None:
    """Put on record what befell a chain: a sign of theft, a change, or its end."""
    record.security_event(
        kind,
        address=address,
        subject=str(authorization.pk),
        organization_id=str(authorization.organization_id),
        client_id=authorization.client.client_id,
        user_id=str(authorization.user_id),
        detail=detail,
    )
