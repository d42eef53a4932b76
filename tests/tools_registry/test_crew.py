"""The pool of threads: what is slow holds up nothing that is quick, within a bound."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar
from unittest.mock import Mock

import pytest

from tools_registry import crew
from tools_registry.crew import LOOKS_EVERY, Crew

T = TypeVar("T")
SIZE, SPARE, PATIENCE = 2, 3, 30


def submit(crew: Crew, work: Callable[[], T]) -> Future[T]:
    """Have a crew do it, and hear of it without a loop."""
    future: Future[T] = Future()
    crew.put(lambda: future.set_result(work()), future.cancel)
    return future


class Slow:
    """Jobs that last until they are let go, and how many of them ran at a time."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self._go = threading.Event()
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self._go.wait(PATIENCE)
        with self._lock:
            self.running -= 1

    def let_go(self) -> None:
        self._go.set()


@pytest.fixture
def slow() -> Iterator[Slow]:
    job = Slow()
    yield job
    job.let_go()


@pytest.fixture
def threads() -> Iterator[Crew]:
    made = Crew(SIZE, "tested", spare=SPARE)
    yield made
    made.close()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def working() -> int:
    """Threads of the crew, whoever watches over them left out."""
    names = [thread.name for thread in threading.enumerate()]
    return sum(name.startswith("tested_") and name != "tested_watch" for name in names)


def test_a_quick_job_is_done_while_every_thread_is_at_a_slow_one(threads: Crew, slow: Slow) -> None:
    for _ in range(SIZE):
        submit(threads, slow)

    assert submit(threads, lambda: "quick").result(PATIENCE) == "quick"
    assert slow.running == SIZE


def test_no_more_than_all_spare_ones_stand_in(threads: Crew, slow: Slow) -> None:
    jobs: list[Future[None]] = [submit(threads, slow) for _ in range(SIZE + SPARE + 4)]
    until(lambda: slow.running == SIZE + SPARE)
    time.sleep(4 * LOOKS_EVERY)

    slow.let_go()

    assert not wait(jobs, PATIENCE).not_done
    assert slow.most == SIZE + SPARE


def test_nobody_stands_in_where_nobody_waits(threads: Crew, slow: Slow) -> None:
    for _ in range(SIZE):
        submit(threads, slow)
    until(lambda: slow.running == SIZE)
    time.sleep(crew.SLOW_SECONDS + 4 * LOOKS_EVERY)

    assert working() == SIZE


def test_who_stood_in_goes_and_leaves_no_connection(
    threads: Crew, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[str] = []
    closing = lambda: left.append(threading.current_thread().name)  # noqa: E731  a line is enough
    monkeypatch.setattr(crew.connections, "close_all", closing)
    jobs = [submit(threads, slow) for _ in range(SIZE + SPARE)]
    until(lambda: slow.running == SIZE + SPARE)

    slow.let_go()

    assert not wait(jobs, PATIENCE).not_done
    until(lambda: working() == SIZE)
    assert len(left) == SPARE
    assert submit(threads, lambda: "works on").result(PATIENCE) == "works on"


def test_a_crew_without_spare_ones_stays_as_large_as_it_is(slow: Slow) -> None:
    alone = Crew(1, "tested")
    jobs = [submit(alone, slow) for _ in range(3)]
    until(lambda: slow.running == 1)
    time.sleep(crew.SLOW_SECONDS + 4 * LOOKS_EVERY)

    slow.let_go()

    assert not wait(jobs, PATIENCE).not_done
    assert slow.most == 1
    alone.close()


def test_after_its_end_it_takes_nothing_and_cancels_what_waits(slow: Slow) -> None:
    ended = Crew(1, "tested", spare=0)
    begun, waiting = submit(ended, slow), submit(ended, slow)
    until(lambda: slow.running == 1)

    ended.close()

    assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        submit(ended, slow)
    slow.let_go()
    begun.result(PATIENCE)


def test_what_is_refused_for_want_of_threads_is_not_done_later(
    threads: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as machine:
        machine.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("no threads")))
        with pytest.raises(RuntimeError):
            submit(threads, lambda: "refused")
    done: list[str] = []
    submit(threads, lambda: done.append("later")).result(PATIENCE)
    assert done == ["later"]
    until(lambda: threads._unfinished == 0)


def test_those_who_are_there_do_what_nobody_else_can(
    threads: Crew, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(threads, slow)
    until(lambda: slow.running == 1)
    monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("no threads")))
    behind = submit(threads, lambda: "done")
    slow.let_go()
    assert behind.result(PATIENCE) == "done"
