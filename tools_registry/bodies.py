"""Bodies of requests, read on the loop: each within its time, which is short when a server ends."""

import asyncio
from typing import Any, Final

from tools_registry.asgi_types import Receive

# What is left for a body once the server is to stop: its sender may be gone for good.
HURRIED_SECONDS: Final = 1.0
# When a body was due that is given up.
TOO_LATE: Final = -1.0


class Disconnected(Exception):
    """The client went away before its request was whole."""


class Bodies:
    """The bodies that are being read. Use it from one loop.

    One timer looks after all of them, where asyncio's would be set and taken back with every body,
    nearly all of which are there already.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: dict[asyncio.Task[Any], float] = {}  # by who reads it, in the loop's time
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, receive: Receive, room: int) -> bytes:
        """At most `room` bytes of a body.

        Raises Disconnected when its sender goes away, TimeoutError when they take too long.
        """
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # noqa: S101  it is awaited
        self._due[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look)
        try:
            return await _read(receive, room)
        except asyncio.CancelledError as error:
            # As asyncio's own: whoever else cancelled the task meanwhile means more than that.
            if self._due[task] == TOO_LATE and task.cancelling() == 1:
                raise TimeoutError from error
            raise
        finally:
            if self._due.pop(task) == TOO_LATE:
                task.uncancel()

    def hurry(self) -> None:
        """The server is about to stop: give up soon what does not come."""
        self._seconds = min(self._seconds, HURRIED_SECONDS)
        soon = asyncio.get_running_loop().time() + self._seconds
        self._due = {task: min(due, soon) for task, due in self._due.items()}
        if self._timer is not None:
            self._timer.cancel()
        self._look()

    def _look(self) -> None:
        """Give up what has not come in time, and look again when the next is due."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._timer = None
        # Whoever came first is due first: a stranger may open more than can be looked through.
        for task, due in self._due.items():
            if due > now:
                self._timer = loop.call_at(due, self._look)
                return
            if due != TOO_LATE:
                self._due[task] = TOO_LATE
                task.cancel()


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
