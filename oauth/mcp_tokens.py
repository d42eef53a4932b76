"""Tokens with which a user's MCP client calls the workspace or one project, without OAuth.

A token is created once and shown once; its SHA-256 is stored. It belongs to a user and to one
resource. For the workspace it has scopes and always expires (a personal token); for a project of
the gateway it grants all tools, within the project's policy. Membership, user and organization are
conditions of every request (`oauth/grants/grant_conditions.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from audit import record
from foundation import ids
from foundation.db.statements import Statement
from oauth import expiry, scopes
from oauth.addresses import MCP_PATH
from oauth.consent import grantable
from oauth.credentials import Verifier
from oauth.errors import InvalidScope
from oauth.grants import grant_conditions
from oauth.models import McpToken
from oauth.principal import Principal, Unauthenticated
from oauth.scopes import ScopeSet
from workspace import changes, flags
from workspace.models import ACTIVE_MEMBERSHIP, Membership, Organization, User

PREFIX: Final = "halo_mt_"
# Of one user in one organization, for one resource.
MAX_ACTIVE: Final = 20

# The aliases are those of `grant_conditions`.
SELECT: Final = """
SELECT a.id, a.organization_id, u.id, u.email, a.name, f.enabled, o.calls_per_minute,
       a.last_used_at IS NULL OR a.last_used_at < %s, a.scope
  FROM oauth_mcptoken a
  JOIN workspace_membership m ON m.id = a.membership_id
  JOIN workspace_user u ON u.id = a.user_id
  JOIN workspace_organization o ON o.id = a.organization_id
  LEFT JOIN workspace_featureflag f ON f.organization_id = o.id AND f.name = %s
 WHERE (a.expires_at IS NULL OR a.expires_at > %s)
   AND a.resource_path = %s
   AND """
ACTIVE: Final = SELECT + grant_conditions.SQL_WITHOUT_CLIENT
AUTHENTICATE: Final = Statement(ACTIVE + " AND a.checksum = %s")
STILL: Final = Statement(ACTIVE + " AND a.id = %s")


class NotAMember(Exception):
    """The user is no active member of the organization."""


class TooManyTokens(Exception):
    """The user has as many tokens for the resource as can be active; the text says so."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just created; its secret cannot be read again."""

    row: McpToken
    secret: str

    def __repr__(self) -> str:
        return f"<NewToken {self.row.pk}>"


@dataclass(frozen=True, slots=True)
class ListedToken:
    """A token in a list, and its status: active, paused with its membership, expired or revoked."""

    row: McpToken
    status: str

    @property
    def project_id(self) -> str:
        return self.row.resource_path.removeprefix("/")

    @property
    def scope(self) -> ScopeSet:
        return _scope_of(self.row.resource_path, self.row.scope)


def verifier(path: str) -> Verifier:
    """The verifier of the tokens for one resource, by its path."""
    recheck = partial(_find_principal, STILL, path)
    return Verifier(partial(_find_principal, AUTHENTICATE, path), recheck, recheck)


def issue_personal(
    user: User, organization: Organization, scope: ScopeSet, *, name: str, days: int, address: str
) -> NewToken:
    """Creates a token for the workspace with these scopes, valid for at least one day.

    Raises NotAMember, TooManyTokens, and InvalidScope for no scope and for one that a user cannot
    grant to a client.
    """
    if not scope or grantable.only(scope) != scope or any(one.project for one in scope):
        raise InvalidScope("A personal token has scopes of the workspace, and at least one.")
    if days < 1:
        raise ValueError("a personal token expires")
    return issue(
        user, organization, MCP_PATH, name=name, days=days, address=address, scope=str(scope)
    )


@transaction.atomic
def issue(
    user: User,
    organization: Organization,
    resource_path: str,
    *,
    name: str,
    days: int,
    address: str,
    scope: str = "",
) -> NewToken:
    """Creates a token, valid for so many days; 0 is for ever. A project's has no scope of its own.

    Raises NotAMember and TooManyTokens.
    """
    # Locked, so that of two tokens at a time the second counts the first. Without the organization:
    # who changes memberships locks it first.
    memberships = Membership.objects.select_for_update(of=("self",))
    membership = memberships.filter(ACTIVE_MEMBERSHIP, user=user, organization=organization).first()
    if membership is None:
        raise NotAMember
    tokens = McpToken.objects.filter(
        membership=membership, resource_path=resource_path, revoked_at__isnull=True
    )
    if tokens.exclude(expires_at__lte=timezone.now()).count() >= MAX_ACTIVE:
        raise TooManyTokens(_too_many(resource_path) % {"most": MAX_ACTIVE})
    secret = ids.opaque(PREFIX)
    row = McpToken.objects.create(
        user=user,
        organization=organization,
        membership=membership,
        resource_path=resource_path,
        scope=scope,
        name=name,
        checksum=ids.sha256_hex(secret),
        ending=secret[-expiry.ENDING :],
        expires_at=expiry.days_from_now(days),
    )
    _record("mcp_token_created", row, user, address)
    return NewToken(row, secret)


