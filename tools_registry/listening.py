"""subscriptions/listen: a stream that is silent until what its token sees has changed.

It holds no thread, and no more than what it has to compare with. On every notice, and from time to
time, it asks anew whether its token still counts. Why so: docs/decisions/0016-listening.md.
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
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import JsonObject
from oauth import principal
from oauth.principal import Principal, Unauthenticated
from tools_registry import rates, visibility
from tools_registry.exchange import STREAM_HEADERS, Emit, Pause, Stream
from tools_registry.places import Places
from workspace import changes

log = structlog.get_logger(__name__)

# A token may end without a notice, by its age; nothing is sent before it was looked at again.
LOOKS_EVERY: Final = 30.0  # seconds
EVENTS: Final = "text/event-stream"


# Streams of each authorization.
PLACES: Final = Places()


def stream(
    who: Principal, request_id: RequestId, notifications: JsonObject, accept: str | None
) -> Stream:
    """The stream on which a token hears of what it asked for. Raises ProtocolError."""
    if EVENTS not in (accept or "").lower():
        # There is no other way to answer (MCP 2026-07-28, basic/transports/streamable-http,
        # Receiving Messages); RFC 9110 section 15.5.7.
        message = f"Name {EVENTS} in Accept: this is answered with a stream."
        raise ProtocolError(INVALID_REQUEST, message, http_status=406)
    if not PLACES.take({who.authorization_id: settings.HALO_LISTENS_PER_CONNECTION}):
        raise _too_many()
    listen = Listen(who, request_id, notifications)
    return Stream(
        STREAM_HEADERS, listen.look, listen.close, on_shutdown=listen.finish, pool="quiet"
    )


class Listen:
    """One open stream: who listens to what, and what they saw last."""

    __slots__ = (
        "_authorization_id",
        "_closed",
        "_ending",
        "_notifications",
        "_request_id",
        "_seen",
        "_token_id",
        "_topics",
    )

    def __init__(self, who: Principal, request_id: RequestId, notifications: JsonObject) -> None:
        self._token_id = who.token_id
        self._authorization_id = who.authorization_id
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

    def look(self, emit: Emit) -> Pause | None:
        """See whether the token still counts, and tell what is new to it."""
        # A thousand that came at once, as after a restart, must not look at once ever after.
        share = random() if self._seen is None else 1.0  # noqa: S311  no secret
        if not self._closed and self._goes_on(emit):
            return Pause(self._topics, LOOKS_EVERY * share, self.look)
        PLACES.give_back([self._authorization_id])
        return None

    def _goes_on(self, emit: Emit) -> bool:
        try:
            self._tell(emit, principal.recheck(self._token_id))
        except (DatabaseError, InterfaceError) as error:
            # Not known to be over, and not told anything: the next look asks again.
            log.warning("listen_unchecked", error=type(error).__name__)
        except Unauthenticated:
            self._ending = True
        except Exception:
            log.exception("listen_failed")
            self._ending = True
        if self._ending:
            emit(subscriptions.ended(self._request_id))
        return not self._ending

    def _tell(self, emit: Emit, who: Principal) -> None:
        if not who.mcp_server_on:
            self._ending = True
        seen = visibility.digest(who) if subscriptions.TOOLS in self._notifications else b""
        if self._seen is None:
            # Behind the first look: a change from here on is news.
            emit(subscriptions.acknowledged(self._request_id, self._notifications))
        elif seen != self._seen and not self._ending:
            emit(subscriptions.tools_changed(self._request_id))
        self._seen = seen


@lru_cache(maxsize=1024)
def _topics(organization_id: UUID) -> frozenset[str]:
    return frozenset({changes.topic(organization_id)})


def _too_many() -> ProtocolError:
    most = settings.HALO_LISTENS_PER_CONNECTION
    return rates.crowded(
        f"This connection listens on {most} streams already. Close one first.",
        most=most,
        wait=math.ceil(LOOKS_EVERY),
        revision=MODERN[-1],
    )
