"""Fetches under way in this process: few at once, and never two of one URL.

A fetch holds the thread that asked for it for seconds, and the same threads answer the token
endpoint, so strangers' slow servers may hold only some of them, and one person's only one.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from oauth.errors import ServerBusy

BUSY: Final = "Too many clients are being looked up right now. Try again soon."


class Flights:
    """Counts the threads that fetch or wait for a fetch; `seats` is how many may."""

    def __init__(self, *, seats: int) -> None:
        self._seats = threading.BoundedSemaphore(seats)
        self._lock = threading.Lock()
        self._landings: dict[str, threading.Event] = {}
        self._fetching: set[str] = set()

    def once(self, url: str, fetch: Callable[[], None], *, asker: str, patience: float) -> None:
        """Run `fetch`, or wait up to `patience` seconds for the thread that is running it.

        Raises ServerBusy when every seat is taken or the asker has a fetch under way already, and
        what `fetch` raises where it ran.
        """
        with self._seat():
            leads, landing = self._join(url, asker)
            if not leads:
                landing.wait(patience)
                return
            try:
                fetch()
            finally:
                self._land(url, asker)

    @contextmanager
    def _seat(self) -> Iterator[None]:
        if not self._seats.acquire(blocking=False):
            raise ServerBusy(BUSY)
        try:
            yield
        finally:
            self._seats.release()

    def _join(self, url: str, asker: str) -> tuple[bool, threading.Event]:
        with self._lock:
            if url in self._landings:
                return False, self._landings[url]
            if asker in self._fetching:
                raise ServerBusy(BUSY)
            self._fetching.add(asker)
            return True, self._landings.setdefault(url, threading.Event())

    def _land(self, url: str, asker: str) -> None:
        with self._lock:
            self._fetching.discard(asker)
            self._landings.pop(url).set()
