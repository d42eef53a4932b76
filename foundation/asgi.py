"""What ASGI applications share: ASGI's own types, and bodies that are read within a time.

Source: ASGI specification, HTTP & WebSocket.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

# The time that is left for a body once the server stops: its sender may be gone for good.
SHUTDOWN_SECONDS: Final = 1.0
# How long a client that is refused may send nothing and not close the connection either; and how
# long one may send on that was too slow already.
QUIET_SECONDS: Final = 5.0
# Long enough to read what the server has received already, and no time to wait for more.
BUFFERED_SECONDS: Final = 0.05


class Disconnected(Exception):
    """The client went away before its request was complete."""


class Bodies:
    """The bodies that are being read. Use it from one event loop."""

    def __init__(self, seconds: float) -> None:
        # How long a body may take from now on.
        self.seconds = seconds
        self._timeouts: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def time_limit(self, seconds: float) -> AsyncIterator[None]:
        """Raises TimeoutError when the block takes longer, or soon once the server stops."""
        async with asyncio.timeout(seconds) as timeout:
            self._timeouts.add(timeout)
            try:
                yield
            finally:
                self._timeouts.discard(timeout)

    def hurry(self) -> None:
        """The server is about to stop: give up soon on bodies that do not arrive."""
        self.seconds = min(self.seconds, SHUTDOWN_SECONDS)
        soon = asyncio.get_running_loop().time() + self.seconds
        for timeout in self._timeouts:
            due = timeout.when()
            timeout.reschedule(soon if due is None else min(due, soon))


class RequestBody:
    """The body that `receive` brings, of which the rest is discarded if it is refused."""

    def __init__(self, bodies: Bodies, receive: Receive) -> None:
        self._bodies, self._receive = bodies, receive
        self._has_more = True
        self._is_late = False

    async def read(self, limit: int) -> bytes:
        """Return at most `limit` bytes.

        Raises Disconnected when the sender goes away, TimeoutError when it takes too long.
        """
        chunks: list[bytes] = []
        for is_last, seconds in ((False, self._bodies.seconds), (True, BUFFERED_SECONDS)):
            try:
                async with self._bodies.time_limit(seconds):
                    while self._has_more and limit > 0:
                        chunks.append((await self._next())[:limit])
                        limit -= len(chunks[-1])
                    break
            except TimeoutError:
                # What came while the event loop was busy is read before the sender is blamed.
                if is_last:
                    self._is_late = True
                    raise
        return b"".join(chunks)

    async def discard(self) -> None:
        """Read the rest and drop it, between the response and the end of the connection.

        A connection that is closed while bytes arrive is reset, and its client may lose the
        response (RFC 9112 section 9.6): many write the whole request before they read. Ends as
        well once the client closes or is quiet, or when a whole body would be too late.
        """
        limit = self._bodies.seconds
        quiet = min(limit, QUIET_SECONDS)
        with suppress(TimeoutError, Disconnected):
            async with self._bodies.time_limit(quiet if self._is_late else limit):
                while self._has_more:
                    async with asyncio.timeout(quiet):
                        await self._next()

    async def _next(self) -> bytes:
        event = await self._receive()
        if event["type"] == "http.disconnect":
            self._has_more = False
            raise Disconnected
        self._has_more = event.get("more_body", False)
        data: bytes = event.get("body", b"")
        return data
