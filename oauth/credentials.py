"""Authenticates the bearer of a request, and verifies OAuth access tokens.

The prefix of a secret determines its kind, and a surface has the verifiers of the kinds that it
accepts: those of access tokens are made here, those of MCP tokens in `oauth/mcp_tokens.py` and
those of keys in `oauth/server_keys.py`.

For access tokens, one statement joins the token with all rows that must be active, on every
request, with nothing cached: a revocation, a deactivated user, a disabled client, a lost membership
and a suspended organization apply from the next request on.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

from django.conf import settings

from foundation import ids
from foundation.db.statements import Statement
from oauth import scopes
from oauth.addresses import MCP_PATH
from oauth.grants import grant_conditions
from oauth.models import AccessToken, Authorization, Client
from oauth.principal import ACCESS_TOKEN, Principal, Unauthenticated
from oauth.scopes import ScopeSet
from workspace import flags, organizations
from workspace.models import Membership

# RFC 6750 section 2.1; any number of spaces, and nothing after the secret.
BEARER: Final = re.compile(r"bearer +(\S+)", re.IGNORECASE)
# The format of `ids.opaque`: 256 random bits in base64url.
SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")

SELECT: Final = """
SELECT t.id, t.scope, a.id, a.scope, a.resource, a.organization_id, u.id, u.email,
       c.client_id, c.name, f.enabled, o.calls_per_minute
  FROM oauth_accesstoken t
  JOIN oauth_authorization a ON a.id = t.authorization_id
  JOIN workspace_membership m ON m.id = a.membership_id
  JOIN workspace_user u ON u.id = a.user_id
  JOIN workspace_organization o ON o.id = a.organization_id
  JOIN oauth_client c ON c.id = a.client_id
  LEFT JOIN workspace_featureflag f ON f.organization_id = o.id AND f.name = %s
 WHERE t.expires > %s
   AND """
ACTIVE: Final = SELECT + grant_conditions.SQL
AUTHENTICATE: Final = Statement(ACTIVE + " AND t.token_checksum = %s")
STILL: Final = Statement(ACTIVE + " AND t.id = %s")


@dataclass(frozen=True, slots=True)
class Verifier:
    """Verifies one kind of credential and returns its principal.

    `verify` takes the SHA-256 of a secret in hexadecimal, `recheck` the id of a credential that was
    verified before. `recheck_grant` takes `Principal.authorization_id`, for work that was requested
    with a credential and runs when it may have expired; a kind of credentials that are issued under
    nothing has its own id there, and `recheck` serves for both. All read the database and raise
    Unauthenticated. `active` returns those of many ids that `recheck` accepts, in one statement.
    """

    verify: Callable[[str], Principal]
    recheck: Callable[[UUID], Principal]
    recheck_grant: Callable[[UUID], Principal]
    active: Callable[[Collection[UUID]], set[UUID]] | None = None


# By prefix.
Verifiers: TypeAlias = Mapping[str, Verifier]


def access_tokens(path: str) -> Verifier:
    """The verifier of OAuth access tokens for one resource, by its path under HALO_PUBLIC_URL.

    Tokens for another resource are refused (RFC 8707).
    """
    return Verifier(
        partial(_find_principal, AUTHENTICATE, path),
        partial(_find_principal, STILL, path),
        partial(_find_by_authorization, path),
        partial(_active, path),
    )


def _find_principal(statement: Statement, path: str, token: str | UUID) -> Principal:
    """The principal of an access token, by its SHA-256 or its id, as the statement asks."""
    row = statement.row(flags.MCP_SERVER, datetime.now(UTC), token)
    if row is None or row[4] != f"{settings.HALO_PUBLIC_URL}{path}":
        raise Unauthenticated("invalid_token")
    enabled = row[10]
    return Principal(
        token_id=ids.from_row(row[0]),
        authorization_id=ids.from_row(row[2]),
        organization_id=ids.from_row(row[5]),
        user_id=ids.from_row(row[6]),
        user_email=row[7],
        client_id=row[8],
        client_name=row[9],
        # A token keeps its own scope until it expires; what the user has narrowed since applies at
        # once.
        scope=scopes.effective(row[1], row[3]),
        mcp_server_on=flags.DEFAULTS[flags.MCP_SERVER] if enabled is None else bool(enabled),
        calls_per_minute=row[11],
        credential=ACCESS_TOKEN,
    )


def _active(path: str, token_ids: Collection[UUID]) -> set[UUID]:
    """Those of the access tokens that are valid."""
    valid = AccessToken.objects.filter(
        grant_conditions.active("authorization__"),
        pk__in=token_ids,
        expires__gt=datetime.now(UTC),
        authorization__resource=f"{settings.HALO_PUBLIC_URL}{path}",
    )
    return set(valid.values_list("pk", flat=True))


def _find_by_authorization(path: str, authorization_id: UUID) -> Principal:
    """The principal of an active authorization, whose id is in place of a token's."""
    rows = Authorization.objects.select_related("user", "client", "organization")
    row = rows.filter(grant_conditions.active(), pk=authorization_id).first()
    if row is None or row.resource != f"{settings.HALO_PUBLIC_URL}{path}":
        raise Unauthenticated("invalid_token")
    return build_principal(row, ACCESS_TOKEN, scopes.parse(row.scope), row.client)


