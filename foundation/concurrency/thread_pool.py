"""A bounded pool of daemon threads for an event loop, with overflow threads for slow jobs.

The jobs that wait run by turns: one of each owner, then the next of each. So the hundreds of jobs
that one caller submits at a time hold up those of others by one each.

Not `concurrent.futures.ThreadPoolExecutor`: the interpreter joins its threads at exit, so that a
tool that never returns would keep the process running. It also has no overflow: as many slow jobs
as there are threads would hold up every quick one.
"""

import asyncio
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar

from django.db import connections

T = TypeVar("T")
Job: TypeAlias = tuple["asyncio.Future[Any]", Callable[[], Any]]

# A job that takes longer most likely waits for I/O and does not use the processor.
SLOW_SECONDS: Final = 0.5
GROWTH_INTERVAL: Final = SLOW_SECONDS / 5


class _Turns:
    """Jobs that wait, taken by turns of their owners; those of one owner in their order."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Hashable, deque[Job]] = OrderedDict()

    def add(self, owner: Hashable, job: Job) -> None:
        self._jobs.setdefault(owner, deque()).append(job)

    def take(self) -> Job | None:
        """Returns the next job, or None if none waits."""
        if not self._jobs:
            return None
        owner, jobs = self._jobs.popitem(last=False)
        job = jobs.popleft()
        if jobs:
            self._jobs[owner] = jobs
        return job


class ThreadPool:
    """At most `size` threads, and at most `overflow` further ones, one for each slow job.

    Threads start on demand. Overflow threads start only while jobs are queued, and end when they
    are no longer needed. Use a pool from one event loop.
    """

    def __init__(self, size: int, name: str, *, overflow: int = 0) -> None:
        self._size = size
        self._overflow = overflow
        self._name = name
        self._turns = _Turns()
        # True for each job that was added to the turns, None for each thread that has to end.
        self._wake: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0
        self._started: dict[int, float] = {}  # when each busy thread began its job
        self._growth: asyncio.TimerHandle | None = None
        self._is_closed = False

    def submit(self, work: Callable[[], T], *, owner: Hashable = None) -> "asyncio.Future[T]":
        """Run `work` in a thread, in its owner's turn, unless the future is cancelled before.

        Raises RuntimeError once the pool is closed, or if no thread can be started.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot schedule new work after closing")
            if self._unfinished >= self._threads:
                self._add_thread(loop)
            self._turns.add(owner, (future, work))
            self._wake.put(True)
            self._unfinished += 1
        return future

    def close(self) -> None:
        """Accepts no more jobs and cancels those that have not started. Does not wait."""
        with self._lock:
            self._is_closed = True
            if self._growth is not None:
                self._growth.cancel()
            while (job := self._turns.take()) is not None:
                job[0].cancel()
            for _ in range(self._threads):
                self._wake.put(None)

    def _add_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._threads < self._size:
            try:
                self._start_worker()
            except RuntimeError:  # the machine has no more threads; the existing ones do the work
                if not self._threads:
                    raise
        elif self._overflow and self._growth is None:
            self._growth = loop.call_later(GROWTH_INTERVAL, self._grow, loop)

    def _start_worker(self) -> None:
        name = f"{self._name}_{self._threads + 1}"
        threading.Thread(target=self._work, name=name, daemon=True).start()
        # Counted after the start, so that a failed start does not reduce the size of the pool.
        self._threads += 1

    def _grow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts overflow threads as long as jobs are queued."""
        with self._lock:
            self._growth = None
            waiting = self._unfinished - self._threads
            if self._is_closed or waiting <= 0:
                return
            missing = self._size + min(self._slow_jobs(), self._overflow) - self._threads
            with suppress(RuntimeError):  # the machine has no more threads for now
                for _ in range(min(missing, waiting)):
                    self._start_worker()
            self._growth = loop.call_later(GROWTH_INTERVAL, self._grow, loop)

    def _work(self) -> None:
        thread = threading.get_ident()
        while self._wake.get() is not None:
            with self._lock:
                job = self._turns.take()
            if job is None:  # the pool was closed meanwhile
                continue
            self._started[thread] = time.monotonic()
            _run(*job)
            del job  # an idle thread keeps no reference to its last job
            if self._is_surplus(thread):
                connections.close_all()
                return

    def _is_surplus(self, thread: int) -> bool:
        """Marks the job of a thread as done, and returns whether the thread must end."""
        with self._lock:
            del self._started[thread]
            self._unfinished -= 1
            # After `close`, each thread ends when it takes a None from the queue.
            if self._is_closed or self._threads <= self._size + self._slow_jobs():
                return False
            self._threads -= 1
            return True

    def _slow_jobs(self) -> int:
        since = time.monotonic() - SLOW_SECONDS
        # Copied, because threads add their start times without the lock.
        return sum(started < since for started in list(self._started.values()))


def _run(future: "asyncio.Future[Any]", work: Callable[[], Any]) -> None:
    if future.cancelled():
        return
    result: Any
    settle: Callable[[Any], object]
    try:
        result, settle = work(), future.set_result
    except BaseException as error:  # noqa: BLE001  it is raised where the future is awaited
        result, settle = error, future.set_exception
    with suppress(RuntimeError):  # the loop is closed, so no coroutine waits for the result
        future.get_loop().call_soon_threadsafe(_settle, future, settle, result)
    del result, settle, future  # an error among them refers to this frame


def _settle(future: "asyncio.Future[Any]", settle: Callable[[Any], object], result: object) -> None:
    if not future.done():
        settle(result)
