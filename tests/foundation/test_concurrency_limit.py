"""How many may be in progress at a time, in total and for each key."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitReached


def acquire_each(limit: ConcurrencyLimit, *keys: str) -> list[bool]:
    """Which of them are acquired; none is released."""
    return [limit.acquire(key) for key in keys]


def test_what_is_held_is_released_whatever_happens() -> None:
    limit = ConcurrencyLimit(1)
    for _ in range(3):
        with suppress(ZeroDivisionError), limit.hold("a"):
            assert not limit.acquire("a")
            raise ZeroDivisionError
    assert acquire_each(limit, "b") == [True]
    assert set(limit._in_progress) == {"b"}


def test_the_total_is_for_all_keys() -> None:
    limit = ConcurrencyLimit(3)
    assert acquire_each(limit, *"aabb") == [True, True, True, False]
    limit.release("a")
    assert acquire_each(limit, *"bb") == [True, False]


def test_a_key_at_its_limit_stops_no_other() -> None:
    limit = ConcurrencyLimit(per_key=2)
    assert acquire_each(limit, *"aaabb") == [True, True, False, True, True]
    limit.release("a")
    assert acquire_each(limit, *"aa") == [True, False]


def test_a_block_at_the_limit_does_not_run() -> None:
    limit = ConcurrencyLimit(0)
    with pytest.raises(ConcurrencyLimitReached), limit.hold("a"):
        pytest.fail("the block ran")
    assert not limit._in_progress


def test_what_was_not_acquired_cannot_be_released() -> None:
    limit = ConcurrencyLimit(2)
    limit.acquire("a")
    with pytest.raises(ValueError, match="more often"):
        limit.release("b")
    assert acquire_each(limit, *"bb") == [True, False]


def test_threads_never_exceed_a_limit() -> None:
    limit = ConcurrencyLimit(50, per_key=20)
    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(limit.acquire, "abcd" * 100))
    assert sum(got) == 50
    assert max(limit._in_progress.values()) <= 20
