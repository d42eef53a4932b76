"""Runs work once in this process when several threads need its result at the same time."""

import threading
from collections.abc import Callable, Hashable


class SingleFlight:
    """Runs work at most once at a time for each key.

    No result is passed to the waiting threads. They read what the work has stored, and so handle a
    timeout and a failure of the work in the same way.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finished: dict[Hashable, threading.Event] = {}

    def run(self, key: Hashable, work: Callable[[], None], *, wait_seconds: float) -> bool:
        """Runs `work`, or waits for the thread that already runs it for this key.

        Returns whether it ran in this thread. An exception of `work` is raised in the thread that
        runs it. Other threads wait for its end, at most `wait_seconds`, and get no exception.
        """
        with self._lock:
            running = self._finished.get(key)
            if running is None:
                finished = self._finished[key] = threading.Event()
        if running is not None:
            running.wait(wait_seconds)
            return False
        try:
            work()
        finally:
            with self._lock:
                del self._finished[key]
            finished.set()
        return True
