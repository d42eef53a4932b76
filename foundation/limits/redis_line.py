"""One connection to Redis that the fibers of a loop share, one command behind the other.

Redis answers in the order in which it was asked. Who has waited for as long as the store has
patience loses the line for all: an answer that comes too late would be taken for the next one's.
"""

import asyncio
import socket
import time
from collections import deque
from functools import partial
from typing import Any, Final, cast

import hiredis
import redis
from redis.exceptions import NoScriptError, ResponseError

from foundation.fibers import Fiber, Ground, awaited

NOTHING_YET: Final = object()


class RedisLine:
    """Asks on a connection of the pool's kind, opened anew when the last one was lost.

    `patience` in seconds. Used on the loop.
    """

    def __init__(self, pool: redis.ConnectionPool, patience: float, ground: Ground) -> None:
        self._pool = pool
        self._patience = patience
        self._ground = ground
        self._talk: _Talk | None = None
        self._opening: asyncio.Future[None] | None = None
        self._connecting: asyncio.Future[socket.socket] | None = None

    def ask(self, fiber: Fiber, command: bytes) -> Any:
        """Send a packed command and wait for the answer. Raises redis.RedisError and OSError."""
        if self._talk is None or self._talk.is_over:
            self._opening = self._opening or asyncio.ensure_future(self._open())
            awaited(fiber, self._opening)
        return cast(_Talk, self._talk).ask(fiber, command)

    def close(self) -> None:
        """Hang up; what waits for an answer is told."""
        if self._opening is not None:
            self._opening.cancel()
        if self._talk is not None:
            self._talk.lose("the server is about to stop")

    async def _open(self) -> None:
        try:
            connected = await asyncio.wait_for(asyncio.shield(self._socket()), self._patience)
            self._connecting = None
            talk = _Talk(self._patience)
            await self._ground.loop.create_connection(lambda: talk, sock=connected)
            self._talk = talk
        finally:
            self._opening = None

    def _socket(self) -> "asyncio.Future[socket.socket]":
        """A connected socket. One that takes longer is waited for again, and no other is asked."""
        before = self._connecting
        if before is None or (before.done() and (before.cancelled() or before.exception())):
            before = self._connecting = self._ground.own(partial(_connected, self._pool))
        return before


class _Talk(asyncio.Protocol):
    """What is asked and answered on one connection, until it is lost."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._asking: deque[tuple[float, Fiber]] = deque()
        self._reader = hiredis.Reader(notEnoughData=NOTHING_YET)
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False
        self.is_over = False

    def ask(self, fiber: Fiber, command: bytes) -> Any:
        self._transport.write(command)
        self._asking.append((time.monotonic(), fiber))
        if self._timer is None:
            self._look_in(self._patience)
        return _said(fiber.pause())

    def lose(self, why: str) -> None:
        """End it; what waits for an answer is told why."""
        self.is_over = True
        self._transport.abort()
        if self._timer is not None:
            self._timer.cancel()
        lost, self._asking = self._asking, deque()
        for _, fiber in lost:
            fiber.ground.loop.call_soon(fiber.fail, redis.ConnectionError(why))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (answer := self._reader.gets()) is not NOTHING_YET:
                # Redis says nothing unasked, but for its reason before it hangs up.
                if self._asking:
                    self._asking.popleft()[1].resume(answer)
        except hiredis.ProtocolError:
            self.lose("Redis was not understood")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_over:
            self.lose(f"the connection to Redis was lost: {exc or 'it hung up'}")

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Lose the line when the oldest question waits for too long; look again while any does."""
        self._timer = None
        if not self._asking:
            return
        left = self._asking[0][0] + self._patience - time.monotonic()
        if left <= 0 and self._is_late:
            self.lose("Redis did not answer in time")
            return
        # Where the loop was held up, the answer may be there and not be read: once round it first.
        self._is_late = left <= 0
        self._look_in(max(left, 0))


def _connected(pool: redis.ConnectionPool) -> socket.socket:
    """A socket on which the client has said who it is. In a thread, for this waits."""
    connection: Any = pool.connection_class(**pool.connection_kwargs)
    connection.connect()
    # The client's connection gives its socket away, and closes nothing when it is let go.
    connected: socket.socket = connection._sock  # noqa: SLF001  it has no public way to do so
    connection._sock = None  # noqa: SLF001  as said
    connected.setblocking(False)
    return connected


def _said(answer: Any) -> Any:
    """What an answer says. Raises redis.ResponseError."""
    if not isinstance(answer, hiredis.ReplyError):
        return answer
    kind = NoScriptError if str(answer).startswith("NOSCRIPT") else ResponseError
    raise kind(str(answer))
