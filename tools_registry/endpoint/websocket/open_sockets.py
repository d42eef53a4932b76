"""All open WebSockets of a process, and the ASGI application that opens them.

One task looks after all of them: it closes those whose credential has ended or whose client is
idle, and sends what was pushed. Notifications wake it, so that a revoked token closes its sockets
at once; an access token that expires, which nothing publishes, is noticed by a regular check.
"""

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from foundation.asgi import Receive, Scope, Send
from foundation.pubsub import Subscription
from oauth import credentials
from tools_registry.endpoint import asgi
from tools_registry.endpoint.asgi import McpApplication
from tools_registry.endpoint.http import CancelState, CompleteAnswer
from tools_registry.endpoint.surface import McpSurface
from tools_registry.endpoint.websocket import handshake, pushing
from tools_registry.endpoint.websocket.close_codes import CloseCode
from tools_registry.endpoint.websocket.connection import NO_LONGER_VALID, WebSocketConnection
from tools_registry.endpoint.websocket.handshake import Admitted, FindSurface
from workspace import changes

log = structlog.get_logger(__name__)

# How often all are looked at, and how often all credentials are checked without a notification.
LOOK_SECONDS: Final = 1.0
CHECK_SECONDS: Final = 30.0
# Credentials that one statement checks, so that other looks of the threads come in between.
CHECKED_AT_ONCE: Final = 500

# A kind of credential, and the surface that accepts it.
Kind: TypeAlias = tuple[str, McpSurface]


class OpenSockets:
    """The WebSockets of a process. Use it from one event loop."""

    def __init__(self, edge: McpApplication, find: FindSurface) -> None:
        self._edge, self._find = edge, find
        self._open: set[WebSocketConnection] = set()
        self._by_topic: dict[str, set[WebSocketConnection]] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._news: set[str] = set()
        self._is_news = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._checked_at = time.monotonic()
        self._is_ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        admitted = await self._admit(scope)
        # It may be open for hours: neither the bearer nor anything else of the handshake stays.
        scope["headers"] = []
        if isinstance(admitted, CompleteAnswer):
            with suppress(OSError):  # the client has gone
                await handshake.refuse(scope, send, admitted)
            return
        connection = WebSocketConnection(self._edge, admitted, send)
        try:
            await send({"type": "websocket.accept"})
            scope.clear()
            self._add(connection)
            await connection.run(receive)
        except OSError:
            log.debug("socket_lost")
        finally:
            self._remove(connection)
            admitted.release()
        await connection.finish()

    def end(self) -> None:
        """The server is about to stop: close every socket once its requests are answered."""
        self._is_ending = True
        for connection in self._open:
            connection.end()

    async def _admit(self, scope: Scope) -> Admitted | CompleteAnswer:
        address = handshake.take_address(scope)
        if address is None:
            return handshake.MALFORMED
        return await self._edge.look(partial(self._admit_in_thread, scope, address))

    def _admit_in_thread(
        self, scope: Scope, address: handshake.Address
    ) -> Admitted | CompleteAnswer:
        surface = self._find(address)
        if surface is None:
            return handshake.NOT_FOUND
        return handshake.admit(asgi.request_of(scope, surface, CancelState()))

    def _add(self, connection: WebSocketConnection) -> None:
        self._open.add(connection)
        for topic in _topics(connection):
            self._by_topic.setdefault(topic, set()).add(connection)
            if topic not in self._subscriptions:
                wake = partial(self._notify, topic)
                self._subscriptions[topic] = Subscription(self._edge.subscriptions, wake)
                self._subscriptions[topic].subscribe(frozenset({topic}))
            # Something may have happened between the handshake and the subscription.
            self._notify(topic)
        if self._is_ending:
            connection.end()
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())

    def _remove(self, connection: WebSocketConnection) -> None:
        self._open.discard(connection)
        for topic in _topics(connection):
            of_topic = self._by_topic.get(topic, set())
            of_topic.discard(connection)
            if not of_topic and topic in self._subscriptions:
                del self._by_topic[topic]
                self._subscriptions.pop(topic).close()

    def _notify(self, topic: str) -> None:
        self._news.add(topic)
        self._is_news.set()

    async def _keep(self) -> None:
        """Look after all sockets, until none is open."""
        while self._open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_news.wait(), LOOK_SECONDS)
            self._is_news.clear()
            news, self._news = self._news, set()
            try:
                await self._look(news)
            except (DatabaseError, InterfaceError) as error:
                # Unknown: the next look finds out.
                log.warning("sockets_unchecked", error=type(error).__name__)
                self._news |= news
            except Exception:
                log.exception("sockets_unchecked")
        self._keeper = None

    async def _look(self, news: set[str]) -> None:
        await self._close_ended(self._to_check(news))
        notified = {one for topic in news for one in self._by_topic.get(topic, ())}
        await self._send_pushed(
            [one for one in notified if pushing.topic(_authorization(one)) in news]
        )
        for connection in list(self._open):
            if connection.is_idle(settings.HALO_GATEWAY_SOCKET_IDLE_SECONDS):
                await connection.close(CloseCode.TIMEOUT, "The socket was idle for too long.")

    def _to_check(self, news: set[str]) -> list[WebSocketConnection]:
        now = time.monotonic()
        if now - self._checked_at >= CHECK_SECONDS:
            self._checked_at = now
            return list(self._open)
        return [
            one
            for topic in news
            for one in self._by_topic.get(topic, ())
            if topic == changes.topic(one.caller.principal.organization_id)
        ]

    async def _close_ended(self, connections: list[WebSocketConnection]) -> None:
        by_kind: dict[Kind, dict[UUID, list[WebSocketConnection]]] = {}
        for connection in connections:
            caller = connection.caller
            kind = caller.principal.credential, caller.surface
            of_kind = by_kind.setdefault(kind, {})
            of_kind.setdefault(caller.principal.token_id, []).append(connection)
        for (name, surface), by_id in by_kind.items():
            every = list(by_id)
            for start in range(0, len(every), CHECKED_AT_ONCE):
                some = every[start : start + CHECKED_AT_ONCE]
                check = partial(credentials.find_ended, name, some, surface.credentials)
                for one in await self._edge.look(check):
                    for connection in by_id[one]:
                        await connection.close(CloseCode.UNAUTHENTICATED, NO_LONGER_VALID)

    async def _send_pushed(self, connections: list[WebSocketConnection]) -> None:
        if not connections:
            return
        authorizations = {_authorization(one) for one in connections}
        pending = await self._edge.look(partial(pushing.pending, authorizations))
        for connection in connections:
            connection.push(pending.get(str(_authorization(connection)), {}))


def _topics(connection: WebSocketConnection) -> tuple[str, str]:
    """What is published when its credential may have ended, and when a message is pushed to it."""
    organization_id = connection.caller.principal.organization_id
    return changes.topic(organization_id), pushing.topic(_authorization(connection))


def _authorization(connection: WebSocketConnection) -> UUID:
    return connection.caller.principal.authorization_id
