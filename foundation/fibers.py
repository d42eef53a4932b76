"""Plain functions that wait on the loop: each on a fiber, a stack that is left and resumed.

A function on a fiber is written like any other. Where it waits for a socket (a statement of the hot
path, a counter in Redis) its fiber pauses and the loop goes on with others; what waits in any other
way is handed to a thread (`elsewhere`). Without a fiber the same code simply waits.

Nothing may hold a lock where it pauses: whoever wants it next would stop the loop.
"""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from greenlet import GreenletExit, getcurrent, greenlet

T = TypeVar("T")
# Has a thread do some work, for the loop that it is called on.
Threads: TypeAlias = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]
Maker: TypeAlias = Callable[["Ground"], Any]


class Ground:
    """What the fibers of one loop stand on: the loop, its threads, and what they share.

    `threads` do what would hold the loop, and may be held for long; `own` are for what the shared
    things need. Made on the loop; `close` lets go of what is shared, for good.
    """

    def __init__(self, threads: Threads, own: Threads) -> None:
        self.loop: Final = asyncio.get_running_loop()
        self.threads: Final = threads
        self.own: Final = own
        self._shared: dict[Hashable, Any] = {}
        self._is_closed = False

    def shared(self, key: Hashable, make: Maker) -> Any:
        """What the fibers of this loop share under a key, made when it is first asked for.

        It has a method `close`. Raises RuntimeError once the ground is closed.
        """
        if key not in self._shared:
            if self._is_closed:
                raise RuntimeError("the server is about to stop")
            self._shared[key] = make(self)
        return self._shared[key]

    def unwatch(self, fd: int) -> None:
        """Hear no more of a socket that the loop was told to watch."""
        if not self.loop.is_closed():
            self.loop.remove_reader(fd)
            self.loop.remove_writer(fd)

    def close(self) -> None:
        self._is_closed = True
        while self._shared:
            self._shared.popitem()[1].close()


class Fiber(greenlet):
    """A stack of its own, run by the loop of its ground; `start` makes one."""

    def __init__(self, run: Callable[[], None], ground: Ground) -> None:
        super().__init__(run)
        self.ground: Final = ground

    def pause(self) -> Any:
        """Have the loop go on. Returns what `resume` gives, raises what `fail` does.

        Called on the fiber itself; the other two by the loop alone, for it is the loop that goes on
        when this fiber pauses again or ends.
        """
        return cast(greenlet, self.parent).switch()

    def resume(self, value: Any = None) -> None:
        self.switch(value)

    def fail(self, error: BaseException) -> None:
        self.throw(error)


def start(work: Callable[[], T], ground: Ground) -> "asyncio.Future[T]":
    """Run work on a fiber: at once, up to its first wait. The future has what comes of it.

    Whoever cancels the future hears no more of the work, which goes on to its end.
    """
    future: asyncio.Future[T] = ground.loop.create_future()
    Fiber(lambda: _run(work, future), ground).switch()
    return future


def current() -> Fiber | None:
    """The fiber that this is run on, if it is."""
    running = getcurrent()
    return running if isinstance(running, Fiber) else None


def elsewhere(work: Callable[[], T]) -> T:
    """Do what would hold the loop: in a thread where this is a fiber, else right here."""
    fiber = current()
    if fiber is None:
        return work()
    result, error = awaited(fiber, fiber.ground.threads(partial(_tried, work)))
    if error is None:
        return cast(T, result)
    try:
        raise error
    finally:
        del error  # it knows this frame, which would keep it


def _tried(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    # As a result: a future takes not every exception (StopIteration), and means others itself.
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001  it is raised where it was waited for
        return None, error


def awaited(fiber: Fiber, future: "asyncio.Future[T]") -> T:
    """Wait on a fiber for a future of its loop. Raises what the future holds."""
    if not future.done():
        future.add_done_callback(fiber.resume)
        fiber.pause()
    error = future.exception()
    if error is None:
        return future.result()
    try:
        # Others may wait for the same: each would add its frames to those of all before.
        raise error.with_traceback(None)
    finally:
        del error  # it knows this frame, which would keep it


def _run(work: Callable[[], T], future: "asyncio.Future[T]") -> None:
    try:
        result = work()
    except (GreenletExit, asyncio.CancelledError):
        # Its stack is let go, or a thread that it waited for will not begin any more.
        if not future.get_loop().is_closed():
            future.cancel()
    except BaseException as error:  # noqa: BLE001  it is for whoever waits for the result
        if not future.done():
            # The one that a future does not take.
            is_stop = isinstance(error, StopIteration)
            future.set_exception(RuntimeError("StopIteration") if is_stop else error)
    else:
        if not future.done():
            future.set_result(result)
