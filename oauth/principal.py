"""The principal of a request: who calls, and what they may do. `oauth/credentials.py` finds it."""

import time
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from audit.outcomes import ActorKind
from oauth.scopes import ScopeSet

# The prefix of access tokens, and `Principal.credential` for them.
ACCESS_TOKEN: Final = "halo_at_"  # noqa: S105  a prefix


class KeyKind(models.TextChoices):
    """Which API a server key is for."""

    SDK = "sdk", _("SDK API")
    LIVE = "live", _("HR API")
    TEST = "test", _("HR API, sandbox")
    AGENTS = "agents", _("Agents")


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated user, with organization, client and effective scope.

    `credential` is the kind of credential, by the prefix of its secrets, and `token_id` its id;
    without a kind it cannot be checked again. `authorization_id` is what the credential was issued
    under, which outlives it: the grant of an access token, else the credential itself. `as_of` is
    when this was read, in seconds of the monotonic clock.

    An API key has no user: its `user_id` and `user_email` are empty.
    """

    token_id: UUID
    authorization_id: UUID
    organization_id: UUID
    user_id: UUID | str
    user_email: str
    client_id: str
    client_name: str
    scope: ScopeSet
    mcp_server_on: bool
    # The call limit of all connections of the organization together; None for no cap.
    calls_per_minute: int | None = None
    credential: str = ""
    actor_kind: ActorKind = ActorKind.MCP_CLIENT
    as_of: float = field(default_factory=time.monotonic, compare=False)

    @property
    def party(self) -> str:
        """Whom all their credentials count for: the user in this organization, else the key."""
        return f"{self.organization_id}:{self.user_id or self.authorization_id}"


class Unauthenticated(Exception):
    """No valid bearer token. `error` is None if there was none (RFC 6750 section 3.1).

    `message` is sent to the client; without one, that of the endpoint.
    """

    def __init__(self, error: str | None = None, message: str = "") -> None:
        super().__init__(error or "no bearer")
        self.error, self.message = error, message
