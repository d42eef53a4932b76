"""Work that several threads need at the same time runs once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from foundation.concurrency.single_flight import SingleFlight

TIMEOUT = 10.0


def wait_until_waited_for(flight: SingleFlight, key: str, threads: int) -> None:
    running, give_up = flight._finished[key], time.monotonic() + TIMEOUT
    while time.monotonic() < give_up:
        if len(running._cond._waiters) == threads:  # type: ignore[attr-defined]  of the library
            return
        time.sleep(0.001)
    pytest.fail("nobody waits")


def test_work_that_is_running_is_waited_for_and_not_repeated() -> None:
    flight, ran = SingleFlight(), []

    def work() -> None:
        ran.append(threading.get_ident())
        wait_until_waited_for(flight, "a", 7)

    with ThreadPoolExecutor(8) as threads:
        runs = [threads.submit(flight.run, "a", work, wait_seconds=TIMEOUT) for _ in range(8)]
        assert sorted(run.result() for run in runs) == [False] * 7 + [True]
    assert len(ran) == 1


def test_work_of_another_key_does_not_wait() -> None:
    flight, ran = SingleFlight(), []

    def outer() -> None:
        assert flight.run("b", lambda: ran.append("b"), wait_seconds=0)

    assert flight.run("a", outer, wait_seconds=0)
    assert ran == ["b"]


def test_work_runs_again_once_it_has_ended() -> None:
    flight, ran = SingleFlight(), []
    for _ in range(2):
        assert flight.run("a", lambda: ran.append("a"), wait_seconds=0)
    assert ran == ["a", "a"]
    assert not flight._finished


def test_work_that_fails_raises_in_its_thread_and_ends_the_wait_of_others() -> None:
    flight = SingleFlight()

    def fail() -> None:
        wait_until_waited_for(flight, "a", 1)
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(flight.run, "a", fail, wait_seconds=TIMEOUT) for _ in range(2)]
        outcomes = [run.exception() or run.result() for run in runs]
    assert sorted(map(repr, outcomes)) == ["False", "ZeroDivisionError()"]
    assert not flight._finished


def test_a_wait_ends_after_the_time_that_is_given() -> None:
    flight, started, end = SingleFlight(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        end.wait(TIMEOUT)

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(flight.run, "a", work, wait_seconds=TIMEOUT)
        assert started.wait(TIMEOUT)
        assert not flight.run("a", lambda: pytest.fail("ran twice"), wait_seconds=0.01)
        end.set()
        assert running.result()
