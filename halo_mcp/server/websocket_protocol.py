"""The server's side of one WebSocket: uvicorn's protocol with a bound for slow readers."""

import asyncio
from typing import Any, Final, cast

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

# How long a client has to read what waits for it and to answer the close frame.
CLOSE_SECONDS: Final = 5.0


class EventQueue:
    """What uvicorn uses of `asyncio.Queue`, with one reader and a tenth of the memory."""

    __slots__ = ("_events", "_waiter")

    def __init__(self) -> None:
        self._events: list[ASGIReceiveEvent] = []
        self._waiter: asyncio.Future[None] | None = None

    def put_nowait(self, event: ASGIReceiveEvent) -> None:
        self._events.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> ASGIReceiveEvent:
        while not self._events:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._events.pop(0)

    def empty(self) -> bool:
        return not self._events


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """Ends the connection some seconds after the application or a lost ping closes the socket.

    uvicorn waits without bound for a client that reads nothing, because closing a transport sends
    first what is buffered.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.queue = cast("asyncio.Queue[ASGIReceiveEvent]", EventQueue())

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == "websocket.close":
            # It must not wait behind messages that the client does not read.
            self.writable.set()
            self._abort_later()
        await super().send(message)
        if message["type"] == "websocket.accept":
            # The first has the token, and nothing reads them after the handshake.
            del self.request, self.response
        elif message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            # uvicorn takes this answer for none, and logs an error for each refused handshake.
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._abort_later()

    def shutdown(self) -> None:
        """The server stops. The application closes its sockets itself (`OpenSockets.end`)."""
        if not self.handshake_complete or self.close_sent:
            super().shutdown()

    def _abort_later(self) -> None:
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
