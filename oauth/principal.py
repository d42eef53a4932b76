"""From a bearer token to who is calling: the one place that reads a token.

One statement joins the token with everything that must stand behind it, on every request, with
nothing cached: a revocation, a deactivated user, a disabled client, a lost membership and a
suspended organization all hold from the next request on.
"""

import re
import time
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from foundation import ids
from foundation.carrier import carrier
from foundation.statements import Statement
from oauth import addresses, scopes
from oauth.scopes import ScopeSet
from workspace import flags
from workspace.models import row_id

# RFC 6750 section 2.1; any number of spaces, nothing behind the token, and only what this server
# can have issued: an API key or another deployment's token is refused before the database.
BEARER: Final = re.compile(r"bearer +(halo_at_[A-Za-z0-9_-]{43})", re.IGNORECASE)

STANDING: Final = """
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
   AND a.revoked_at IS NULL
   AND u.is_active
   AND o.suspended_at IS NULL
   AND c.disabled_at IS NULL
"""
AUTHENTICATE: Final = Statement(STANDING + " AND t.token_checksum = %s")
STILL: Final = Statement(STANDING + " AND t.id = %s")


@carrier
class Principal:
    """Who calls, for which organization, through which client, with which effective scope.

    `as_of` is when this was so, in seconds of the clock that is never set back.
    """

    token_id: UUID
    authorization_id: UUID
    organization_id: UUID
    user_id: UUID
    user_email: str
    client_id: str
    client_name: str
    scope: ScopeSet
    mcp_server_on: bool
    # What the organization's connections may call together; None for no cap.
    calls_per_minute: int | None = None
    as_of: float = field(default_factory=time.monotonic, compare=False)


class Unauthenticated(Exception):
    """No valid bearer. `error` is None when none was presented (RFC 6750 section 3.1).

    `told` is what the caller reads.
    """

    def __init__(
        self,
        error: str | None = None,
        told: str = "Sign in first: this endpoint needs a valid bearer token.",
    ) -> None:
        super().__init__(error or "no bearer")
        self.error, self.told = error, told


def authenticate(authorization: str | None) -> Principal:
    """The principal behind an Authorization header.

    Raises Unauthenticated, which never says why a token is refused: unknown, expired, revoked and
    foreign ones look alike.
    """
    if authorization is None or not authorization.lower().startswith("bearer"):
        raise Unauthenticated
    # Spaces and tabs only: `strip` alone would take letters of Latin-1 for white space too.
    header = authorization.strip(" \t")
    if not header[len("bearer") :].strip(" \t"):
        raise Unauthenticated
    presented = BEARER.fullmatch(header)
    if presented is None:
        raise Unauthenticated("invalid_token")
    return _found(AUTHENTICATE, ids.sha256_hex(presented[1]))


def recheck(token_id: UUID) -> Principal:
    """The principal behind a token that was presented a while ago, as everything stands now.

    For what outlives its request. Raises Unauthenticated once the token would be refused.
    """
    return _found(STILL, token_id)


def _found(statement: Statement, token: str | UUID) -> Principal:
    row = statement.row(flags.MCP_SERVER, datetime.now(UTC), token)
    if row is None or row[4] != addresses.resource():
        raise Unauthenticated("invalid_token")
    return _principal(row)


def _principal(row: tuple[Any, ...]) -> Principal:
    enabled = row[10]
    return Principal(
        token_id=row_id(row[0]),
        authorization_id=row_id(row[2]),
        organization_id=row_id(row[5]),
        user_id=row_id(row[6]),
        user_email=row[7],
        client_id=row[8],
        client_name=row[9],
        # A token keeps its own scope for its hour; what the person narrowed since holds at once.
        scope=scopes.effective(row[1], row[3]),
        mcp_server_on=flags.DEFAULTS[flags.MCP_SERVER] if enabled is None else bool(enabled),
        calls_per_minute=row[11],
    )
