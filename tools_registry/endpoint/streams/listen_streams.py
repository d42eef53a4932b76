"""subscriptions/listen: a stream that is silent until what its token sees has changed.

It holds no thread, and no more than what it has to compare with. On every notice, and from time to
time, it checks whether its token is still valid. Why so: docs/decisions/0016-subscriptions.md.
"""

import math
from functools import lru_cache
from random import random
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from mcp_protocol import subscriptions
from mcp_protocol.envelope import RequestId
from mcp_protocol.errors import INVALID_REQUEST, ProtocolError
from mcp_protocol.revisions import MODERN, Revision
from mcp_protocol.strict_json import JsonObject
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry.endpoint import descriptors, rates
from tools_registry.endpoint.caller_slots import CallerSlots
from tools_registry.endpoint.http import STREAM_HEADERS, Emit, Stream, Suspend
from tools_registry.endpoint.surface import McpSurface
from workspace import changes

log = structlog.get_logger(__name__)

# A token may end without a notice, by its age; nothing is sent before it was looked at again.
CHECK_SECONDS: Final = 30.0  # seconds
EVENTS: Final = "text/event-stream"


OPEN: Final = CallerSlots(lambda: settings.HALO_LISTENS_PER_CONNECTION)


def stream(
    who: Principal,
    surface: McpSurface,
    request_id: RequestId,
    notifications: JsonObject,
    accept: str | None,
) -> Stream:
    """The stream with the notifications that a request asks for. Raises ProtocolError."""
    if EVENTS not in (accept or "").lower():
        # There is no other way to answer (MCP 2026-07-28, basic/transports/streamable-http,
        # Receiving Messages); RFC 9110 section 15.5.7.
        message = f"This method responds with a stream. Include {EVENTS} in Accept."
        raise ProtocolError(INVALID_REQUEST, message, http_status=406)
    if not OPEN.acquire(who):
        raise too_many_streams_error(surface)
    listen = Listen(who, surface, request_id, notifications)
    return Stream(
        STREAM_HEADERS, listen.look, listen.close, on_shutdown=listen.finish, pool="quiet"
    )


class Listen:
    """One open stream: who listens to what, and what they saw last."""

    __slots__ = (
        "_closed",
        "_credential",
        "_ending",
        "_notifications",
        "_request_id",
        "_seen",
        "_surface",
        "_token_id",
        "_topics",
        "_who",
    )

    def __init__(
        self,
        who: Principal,
        surface: McpSurface,
        request_id: RequestId,
        notifications: JsonObject,
    ) -> None:
        self._surface = surface
        self._credential, self._token_id = who.credential, who.token_id
        self._who = who
        self._request_id = request_id
        self._notifications = notifications
        self._seen: bytes | None = None
        self._closed = self._ending = False
        self._topics = _topics(who.organization_id)

    def close(self) -> None:
        """The client has gone: nothing more is sent."""
        self._closed = True

    def finish(self) -> None:
        """The server stops: the next look is the last, and says so."""
        self._ending = True

    def look(self, emit: Emit) -> Suspend | None:
        """Check that the token is still valid, and send what has changed."""
        # A thousand that came at once, as after a restart, must not look at once ever after.
        share = random() if self._seen is None else 1.0  # noqa: S311  no secret
        if not self._closed and self._goes_on(emit):
            return Suspend(self._topics, CHECK_SECONDS * share, self.look)
        OPEN.release(self._who)
        return None

    def _goes_on(self, emit: Emit) -> bool:
        try:
            self._tell(
                emit,
                credentials.recheck(self._credential, self._token_id, self._surface.credentials),
            )
        except (DatabaseError, InterfaceError) as error:
            # Unknown: nothing is sent, and the next look checks again.
            log.warning("listen_unchecked", error=type(error).__name__)
        except Unauthenticated:
            self._ending = True
        except Exception:
            log.exception("listen_failed")
            self._ending = True
        if self._ending:
            emit(subscriptions.final_response(self._request_id))
        return not self._ending

    def _tell(self, emit: Emit, who: Principal) -> None:
        if not who.mcp_server_on:
            self._ending = True
        is_wanted = subscriptions.TOOLS in self._notifications
        seen = descriptors.digest(who, self._surface) if is_wanted else b""
        if self._seen is None:
            # Behind the first look: a change from here on is news.
            emit(subscriptions.acknowledgement(self._request_id, self._notifications))
        elif seen != self._seen and not self._ending:
            emit(subscriptions.tools_changed(self._request_id))
        self._seen = seen


@lru_cache(maxsize=1024)
def _topics(organization_id: UUID) -> frozenset[str]:
    return frozenset({changes.topic(organization_id)})


def too_many_streams_error(surface: McpSurface, revision: Revision = MODERN[-1]) -> ProtocolError:
    """The error for a caller with as many open streams as it may have."""
    most = settings.HALO_LISTENS_PER_CONNECTION
    return rates.slot_limit_error(
        "This connection, person or organization listens on too many streams. Close one first.",
        most=most,
        wait=math.ceil(CHECK_SECONDS),
        revision=revision,
        codes=surface.codes,
    )