def revoke(row: McpToken, *, user: User, address: str) -> bool:
    """Ends a token with the next request; returns whether it was not revoked before."""
    active = McpToken.objects.filter(pk=row.pk, revoked_at__isnull=True)
    if not active.update(revoked_at=timezone.now()):
        return False
    # Open streams and sockets of the token end at once.
    changes.publish([row.organization_id])
    _record("mcp_token_revoked", row, user, address)
    return True


def revoke_all(resource_path: str, by: User | None, *, address: str) -> None:
    """Ends all tokens for a resource that is deleted; `by` is None for a command."""
    for row in McpToken.objects.filter(resource_path=resource_path, revoked_at__isnull=True):
        revoke(row, user=by or row.user, address=address)


def personal(user: User) -> QuerySet[McpToken]:
    """Returns the tokens of a user for the workspace, the newest first."""
    return _tokens_of_user(user).filter(resource_path=MCP_PATH)


def list_project_tokens(user: User) -> QuerySet[McpToken]:
    """Returns the tokens of a user for projects, the newest first."""
    return _tokens_of_user(user).exclude(resource_path=MCP_PATH)


def _tokens_of_user(user: User) -> QuerySet[McpToken]:
    rows = McpToken.objects.filter(user=user)
    return rows.select_related("organization", "membership").order_by("-pk")


def list_with_status(rows: Iterable[McpToken]) -> list[ListedToken]:
    return [ListedToken(row, _status(row)) for row in rows]


def _find_principal(statement: Statement, path: str, token: str | UUID) -> Principal:
    """The principal of a token, by its SHA-256 or its id, as the statement asks."""
    now = datetime.now(UTC)
    row = statement.row(
        now - timedelta(seconds=expiry.USE_SECONDS), flags.MCP_SERVER, now, path, token
    )
    if row is None:
        raise Unauthenticated("invalid_token")
    token_id, enabled = ids.from_row(row[0]), row[5]
    if row[7]:
        McpToken.objects.filter(pk=token_id).update(last_used_at=now)
    return Principal(
        token_id=token_id,
        authorization_id=token_id,
        organization_id=ids.from_row(row[1]),
        user_id=ids.from_row(row[2]),
        user_email=row[3],
        # No client is registered; calls of one token are found by this in the audit log.
        client_id=f"mcp-token:{token_id}",
        client_name=row[4],
        scope=_scope_of(path, row[8]),
        mcp_server_on=flags.DEFAULTS[flags.MCP_SERVER] if enabled is None else bool(enabled),
        calls_per_minute=row[6],
        credential=PREFIX,
    )


def _too_many(path: str) -> str:
    if path == MCP_PATH:
        return _("You already have %(most)s active tokens in this organization. Revoke one first.")
    return _("You already have %(most)s active tokens for this project. Revoke one first.")


def _scope_of(path: str, text: str) -> ScopeSet:
    if path == MCP_PATH:
        return scopes.parse(text)
    return ScopeSet((scopes.for_project(path.removeprefix("/")),))


def _status(row: McpToken) -> str:
    # A token of a user who has left never works again; one of a suspended member works once the
    # member is restored.
    membership, status = row.membership, expiry.status(row)
    if membership is None:
        return "revoked"
    is_paused = membership.suspended_at is not None or row.organization.suspended_at is not None
    return "paused" if is_paused and status == "active" else status


def _record(kind: str, row: McpToken, user: User, address: str) -> None:
    record.security_event(
        kind,
        address=address,
        subject=str(row.pk),
        organization_id=str(row.organization_id),
        user_id=str(user.pk),
        detail=f"{row.name} ({row.scope or row.resource_path})",
    )


def count_of_member(membership: Membership) -> int:
    """Returns how many tokens of a membership are not revoked."""
    return McpToken.objects.filter(membership=membership, revoked_at=None).count()
