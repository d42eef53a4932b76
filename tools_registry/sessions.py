"""`Mcp-Session-Id`: what a handshake client said of itself, sealed, and kept by the client.

No session is stored. An id that is foreign, over or garbage is passed over: all that is lost with
it is what it remembers. Why so: docs/decisions/0017-asking.md.
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
from mcp_protocol.revisions import Revision
from tools_registry.exchange import Headers
from tools_registry.models import SessionLevel

HEADER: Final = "Mcp-Session-Id"
CONTEXT: Final = b"mcp.session"
# 2024-11-05 knows no such header, and at 2026-07-28 every request speaks for itself.
REVISIONS: Final = (Revision.V2025_03_26, Revision.V2025_06_18, Revision.V2025_11_25)
LIFETIME: Final = timedelta(days=30)
# Ours are shorter than half of it: a longer one is not worth a look.
MOST_CHARACTERS: Final = 1024


@dataclass(frozen=True, slots=True)
class Session:
    """What an id remembers: whose it is, at which revision, and what its client can do."""

    authorization_id: str
    revision: str
    capabilities: Mapping[str, Any]
    ends: float = field(default_factory=lambda: time.time() + LIFETIME.total_seconds())
    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    level: str | None = None

    def sealed(self) -> str:
        written = {name: getattr(self, name) for name in self.__slots__}
        return sealed_text.seal(json.dumps(written).encode(), context=CONTEXT)


def recall(terms: Terms, header: str | None, authorization_id: UUID) -> Terms:
    """The terms of a message together with what its session remembers, if that is its own."""
    session = _read(header, terms, authorization_id)
    if session is None:
        return terms
    return replace(
        terms,
        client_capabilities=dict(session.capabilities),
        log_level=session.level,
        session=session.name,
    )


def opened(terms: Terms, authorization_id: UUID) -> Headers:
    """The header for the answer to `initialize`, at revisions that have it."""
    if terms.revision not in REVISIONS:
        return ()
    capabilities = client_capabilities.known(terms.client_capabilities)
    session = Session(str(authorization_id), terms.revision.value, capabilities)
    return ((HEADER, session.sealed()),)


def at_level(header: str | None, terms: Terms, authorization_id: UUID, level: str) -> Headers:
    """The header for the answer to `logging/setLevel`: the same session at its new level.

    Some clients take an id from any answer, others from `initialize` alone. For those a row keeps
    the level, which only calls that have something to log look up.
    """
    session = _read(header, terms, authorization_id)
    if session is None:
        return ()
    until = timezone.now() + LIFETIME
    SessionLevel.objects.update_or_create(
        session=session.name, defaults={"level": level, "expires_at": until}
    )
    return ((HEADER, replace(session, level=level).sealed()),)


def with_level(terms: Terms) -> Terms:
    """The terms with the log level that was set for their session, if any was."""
    if not terms.session:
        return terms
    # The row is the latest word: an id may have been minted before another was set.
    row = SessionLevel.objects.filter(session=terms.session).first()
    return terms if row is None else replace(terms, log_level=row.level)


def _read(header: str | None, terms: Terms, authorization_id: UUID) -> Session | None:
    if header is None or len(header) > MOST_CHARACTERS or terms.revision not in REVISIONS:
        return None
    try:
        session = Session(**json.loads(sealed_text.unseal(header, context=CONTEXT)))
    except (SealBroken, TypeError):  # the latter: sealed by a version that wrote other fields
        return None
    own = (str(authorization_id), terms.revision.value)
    is_valid = (session.authorization_id, session.revision) == own and session.ends > time.time()
    return session if is_valid else None
