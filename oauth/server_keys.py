"""Keys with which an organization's own programs call the SDK API and the HR API.

A key is created once and shown once; its SHA-256 is stored. It has no user: it acts for the
organization within its scopes. Its prefix says which API it is for. Sources:
docs/operate/server-keys.md, docs/operate/api-keys.md.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit import record
from audit.outcomes import ActorKind
from foundation import ids
from foundation.db.statements import Statement
from oauth import expiry, scopes
from oauth.credentials import SECRET, Verifier
from oauth.models import ServerKey
from oauth.principal import KeyKind, Principal, Unauthenticated
from workspace import flags
from workspace.models import Organization, User

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PREFIXES: Final = {
    KeyKind.SDK: "halo_sk_",
    KeyKind.LIVE: "hhr_live_",
    KeyKind.TEST: "hhr_test_",
    KeyKind.AGENTS: "halo_sk_",
}
SDK_KINDS: Final = (KeyKind.SDK,)
HR_KINDS: Final = (KeyKind.LIVE, KeyKind.TEST)
AGENT_KINDS: Final = (KeyKind.AGENTS,)
SDK_WRITE: Final = "sdk:write"
SDK_DELETE: Final = "sdk:delete"
USERS_UPDATE: Final = "users:update"
SDK_SCOPES: Final[Mapping[str, "StrOrPromise"]] = {
    SDK_WRITE: _("Send customers, companies, tickets, events and transcripts"),
    USERS_UPDATE: _("Update customers in bulk"),
    SDK_DELETE: _("Erase customers; delete companies, tickets, events and transcripts"),
}
HR_SCOPES: Final[Mapping[str, "StrOrPromise"]] = {
    "organisation:read": _("Read the organization and its locations"),
    "people:read": _("Read people, their employment and their units"),
    "people:personal:read": _("Read private profiles, with home addresses"),
    "custom_fields:read": _("Read custom fields"),
    "reference:read": _("Read lists such as work places and time-off categories"),
    "org_units:read": _("Read organization units"),
    "working_patterns:read": _("Read working patterns"),
    "time_off:read": _("Read time off, balances and public holidays"),
    "time_off:write": _("Request, change, cancel and decide time off"),
    "documents:read": _("Read descriptions of documents"),
    "mcp:write": _("Prepare and commit changes over MCP"),
}
# Of the scopes document: which tools the agents of a session may have.
AGENT_SCOPES: Final[Mapping[str, "StrOrPromise"]] = {
    "docs:read": _("Search the documentation"),
    "setup:read": _("Read how to set up Halo"),
    "data:read": _("Read organization data"),
    "actions:*": _("Use the actions that an admin has turned on"),
}
SCOPES: Final = {
    KeyKind.SDK: SDK_SCOPES,
    KeyKind.LIVE: HR_SCOPES,
    KeyKind.TEST: HR_SCOPES,
    KeyKind.AGENTS: AGENT_SCOPES,
}

SELECT: Final = """
SELECT k.id, k.organization_id, k.kind, k.name, k.scope, o.slug, f.enabled, o.calls_per_minute,
       k.record_limit, k.last_used_at IS NULL OR k.last_used_at < %s
  FROM oauth_serverkey k
  JOIN workspace_organization o ON o.id = k.organization_id
  LEFT JOIN workspace_featureflag f ON f.organization_id = o.id AND f.name = %s
 WHERE k.revoked_at IS NULL AND o.suspended_at IS NULL
   AND (k.expires_at IS NULL OR k.expires_at > %s)
   AND """
AUTHENTICATE: Final = Statement(SELECT + "k.checksum = %s")
STILL: Final = Statement(SELECT + "k.id = %s")


@dataclass(frozen=True, slots=True)
class KeyPrincipal:
    """The key of a request: for which organization it acts, and within which scopes.

    `workspace` is the short name of the organization. `record_limit` is what the API reads it as,
    which records the key sees; empty for all.
    """

    key_id: UUID
    organization_id: UUID
    workspace: str
    kind: KeyKind
    name: str
    scopes: Sequence[str]
    mcp_server_on: bool
    calls_per_minute: int | None
    record_limit: str


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just created; its secret cannot be read again."""

    row: ServerKey
    secret: str

    def __repr__(self) -> str:
        return f"<NewKey {self.row.pk}>"


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key in a list, its status (active, expired or revoked), and what limits it, in words."""

    row: ServerKey
    status: str
    limit: str = ""

    @property
    def titles(self) -> list[str]:
        titles = SCOPES[KeyKind(self.row.kind)]
        # Keys of earlier versions may have scopes that permit nothing.
        scopes = [str(titles[one]) for one in self.row.scope.split() if one in titles]
        return [*filter(None, [self.limit]), *scopes]


def build_row(
    organization: Organization,
    name: str,
    scopes: Collection[str],
    days: int,
    kind: str = KeyKind.SDK,
    *,
    record_limit: str = "",
) -> ServerKey:
    """Returns the row of a key without its secret, valid for so many days; 0 is for ever."""
    return ServerKey(
        organization=organization,
        name=name,
        kind=kind,
        scope=" ".join(one for one in SCOPES[KeyKind(kind)] if one in scopes),
        expires_at=expiry.days_from_now(days),
        record_limit=record_limit,
    )


def issue(row: ServerKey, *, user: User | None, address: str) -> NewKey:
    """Gives a row that is not saved yet its secret, and saves it; no user is the command line."""
    secret = ids.opaque(PREFIXES[KeyKind(row.kind)])
    row.checksum, row.ending = ids.sha256_hex(secret), secret[-expiry.ENDING :]
    row.created_by = user
    row.save(force_insert=True)
    _record("server_key_created", row, user, address)
    return NewKey(row, secret)


def revoke(row: ServerKey, *, user: User | None, address: str) -> bool:
    """Ends a key with the next request; returns whether it was not revoked before."""
    active = ServerKey.objects.filter(pk=row.pk, revoked_at__isnull=True)
    if not active.update(revoked_at=timezone.now()):
        return False
    _record("server_key_revoked", row, user, address)
    return True


def list_by_organization(
    organization_ids: Iterable[UUID], kinds: Collection[KeyKind] = SDK_KINDS
) -> QuerySet[ServerKey]:
    """Returns the keys of these organizations, the newest first."""
    rows = ServerKey.objects.filter(organization__in=list(organization_ids), kind__in=kinds)
    return rows.select_related("organization", "created_by").order_by("-pk")


def find(key_id: str, kinds: Collection[KeyKind]) -> ServerKey | None:
    """Returns the key of an id, or None."""
    try:
        return ServerKey.objects.filter(pk=key_id, kind__in=kinds).first()
    except ValidationError:
        return None


def creator_of(key_id: str) -> UUID | None:
    """Returns the id of the person who created a key; None for an unknown key, or no person."""
    try:
        return ServerKey.objects.filter(pk=key_id).values_list("created_by", flat=True).first()
    except ValidationError:
        return None


def list_with_status(rows: Iterable[ServerKey]) -> list[ListedKey]:
    return [ListedKey(row, expiry.status(row)) for row in rows]


def authenticate(secret: str, kinds: Collection[KeyKind] = SDK_KINDS) -> KeyPrincipal:
    """Returns the principal of a key of one of these kinds.

    Raises Unauthenticated, without the reason: unknown, expired and revoked keys look alike.
    """
    prefix = next((PREFIXES[kind] for kind in kinds if secret.startswith(PREFIXES[kind])), None)
    if prefix is None or not SECRET.fullmatch(secret, len(prefix)):
        raise Unauthenticated("invalid_token")
    found = _find_key_principal(AUTHENTICATE, ids.sha256_hex(secret))
    if found.kind not in kinds:
        raise Unauthenticated("invalid_token")
    return found


def active(key_id: UUID) -> KeyPrincipal:
    """Returns the principal of a key that was verified before. Raises Unauthenticated."""
    return _find_key_principal(STILL, key_id)


def verifier(kind: KeyKind, workspace: str | None) -> Verifier:
    """The verifier of keys at the address of a workspace; without one, of any workspace."""
    recheck = partial(_principal, STILL, kind, workspace)
    return Verifier(partial(_principal, AUTHENTICATE, kind, workspace), recheck, recheck)


def _find_key_principal(statement: Statement, key: str | UUID) -> KeyPrincipal:
    """The key of a SHA-256 or an id, as the statement asks."""
    now = datetime.now(UTC)
    due = now - timedelta(seconds=expiry.USE_SECONDS)
    row = statement.row(due, flags.MCP_SERVER, now, key)
    if row is None:
        raise Unauthenticated("invalid_token")
    key_id, organization_id, kind, name, scope, workspace, enabled, most, limit, is_use_due = row
    found = KeyPrincipal(
        key_id=ids.from_row(key_id),
        organization_id=ids.from_row(organization_id),
        workspace=workspace,
        kind=KeyKind(kind),
        name=name,
        scopes=scope.split(),
        mcp_server_on=flags.DEFAULTS[flags.MCP_SERVER] if enabled is None else bool(enabled),
        calls_per_minute=most,
        record_limit=limit,
    )
    if is_use_due:
        ServerKey.objects.filter(pk=found.key_id).update(last_used_at=now)
    return found


def _principal(
    statement: Statement, kind: KeyKind, workspace: str | None, key: str | UUID
) -> Principal:
    found = _find_key_principal(statement, key)
    if found.kind != kind or workspace not in {None, found.workspace}:
        raise Unauthenticated("invalid_token")
    return Principal(
        token_id=found.key_id,
        authorization_id=found.key_id,
        organization_id=found.organization_id,
        user_id="",
        user_email="",
        client_id=str(found.key_id),
        client_name=found.name,
        scope=scopes.from_names(found.scopes),
        mcp_server_on=found.mcp_server_on,
        calls_per_minute=found.calls_per_minute,
        credential=PREFIXES[kind],
        actor_kind=ActorKind.API_KEY,
    )


def _record(kind: str, row: ServerKey, user: User | None, address: str) -> None:
    record.security_event(
        kind,
        address=address,
        subject=str(row.pk),
        organization_id=str(row.organization_id),
        user_id=str(user.pk) if user else "",
        detail=" ".join(filter(None, (f"{row.name} ({row.scope})", row.record_limit))),
    )
