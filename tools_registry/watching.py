"""Hearing, while an answer in one piece is made, that its client does not want it any more.

Nearly every answer is there before anybody could change their mind, and those pay for no more than
a timer that is set and taken back.
"""

import asyncio
from functools import partial
from typing import Final

from foundation.notices import Board, Ear
from tools_registry import cancelling
from tools_registry.asgi_types import Receive
from tools_registry.interest import Interest, Underway

WATCHES_AFTER: Final = 0.05  # seconds


class Watch:
    """Watches one request, if it takes long, until `end`."""

    __slots__ = ("_board", "_ear", "_interest", "_is_over", "_loop", "_receive", "_task", "_timer")

    def __init__(self, interest: Interest, receive: Receive, board: Board) -> None:
        self._interest, self._receive, self._board = interest, receive, board
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._ear: Ear | None = None
        self._is_over = False
        self._timer = self._loop.call_later(WATCHES_AFTER, self._begin)

    def end(self) -> None:
        """The answer is there."""
        self._is_over = True
        self._timer.cancel()
        self._interest.on_begin = _nothing
        if self._task is not None:
            self._task.cancel()
        self._hear(None)

    def _begin(self) -> None:
        # In this order: a call that begins in between is heard of twice, and never not at all.
        self._interest.on_begin = partial(self._loop.call_soon_threadsafe, self._hear_call)
        self._hear_call()

    def _hear_call(self) -> None:
        underway = self._interest.underway
        if self._is_over or underway is None:
            return
        # Not before: where no call is made of a body, no more of it is read.
        self._task = self._task or self._loop.create_task(self._hear_closing())
        self._hear(underway)

    def _hear(self, underway: Underway | None) -> None:
        if self._ear is not None:
            self._ear.leave()
        self._ear = None
        if underway is None:
            return
        topic = cancelling.topic(underway.authorization_id, underway.terms, underway.request_id)
        if topic:
            self._ear = Ear(self._board, topic, partial(self._cancel, underway))

    def _cancel(self, underway: Underway) -> None:
        self._interest.cancelled = underway

    async def _hear_closing(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._interest.has_left = True


def _nothing() -> None:
    """For a call that begins when nobody watches any more."""
