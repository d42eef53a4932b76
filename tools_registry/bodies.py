"""Bodies of requests, read on the loop: each within its time, which is short when a server ends."""

import asyncio
from typing import Final

from tools_registry.asgi_types import Receive

# What is left for a body once the server is to stop: its sender may be gone for good.
HURRIED_SECONDS: Final = 1.0


class Disconnected(Exception):
    """The client went away before its request was whole."""


class Bodies:
    """The bodies that are being read. Use it from one loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._open: set[asyncio.Timeout] = set()

    async def read(self, receive: Receive, room: int) -> bytes:
        """At most `room` bytes of a body.

        Raises Disconnected when its sender goes away, TimeoutError when they take too long.
        """
        async with asyncio.timeout(self._seconds) as timeout:
            self._open.add(timeout)
            try:
                return await _read(receive, room)
            finally:
                self._open.discard(timeout)

    def hurry(self) -> None:
        """The server is about to stop: give up soon what does not come."""
        self._seconds = min(self._seconds, HURRIED_SECONDS)
        soon = asyncio.get_running_loop().time() + self._seconds
        for timeout in self._open:
            due = timeout.when()
            timeout.reschedule(soon if due is None else min(due, soon))


async def _read(receive: Receive, room: int) -> bytes:
    chunks: list[bytes] = []
    more = True
    while more and room > 0:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Disconnected
        chunks.append(event.get("body", b"")[:room])
        room -= len(chunks[-1])
        more = event.get("more_body", False)
    return b"".join(chunks)
