"""A bounded pool of threads that does not hold the end of its process, nor wait for what is slow.

The standard library's joins its threads at exit, for as long as a tool takes, and a tool may take
for ever. Here a thread that has not come back by then ends with the process; what it had begun to
record is for the sweeper (`audit.record.finish_interrupted`).
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from django.db import connections

T = TypeVar("T")
# What to do, and how to say that nobody will.
Job: TypeAlias = tuple[Callable[[], object], Callable[[], object]]

# A job that has taken longer waits for something, most likely, and leaves the processor to others.
# Not less: on a machine that is overrun quick jobs are slow as well, and more threads no help.
SLOW_SECONDS: Final = 0.5
LOOKS_EVERY: Final = SLOW_SECONDS / 5


class Crew:
    """At most `size` threads, started as they are needed, and at most `spare` that stand in.

    While jobs wait, a thread whose job is slow has another stand in for it, so that as many as
    before are there for what is quick. Those that are too many afterwards go.
    """

    def __init__(self, size: int, name: str, *, spare: int = 0) -> None:
        self._size = size
        self._spare = spare
        self._name = name
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._hired = 0
        self._unfinished = 0
        self._begun: dict[int, float] = {}  # by thread
        self._is_watched = False
        self._is_closed = False

    def do(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Have a thread do it, unless it is cancelled before. Raises RuntimeError once closed.

        From a loop, whose future it is: the standard library's way there and back takes two of
        them, and every call goes it.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.put(partial(_do, future, work), future.cancel)
        return future

    def put(self, work: Callable[[], object], cancel: Callable[[], object]) -> None:
        """Have a thread do it, or call `cancel` at the end. Raises RuntimeError once closed.

        `work` raises nothing.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot schedule new work after closing")
            if self._unfinished >= self._hired:
                self._find_somebody()
            # Behind it: what is refused for want of threads must not be done later all the same.
            self._jobs.put((work, cancel))
            self._unfinished += 1

    def close(self) -> None:
        """Take no more work; what nobody has begun is cancelled. Never waits."""
        with self._lock:
            self._is_closed = True
            while not self._jobs.empty():
                job = self._jobs.get_nowait()
                if job is not None:
                    job[1]()
            for _ in range(self._hired):
                self._jobs.put(None)

    def _find_somebody(self) -> None:
        try:
            if self._hired < self._size:
                self._hire()
            elif self._spare and not self._is_watched:
                self._start(self._watch, "watch")
                self._is_watched = True
        except RuntimeError:  # the machine is out of threads: those that are there will do it
            if not self._hired:
                raise

    def _hire(self) -> None:
        self._start(self._work, str(self._hired + 1))
        # Counted once it runs: a machine that is out of threads must not shrink the crew.
        self._hired += 1

    def _start(self, target: Callable[[], None], name: str) -> None:
        threading.Thread(target=target, name=f"{self._name}_{name}", daemon=True).start()

    def _work(self) -> None:
        mine = threading.get_ident()
        while (job := self._jobs.get()) is not None:
            self._begun[mine] = time.monotonic()
            job[0]()
            del job  # nothing of it stays while the thread has none
            if self._is_one_too_many(mine):
                connections.close_all()
                return

    def _is_one_too_many(self, thread: int) -> bool:
        """Take note that a thread's job is done; whether the thread is to go with it."""
        with self._lock:
            del self._begun[thread]
            self._unfinished -= 1
            if self._hired <= self._size:
                return False
            # One that was told to end already must not be told again by its absence.
            if self._is_closed or self._hired <= self._size + self._slow():
                return False
            self._hired -= 1
            return True

    def _watch(self) -> None:
        """Have others stand in for slow threads, for as long as jobs wait."""
        while True:
            time.sleep(LOOKS_EVERY)
            with self._lock:
                waiting = self._unfinished - self._hired
                if self._is_closed or waiting <= 0:
                    self._is_watched = False
                    return
                missing = self._size + min(self._slow(), self._spare) - self._hired
                # A machine that is out of threads is asked again at the next look.
                with suppress(RuntimeError):
                    for _ in range(min(missing, waiting)):
                        self._hire()

    def _slow(self) -> int:
        since = time.monotonic() - SLOW_SECONDS
        # A list at once, for threads put their beginnings down without asking.
        return sum(begun < since for begun in list(self._begun.values()))


def _do(future: "asyncio.Future[Any]", work: Callable[[], Any]) -> None:
    if future.cancelled():
        return
    outcome: Any
    tell: Callable[[Any], object]
    try:
        outcome, tell = work(), future.set_result
    except BaseException as error:  # noqa: BLE001  it is for whoever waits for the result
        outcome, tell = error, future.set_exception
    with suppress(RuntimeError):  # the loop has been closed meanwhile: nobody waits
        future.get_loop().call_soon_threadsafe(_settle, future, tell, outcome)
    del outcome, tell, future  # an error among them knows this frame, which would keep all of it


def _settle(future: "asyncio.Future[Any]", tell: Callable[[Any], object], outcome: object) -> None:
    if not future.done():
        tell(outcome)