def build_principal(
    row: Authorization | Membership,
    credential: str,
    scope: ScopeSet,
    client: Client | None = None,
) -> Principal:
    """Returns the principal of a row whose id is in place of a token's."""
    return Principal(
        token_id=row.pk,
        authorization_id=row.pk,
        organization_id=row.organization_id,
        user_id=row.user_id,
        user_email=row.user.email,
        client_id=client.client_id if client else "",
        client_name=client.name if client else "",
        scope=scope,
        mcp_server_on=organizations.flag(row.organization_id, flags.MCP_SERVER),
        calls_per_minute=row.organization.calls_per_minute,
        credential=credential,
    )


# For the workspace server, which accepts MCP tokens as well (`WORKSPACE_SURFACE`).
ACCESS_TOKEN_VERIFIERS: Final[Verifiers] = {ACCESS_TOKEN: access_tokens(MCP_PATH)}


def authenticate(authorization: str | None, accepted: Verifiers) -> Principal:
    """Returns the principal of an Authorization header.

    Raises Unauthenticated without the reason for a refused secret: unknown, expired, revoked and
    foreign ones look alike. A secret with another format than the issued ones is refused without a
    database query.
    """
    if authorization is None or not authorization.lower().startswith("bearer"):
        raise Unauthenticated
    # Spaces and tabs only: `strip` alone would also remove Latin-1 white space.
    header = authorization.strip(" \t")
    if not header[len("bearer") :].strip(" \t"):
        raise Unauthenticated
    presented = BEARER.fullmatch(header)
    if presented is None:
        raise Unauthenticated("invalid_token")
    secret = presented[1]
    for prefix, verifier in accepted.items():
        if secret.startswith(prefix) and SECRET.fullmatch(secret, len(prefix)):
            return verifier.verify(ids.sha256_hex(secret))
    raise Unauthenticated("invalid_token")


def recheck(kind: str, credential_id: UUID, accepted: Verifiers) -> Principal:
    """Returns the current principal of a credential that was verified before.

    For streams and other work that outlives its request. `kind` is `Principal.credential`. Raises
    Unauthenticated if the credential is no longer valid.
    """
    if kind not in accepted:
        raise Unauthenticated("invalid_token")
    return accepted[kind].recheck(credential_id)


def find_ended(kind: str, credential_ids: Collection[UUID], accepted: Verifiers) -> set[UUID]:
    """Returns those of many credentials of one kind that are no longer valid."""
    if kind not in accepted:
        return set(credential_ids)
    verifier = accepted[kind]
    if verifier.active is not None:
        return set(credential_ids) - verifier.active(credential_ids)
    return {one for one in credential_ids if _has_ended(verifier, one)}


def _has_ended(verifier: Verifier, credential_id: UUID) -> bool:
    try:
        verifier.recheck(credential_id)
    except Unauthenticated:
        return True
    return False


def recheck_grant(kind: str, authorization_id: UUID, accepted: Verifiers) -> Principal:
    """Returns the current principal of what a credential was issued under.

    For work that was requested with the credential and runs later. `kind` is
    `Principal.credential`. Raises Unauthenticated if the grant is no longer active, or the surface
    does not accept this kind.
    """
    if kind not in accepted:
        raise Unauthenticated("invalid_token")
    return accepted[kind].recheck_grant(authorization_id)
