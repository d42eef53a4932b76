"""Bodies within their time, looked after by one timer."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from foundation.asgi import Bodies, RequestBody

ROOM = 100
SHORT, LONG = 0.05, 30.0


async def never() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def receive_at_once() -> dict[str, Any]:
    return {"type": "http.request", "body": b"{}"}


def run_for(run: Callable[[Bodies], Awaitable[Any]], seconds: float) -> Any:
    async def whole() -> Any:
        async with asyncio.timeout(20):
            return await run(Bodies(seconds))

    return asyncio.run(whole())


def test_each_that_does_not_come_is_given_up_whatever_came_before() -> None:
    async def run(bodies: Bodies) -> list[Any]:
        first = asyncio.create_task(RequestBody(bodies, never).read(ROOM))
        came = asyncio.create_task(RequestBody(bodies, receive_at_once).read(ROOM))
        await asyncio.sleep(SHORT / 2)  # no event: the second comes in the time of the first
        second = asyncio.create_task(RequestBody(bodies, never).read(ROOM))
        outcomes = await asyncio.gather(first, came, second, return_exceptions=True)
        await asyncio.sleep(2 * SHORT)  # no event: nobody looks any more by then
        later = asyncio.create_task(RequestBody(bodies, never).read(ROOM))
        return [*outcomes, *await asyncio.gather(later, return_exceptions=True)]

    first, came, second, later = run_for(run, SHORT)
    assert came == b"{}"
    assert [type(one) for one in (first, second, later)] == [TimeoutError] * 3


def test_a_body_that_came_while_the_event_loop_was_busy_is_read() -> None:
    async def run(bodies: Bodies) -> bytes:
        coming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        reading = asyncio.create_task(RequestBody(bodies, coming.get).read(ROOM))
        await asyncio.sleep(0)
        # Due after the time of the body, and before the loop looks at either.
        event = {"type": "http.request", "body": b"{}"}
        asyncio.get_running_loop().call_later(1.5 * SHORT, coming.put_nowait, event)
        time.sleep(3 * SHORT)  # noqa: ASYNC251  no event: it is the loop that is busy
        return await reading

    assert run_for(run, SHORT) == b"{}"


def test_who_is_cancelled_by_somebody_else_is_not_reported_as_a_timeout() -> None:
    async def run(bodies: Bodies) -> bool:
        reading = asyncio.create_task(RequestBody(bodies, never).read(ROOM))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        return reading.cancelled()

    assert run_for(run, LONG) is True


def test_who_goes_on_after_a_body_that_did_not_come_is_cancelled_by_nobody() -> None:
    async def run(bodies: Bodies) -> int:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(TimeoutError):
            await RequestBody(bodies, never).read(ROOM)
        return task.cancelling()

    assert run_for(run, SHORT) == 0


@pytest.mark.parametrize("is_read_before", [True, False])
def test_once_the_server_is_to_stop_little_time_is_left(*, is_read_before: bool) -> None:
    async def run(bodies: Bodies) -> list[Any]:
        if not is_read_before:
            await RequestBody(bodies, receive_at_once).read(ROOM)
            bodies.hurry()
        reading = asyncio.create_task(RequestBody(bodies, never).read(ROOM))
        await asyncio.sleep(0)
        if is_read_before:
            bodies.hurry()
        return await asyncio.gather(reading, return_exceptions=True)

    assert [type(one) for one in run_for(run, LONG)] == [TimeoutError]
