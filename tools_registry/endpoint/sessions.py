"""`Mcp-Session-Id`: what a handshake client said of itself, sealed, and kept by the client.

No session is stored. The id of another client, an expired one and an invalid one are ignored: all
that is lost is what they remember. Why so: docs/decisions/0017-elicitation.md.
Source: MCP 2025-03-26 to 2025-11-25, basic/transports, Session Management.
"""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from foundation import sealed_text
from foundation.sealing import SealBroken
from mcp_protocol import client_capabilities
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import HANDSHAKE, UNDECLARED, Revision, find
from tools_registry.endpoint.http import Headers
from tools_registry.models import SessionLevel

HEADER: Final = "Mcp-Session-Id"
CONTEXT: Final = b"mcp.session"
# At 2026-07-28 every request speaks for itself. 2024-11-05 knows no such header, but its clients
# that come over this transport do, and have no other way to say later what they speak.
REVISIONS: Final = HANDSHAKE
LIFETIME: Final = timedelta(days=30)
# Ours are shorter than half of it: a longer one is not worth a look.
MAX_CHARACTERS: Final = 1024
# Of one authorization, the newest; a client has one session, or one for each of its windows.
MAX_LEVELS: Final = 20


@dataclass(frozen=True, slots=True)
class McpSession:
    """What an id remembers: whose it is, at which revision, and what its client can do."""

    authorization_id: str
    revision: str
    capabilities: Mapping[str, Any]
    ends: float = field(default_factory=lambda: time.time() + LIFETIME.total_seconds())
    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    level: str | None = None

    def to_header(self) -> str:
        written = {name: getattr(self, name) for name in self.__slots__}
        return sealed_text.seal(json.dumps(written).encode(), context=CONTEXT)


def from_header(header: str | None, authorization_id: UUID) -> McpSession | None:
    """The session that a request belongs to, if its id is one of this authorization."""
    if header is None or len(header) > MAX_CHARACTERS:
        return None
    try:
        session = McpSession(**json.loads(sealed_text.unseal(header, context=CONTEXT)))
    except (SealBroken, TypeError):  # the latter: sealed by a version that wrote other fields
        return None
    is_own = session.authorization_id == str(authorization_id)
    return session if is_own and session.ends > time.time() else None


def get_revision(session: McpSession | None) -> Revision:
    """The revision of a request that names none: that of its session, if it has one."""
    return (session and find(session.revision)) or UNDECLARED


def recall(terms: Terms, session: McpSession | None) -> Terms:
    """The terms of a message together with what its session remembers, if they fit."""
    if session is None or session.revision != terms.revision:
        return terms
    return replace(
        terms,
        client_capabilities=dict(session.capabilities),
        log_level=session.level,
        session=session.name,
    )


def make_headers(terms: Terms, authorization_id: UUID) -> Headers:
    """The header for the answer to `initialize`, at revisions that have it."""
    if terms.revision not in REVISIONS:
        return ()
    # Streams on which a client could be asked came with 2025-03-26.
    asked = terms.client_capabilities if terms.revision != Revision.V2024_11_05 else {}
    capabilities = client_capabilities.select_known(asked)
    session = McpSession(str(authorization_id), terms.revision.value, capabilities)
    return ((HEADER, session.to_header()),)


def set_level(session: McpSession | None, terms: Terms, level: str) -> Headers:
    """The header for the answer to `logging/setLevel`: the same session at its new level.

    Some clients take an id from any answer, others from `initialize` alone. For those a row keeps
    the level, which only calls that have something to log look up.
    """
    if session is None or session.revision != terms.revision:
        return ()
    _keep(session, level)
    return ((HEADER, replace(session, level=level).to_header()),)


def with_level(terms: Terms) -> Terms:
    """The terms with the log level that was set for their session, if any was."""
    if not terms.session:
        return terms
    # The row is the latest word: an id may have been minted before another was set.
    row = SessionLevel.objects.filter(session=terms.session).first()
    return terms if row is None else replace(terms, log_level=row.level)


def _keep(session: McpSession, level: str) -> None:
    """Write down a session's level, and let go the oldest of its authorization's that are surplus.

    Opening sessions costs a client nothing, so that rows must not be had for the asking.
    """
    mine = SessionLevel.objects.filter(authorization_id=session.authorization_id)
    SessionLevel.objects.update_or_create(
        session=session.name,
        defaults={
            "authorization_id": session.authorization_id,
            "level": level,
            "expires_at": timezone.now() + LIFETIME,
        },
    )
    surplus = mine.order_by("-expires_at", "session").values_list("session", flat=True)
    if names := list(surplus[MAX_LEVELS:]):
        mine.filter(session__in=names).delete()
