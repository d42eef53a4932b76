"""Keys with which an organization's own servers call the SDK API.

A key is created once and shown once; its SHA-256 is stored. It has no user: it acts for the
organization within its scopes. Source: docs/operate/server-keys.md.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit import record
from foundation import ids
from foundation.db.statements import Statement
from oauth import expiry
from oauth.credentials import SECRET
from oauth.models import ServerKey
from oauth.principal import Unauthenticated
from workspace.models import Organization, User

PREFIX: Final = "halo_sk_"
SDK_WRITE: Final = "sdk:write"
USERS_UPDATE: Final = "users:update"
SCOPES: Final = {
    SDK_WRITE: _("Send customers, companies, tickets, events and transcripts"),
    USERS_UPDATE: _("Update customers in bulk"),
}

FIND: Final = Statement("""
SELECT k.id, k.organization_id, k.scope, k.last_used_at IS NULL OR k.last_used_at < %s
  FROM oauth_serverkey k
  JOIN workspace_organization o ON o.id = k.organization_id
 WHERE k.checksum = %s AND k.revoked_at IS NULL AND o.suspended_at IS NULL
   AND (k.expires_at IS NULL OR k.expires_at > %s)
""")


@dataclass(frozen=True, slots=True)
class KeyPrincipal:
    """The key of a request: whose data it may write, and within which scopes."""

    key_id: UUID
    organization_id: UUID
    scopes: Sequence[str]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just created; its secret cannot be read again."""

    row: ServerKey
    secret: str

    def __repr__(self) -> str:
        return f"<NewKey {self.row.pk}>"


@dataclass(frozen=True, slots=True)
class Listed:
    """A key in a list, and its status: active, expired or revoked."""

    row: ServerKey
    status: str

    @property
    def titles(self) -> list[str]:
        return [str(SCOPES[one]) for one in self.row.scope.split()]


def unsaved(organization: Organization, name: str, scopes: Collection[str], days: int) -> ServerKey:
    """Returns the row of a key without its secret, valid for so many days; 0 is for ever."""
    return ServerKey(
        organization=organization,
        name=name,
        scope=" ".join(one for one in SCOPES if one in scopes),
        expires_at=expiry.after(days),
    )


def issue(row: ServerKey, *, user: User, address: str) -> NewKey:
    """Gives a row that is not saved yet its secret, and saves it."""
    secret = ids.opaque(PREFIX)
    row.checksum, row.ending = ids.sha256_hex(secret), secret[-expiry.ENDING :]
    row.created_by = user
    row.save(force_insert=True)
    _record("server_key_created", row, user, address)
    return NewKey(row, secret)


def revoke(row: ServerKey, *, user: User, address: str) -> bool:
    """Ends a key with the next request; returns whether it was not revoked before."""
    active = ServerKey.objects.filter(pk=row.pk, revoked_at__isnull=True)
    if not active.update(revoked_at=timezone.now()):
        return False
    _record("server_key_revoked", row, user, address)
    return True


def of_organizations(organization_ids: Iterable[UUID]) -> QuerySet[ServerKey]:
    """Returns the keys of these organizations, the newest first."""
    rows = ServerKey.objects.filter(organization__in=list(organization_ids))
    return rows.select_related("organization", "created_by").order_by("-pk")


def listed(rows: Iterable[ServerKey]) -> list[Listed]:
    return [Listed(row, expiry.status(row)) for row in rows]


def authenticate(secret: str) -> KeyPrincipal:
    """Returns the principal of a key.

    Raises Unauthenticated, without the reason: unknown, expired and revoked keys look alike.
    """
    if not (secret.startswith(PREFIX) and SECRET.fullmatch(secret, len(PREFIX))):
        raise Unauthenticated("invalid_token")
    now = datetime.now(UTC)
    row = FIND.row(now - timedelta(seconds=expiry.USE_SECONDS), ids.sha256_hex(secret), now)
    if row is None:
        raise Unauthenticated("invalid_token")
    key_id, organization_id, scope, is_use_due = row
    found = KeyPrincipal(ids.from_row(key_id), ids.from_row(organization_id), scope.split())
    if is_use_due:
        ServerKey.objects.filter(pk=found.key_id).update(last_used_at=now)
    return found


def _record(kind: str, row: ServerKey, user: User, address: str) -> None:
    record.security_event(
        kind,
        address=address,
        subject=str(row.pk),
        organization_id=str(row.organization_id),
        user_id=str(user.pk),
        detail=f"{row.name} ({row.scope})",
    )
