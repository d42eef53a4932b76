"""The thread pool: slow jobs do not hold up quick ones, within a bound."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from unittest.mock import Mock

import pytest

from foundation.concurrency import thread_pool
from foundation.concurrency.thread_pool import SLOW_SECONDS, ThreadPool

SIZE, OVERFLOW, TIMEOUT = 2, 3, 30


class Slow:
    """Jobs that run until they are released; counts how many ran at the same time."""

    def __init__(self) -> None:
        self.running = self.max_running = 0
        self._released = threading.Event()
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.running += 1
            self.max_running = max(self.max_running, self.running)
        self._released.wait(TIMEOUT)
        with self._lock:
            self.running -= 1

    def release(self) -> None:
        self._released.set()


@pytest.fixture
def slow() -> Iterator[Slow]:
    job = Slow()
    yield job
    job.release()


@asynccontextmanager
async def pool(size: int = SIZE, overflow: int = OVERFLOW) -> AsyncIterator[ThreadPool]:
    made = ThreadPool(size, "tested", overflow=overflow)
    try:
        yield made
    finally:
        made.close()


async def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        await asyncio.sleep(0.01)


def threads() -> int:
    return sum(thread.name.startswith("tested_") for thread in threading.enumerate())


def test_a_quick_job_runs_while_every_thread_has_a_slow_one(slow: Slow) -> None:
    async def script() -> str:
        async with pool() as tested:
            for _ in range(SIZE):
                tested.submit(slow)
            return await asyncio.wait_for(tested.submit(lambda: "quick"), TIMEOUT)

    assert asyncio.run(script()) == "quick"
    assert slow.running == SIZE


def test_no_more_than_size_and_overflow_run_at_once(slow: Slow) -> None:
    async def script() -> None:
        async with pool() as tested:
            jobs = [tested.submit(slow) for _ in range(SIZE + OVERFLOW + 4)]
            await wait_until(lambda: slow.running == SIZE + OVERFLOW)
            await wait_until(lambda: tested._slow_jobs() == SIZE + OVERFLOW)
            slow.release()
            await asyncio.wait_for(asyncio.gather(*jobs), TIMEOUT)

    asyncio.run(script())
    assert slow.max_running == SIZE + OVERFLOW


def test_no_overflow_thread_starts_while_no_job_waits(slow: Slow) -> None:
    async def script() -> int:
        async with pool() as tested:
            for _ in range(SIZE):
                tested.submit(slow)
            await wait_until(lambda: tested._slow_jobs() == SIZE)
            tested._grow(asyncio.get_running_loop())
            return threads()

    assert asyncio.run(script()) == SIZE


def test_an_overflow_thread_ends_and_closes_its_connections(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(
        thread_pool.connections,
        "close_all",
        lambda: closed.append(threading.current_thread().name),
    )

    async def script() -> str:
        async with pool() as tested:
            jobs = [tested.submit(slow) for _ in range(SIZE + OVERFLOW)]
            await wait_until(lambda: slow.running == SIZE + OVERFLOW)
            slow.release()
            await asyncio.wait_for(asyncio.gather(*jobs), TIMEOUT)
            await wait_until(lambda: threads() == SIZE)
            return await asyncio.wait_for(tested.submit(lambda: "still works"), TIMEOUT)

    assert asyncio.run(script()) == "still works"
    assert len(closed) == OVERFLOW


def test_a_pool_without_overflow_keeps_its_size(slow: Slow) -> None:
    async def script() -> None:
        async with pool(1, 0) as tested:
            jobs = [tested.submit(slow) for _ in range(3)]
            await wait_until(lambda: tested._slow_jobs() == 1)
            slow.release()
            await asyncio.wait_for(asyncio.gather(*jobs), TIMEOUT)

    asyncio.run(script())
    assert slow.max_running == 1


def test_a_closed_pool_takes_no_work_and_cancels_what_waits(slow: Slow) -> None:
    async def script() -> None:
        async with pool(1, 0) as tested:
            running, waiting = tested.submit(slow), tested.submit(slow)
            await wait_until(lambda: slow.running == 1)
            tested.close()
            assert waiting.cancelled()
            with pytest.raises(RuntimeError):
                tested.submit(slow)
            slow.release()
            await asyncio.wait_for(running, TIMEOUT)

    asyncio.run(script())


def test_what_a_job_raises_is_raised_where_it_is_awaited() -> None:
    async def script() -> None:
        async with pool() as tested:
            with pytest.raises(ZeroDivisionError):
                await asyncio.wait_for(tested.submit(lambda: 1 / 0), TIMEOUT)

    asyncio.run(script())


def test_a_job_that_is_refused_because_no_thread_can_start_does_not_run_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    async def script() -> None:
        async with pool() as tested:
            with monkeypatch.context() as machine:
                no_threads = Mock(side_effect=RuntimeError("no threads"))
                machine.setattr(threading.Thread, "start", no_threads)
                with pytest.raises(RuntimeError):
                    tested.submit(lambda: done.append("refused"))
            await asyncio.wait_for(tested.submit(lambda: done.append("later")), TIMEOUT)

    asyncio.run(script())
    assert done == ["later"]


def test_existing_threads_do_the_work_if_no_other_can_start(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script() -> str:
        async with pool() as tested:
            tested.submit(slow)
            await wait_until(lambda: slow.running == 1)
            no_threads = Mock(side_effect=RuntimeError("no threads"))
            monkeypatch.setattr(threading.Thread, "start", no_threads)
            waiting = tested.submit(lambda: "done")
            slow.release()
            return await asyncio.wait_for(waiting, TIMEOUT)

    assert asyncio.run(script()) == "done"


def test_a_slow_job_is_one_that_runs_longer_than_the_limit(slow: Slow) -> None:
    async def script() -> None:
        async with pool() as tested:
            before = time.monotonic()
            tested.submit(slow)
            await wait_until(lambda: tested._slow_jobs() == 1)
            assert time.monotonic() - before >= SLOW_SECONDS

    asyncio.run(script())


def test_a_job_is_behind_one_waiting_job_of_another_owner_and_not_behind_all(slow: Slow) -> None:
    order: list[str] = []

    async def script() -> None:
        async with pool(size=1, overflow=0) as tested:
            tested.submit(slow, owner="many")
            await wait_until(lambda: slow.running == 1)
            jobs = [
                tested.submit(partial(order.append, f"many {number}"), owner="many")
                for number in range(3)
            ]
            jobs.append(tested.submit(partial(order.append, "single"), owner="other"))
            slow.release()
            await asyncio.wait_for(asyncio.gather(*jobs), TIMEOUT)

    asyncio.run(script())
    assert order == ["many 0", "single", "many 1", "many 2"]
