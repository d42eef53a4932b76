"""The calls of this process that are changing something: a server that stops waits for them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_condition: Final = threading.Condition()
_running: Final[set[object]] = set()


@contextmanager
def hold() -> Iterator[None]:
    """Counts a call until its outcome is stored."""
    call = object()
    with _condition:
        _running.add(call)
    try:
        yield
    finally:
        with _condition:
            _running.discard(call)
            _condition.notify_all()


def wait_until_idle(seconds: float) -> bool:
    """Waits for the calls that run, and returns whether all of them have ended."""
    until = time.monotonic() + seconds
    with _condition:
        while _running and (left := until - time.monotonic()) > 0:
            _condition.wait(left)
        return not _running
