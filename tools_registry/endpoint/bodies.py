"""Reads request bodies on the event loop, each within its time, which is short during shutdown."""

import asyncio
from typing import Final

from tools_registry.endpoint.asgi_types import Receive

# The time that is left for a body once the server stops: its sender may be gone for good.
SHUTDOWN_SECONDS: Final = 1.0
# Long enough to read what the server has received already, and no time to wait for more.
BUFFERED_SECONDS: Final = 0.05


class Disconnected(Exception):
    """The client went away before its request was complete."""


class Bodies:
    """The bodies that are being read. Use it from one event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeouts: set[asyncio.Timeout] = set()

    async def read(self, receive: Receive, limit: int) -> bytes:
        """Return at most `limit` bytes of a body.

        Raises Disconnected when its sender goes away, TimeoutError when it takes too long.
        """
        chunks: list[bytes] = []
        more = True
        for is_last, seconds in ((False, self._seconds), (True, BUFFERED_SECONDS)):
            try:
                async with asyncio.timeout(seconds) as timeout:
                    self._timeouts.add(timeout)
                    try:
                        while more and limit > 0:
                            event = await receive()
                            if event["type"] == "http.disconnect":
                                raise Disconnected
                            chunks.append(event.get("body", b"")[:limit])
                            limit -= len(chunks[-1])
                            more = event.get("more_body", False)
                        break
                    finally:
                        self._timeouts.discard(timeout)
            except TimeoutError:
                # What came while the event loop was busy is read before the sender is blamed.
                if is_last:
                    raise
        return b"".join(chunks)

    def hurry(self) -> None:
        """The server is about to stop: give up soon on bodies that do not arrive."""
        self._seconds = min(self._seconds, SHUTDOWN_SECONDS)
        soon = asyncio.get_running_loop().time() + self._seconds
        for timeout in self._timeouts:
            due = timeout.when()
            timeout.reschedule(soon if due is None else min(due, soon))
