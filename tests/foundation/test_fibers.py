"""Plain functions that wait on the loop."""

import asyncio
import gc
import threading
import time
import weakref
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from greenlet import GreenletExit

from foundation import fibers
from foundation.fibers import Ground
from tests.drivers.shore import alone, ashore, gathered, together


def test_without_a_fiber_work_is_done_right_here() -> None:
    assert fibers.current() is None
    assert fibers.elsewhere(threading.get_ident) == threading.get_ident()


def test_on_a_fiber_work_elsewhere_is_done_by_a_thread() -> None:
    assert alone(lambda: fibers.elsewhere(threading.get_ident)) != threading.get_ident()
    assert alone(threading.get_ident) == threading.get_ident()


def test_work_elsewhere_is_on_no_fiber() -> None:
    assert alone(lambda: fibers.elsewhere(fibers.current)) is None


def test_a_fiber_that_waits_holds_up_nobody() -> None:
    gate = threading.Event()
    heard: list[str] = []

    def waits() -> None:
        fibers.elsewhere(lambda: gate.wait(20))
        heard.append("waited")

    def goes_on() -> None:
        heard.append("went on")
        gate.set()

    together(waits, goes_on)
    assert heard == ["went on", "waited"]


@pytest.mark.parametrize(
    "error", [ValueError("no"), StopIteration("over"), SystemExit(3)], ids=repr
)
def test_what_work_elsewhere_raises_is_raised_where_it_was_asked_for(error: BaseException) -> None:
    def fails() -> None:
        raise error

    def asks() -> None:
        with pytest.raises(type(error)) as raised:
            fibers.elsewhere(fails)
        assert raised.value is error

    alone(asks)


def test_what_a_fiber_raises_is_in_its_future() -> None:
    def fails() -> None:
        fibers.elsewhere(lambda: None)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        alone(fails)


def test_a_cancelled_future_leaves_its_fiber_to_its_end() -> None:
    gate = threading.Event()

    def work(ended: asyncio.Event) -> None:
        fibers.elsewhere(lambda: gate.wait(20))
        ended.set()

    async def run(ground: Ground) -> None:
        ended = asyncio.Event()
        future = fibers.start(partial(work, ended), ground)
        future.cancel()
        gate.set()
        await asyncio.wait_for(ended.wait(), 20)
        assert future.cancelled()

    ashore(run)


def test_a_fiber_whose_thread_will_not_begin_is_cancelled() -> None:
    async def run(ground: Ground) -> bool:
        never: asyncio.Future[Any] = ground.loop.create_future()
        nobody = Ground(lambda _: never, lambda _: never)
        ended = fibers.start(lambda: fibers.elsewhere(int), nobody)
        never.cancel()
        await asyncio.wait([ended])
        return ended.cancelled()

    assert ashore(run) is True


def test_a_thousand_fibers_are_let_go_when_they_have_ended() -> None:
    class Thing:
        pass

    kept: list[weakref.ref[Thing]] = []

    def work() -> None:
        thing = Thing()
        kept.append(weakref.ref(thing))
        fibers.elsewhere(lambda: None)

    together(*[work] * 1000)
    gc.collect()
    assert len(kept) == 1000
    assert not any(one() for one in kept)


def test_fibers_of_one_ground_share_what_is_made_once_and_closed_with_it() -> None:
    closed: list[str] = []

    class Shared:
        def close(self) -> None:
            closed.append("closed")

    made: list[Shared] = []

    def make(_ground: Ground) -> Shared:
        made.append(Shared())
        return made[-1]

    def work() -> Any:
        fiber = fibers.current()
        assert fiber is not None
        return fiber.ground.shared("key", make)

    async def run(ground: Ground) -> list[Any]:
        found = await gathered(ground, work, work)
        assert not closed
        return found

    first, second = ashore(run)
    assert first is second
    assert (len(made), closed) == (1, ["closed"])


def test_what_is_told_to_one_fiber_is_told_to_nobody_else() -> None:
    def asks(number: int) -> Any:
        return lambda: fibers.elsewhere(lambda: (time.sleep(number % 3 / 100), number)[1])

    assert together(*map(asks, range(50))) == list(range(50))


def test_a_closed_ground_makes_nothing_new() -> None:
    def asks() -> Any:
        fiber = fibers.current()
        assert fiber is not None
        return fiber.ground.shared("key", lambda _ground: None)

    async def run(ground: Ground) -> list[Any]:
        ground.close()
        return await gathered(ground, asks)

    assert isinstance(ashore(run)[0], RuntimeError)


@pytest.mark.parametrize("error", [StopIteration(), GreenletExit()], ids=repr)
def test_whatever_ends_a_fiber_ends_its_future(error: BaseException) -> None:
    def fails() -> None:
        raise error

    async def run(ground: Ground) -> bool:
        future = fibers.start(fails, ground)
        await asyncio.wait([future], timeout=5)
        return future.cancelled() or isinstance(future.exception(), RuntimeError)

    assert ashore(run) is True


def test_a_failure_elsewhere_keeps_nothing_of_the_request() -> None:
    class Thing:
        pass

    kept: list[weakref.ref[Thing]] = []

    def fails() -> None:
        raise ValueError

    def work() -> None:
        thing = Thing()
        kept.append(weakref.ref(thing))
        with suppress(ValueError):
            fibers.elsewhere(fails)

    gc.disable()
    try:
        together(*[work] * 20)
        assert [one() for one in kept] == [None] * 20
    finally:
        gc.enable()
