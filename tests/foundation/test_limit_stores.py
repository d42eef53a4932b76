import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any, Protocol

import pytest
import redis
from django.db import OperationalError, connection

from foundation.limits import Bucket, LimitStoreDown, Store
from foundation.limits import in_postgresql as postgresql_store
from foundation.limits.in_memory import MemoryStore
from foundation.limits.in_postgresql import PostgresqlStore, prune_counters
from foundation.limits.in_redis import KEY_PREFIX, RedisStore
from foundation.limits.window import MAX_COST, refusal
from tests.drivers.limits import read_counts

THREADS = 24
MAX_POOLED = 100  # connections that the client makes for one pool

MakeBucket = Callable[..., Bucket]


class StoreCounters(Protocol):
    store: Store
    age: Callable[[Bucket, int], None]


class RedisCounters(Protocol):
    store: RedisStore


def count_passed(store: Store, bucket: Bucket, calls: int) -> int:
    return sum(store.take([bucket]) is None for _ in range(calls))


def test_a_bucket_of_the_largest_limit_can_be_read_without_charging_it(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    largest = bucket(limit="1000000/d")
    probe = replace(largest, cost=MAX_COST)
    assert counters.store.take([largest]) is None
    for _ in range(2):
        reading = counters.store.take([probe])
        assert reading is not None
        assert refusal(reading.states([largest])[0]).remaining == 999_999


def test_exactly_the_limit_passes_from_a_fresh_bucket(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    assert count_passed(counters.store, bucket(), 15) == 10


def test_the_window_begins_with_the_first_call(counters: StoreCounters, bucket: MakeBucket) -> None:
    assert count_passed(counters.store, bucket(), 5) == 5
    counters.age(bucket(), 3500)
    assert count_passed(counters.store, bucket(), 10) == 5


def test_half_a_window_later_half_of_the_calls_are_free_again(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    count_passed(counters.store, bucket(), 5)
    counters.age(bucket(), 3000)
    count_passed(counters.store, bucket(), 5)
    counters.age(bucket(), 2400)
    assert count_passed(counters.store, bucket(), 10) == 5


def test_spec6_a_window_after_the_last_call_all_calls_are_free_again(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    count_passed(counters.store, bucket(), 10)
    counters.age(bucket(), 3590)
    assert count_passed(counters.store, bucket(), 1) == 0
    counters.age(bucket(), 10)
    assert count_passed(counters.store, bucket(), 15) == 10


def test_spec6_a_spent_limit_is_never_said_to_take_longer_than_its_window(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    spent = bucket(limit="10/h")
    count_passed(counters.store, spent, 10)
    for seconds in (0, 1, 1000):
        counters.age(spent, seconds)
        reading = counters.store.take([spent])
        assert reading is not None
        (state,) = reading.states([spent])
        assert 0 < refusal(state).retry_after <= 3600 - seconds


def test_one_full_bucket_keeps_the_others_from_being_charged(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    free, full = bucket("free"), bucket("full", "2/h")
    outcomes = [counters.store.take([free, full]) is None for _ in range(5)]
    assert outcomes == [True, True, False, False, False]
    assert count_passed(counters.store, free, 15) == 8


def test_a_refused_call_does_not_count(counters: StoreCounters, bucket: MakeBucket) -> None:
    assert count_passed(counters.store, bucket(cost=8), 5) == 1
    assert count_passed(counters.store, bucket(), 5) == 2


def test_a_cost_counts_in_full_or_not_at_all(counters: StoreCounters, bucket: MakeBucket) -> None:
    assert counters.store.take([bucket(cost=7)]) is None
    reading = counters.store.take([bucket(cost=4)])
    assert reading is not None
    assert reading.windows[0].current == 7
    assert counters.store.take([bucket(cost=3)]) is None


def test_the_windows_come_back_in_the_order_of_the_buckets(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    named = [bucket(name, cost=cost) for cost, name in enumerate("abcdefgh", start=1)]
    assert counters.store.take(named) is None
    assert read_counts(counters.store, *named) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", ["", "\x00", "\ud800", "'; DROP TABLE x; --", "%s{}:", "k" * 9999])
def test_a_key_may_hold_any_text(counters: StoreCounters, bucket: MakeBucket, name: str) -> None:
    assert count_passed(counters.store, bucket(name), 15) == 10


def test_the_largest_limit_and_cost_are_counted_exactly(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    most = bucket(limit="1000000/d", cost=999_999)
    assert counters.store.take([most]) is None
    assert count_passed(counters.store, bucket(limit="1000000/d"), 3) == 1


@pytest.mark.parametrize(("limit", "calls", "fit"), [("10/h", 1, 10), ("100/h", 10, 100)])
def test_24_threads_share_what_the_limit_allows(
    counters: StoreCounters, bucket: MakeBucket, limit: str, calls: int, fit: int
) -> None:
    def charge(_: int) -> int:
        return count_passed(counters.store, bucket(limit=limit), calls)

    assert run_at_once(charge, counters.store, bucket("warm")) == fit


def test_threads_that_name_the_buckets_crosswise_neither_lock_up_nor_overcharge(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    scarce, ample = bucket("scarce", "100/h"), bucket("ample", "1000/h")

    def charge(turn: int) -> int:
        pair = [scarce, ample] if turn % 2 else [ample, scarce]
        return sum(counters.store.take(pair) is None for _ in range(10))

    assert run_at_once(charge, counters.store, bucket("warm")) == 100
    assert read_counts(counters.store, ample) == [100]


def run_at_once(charge: Callable[[int], int], store: Store, warm: Bucket) -> int:
    """Let 24 threads charge together, each already connected, and add up what passed."""
    start = Barrier(THREADS)

    def run(turn: int) -> int:
        try:
            store.take([warm])
            start.wait(timeout=30)
            return charge(turn)
        finally:
            connection.close()

    usual = sys.getswitchinterval()
    # Threads change places as often as they can, so that a missing lock shows.
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return sum(pool.map(run, range(THREADS)))
    finally:
        sys.setswitchinterval(usual)


def test_memory_forgets_the_bucket_charged_longest_ago(bucket: MakeBucket) -> None:
    store = MemoryStore(max_buckets=3)
    for name in ("a", "b", "c", "a", "d"):
        store.take([bucket(name)])
    assert read_counts(store, *map(bucket, ("a", "c", "d", "b"))) == [2, 1, 1, 0]


def test_redis_learns_the_script_again_after_forgetting_it(
    redis_counters: RedisCounters, bucket: MakeBucket
) -> None:
    assert redis_counters.store.take([bucket()]) is None
    redis.Redis.from_url(os.environ["REDIS_URL"]).script_flush()
    assert redis_counters.store.take([bucket()]) is None
    assert read_counts(redis_counters.store, bucket()) == [2]


def test_a_connection_that_redis_has_closed_is_replaced_and_the_charge_counts(
    redis_counters: RedisCounters, bucket: MakeBucket
) -> None:
    assert redis_counters.store.take([bucket()]) is None
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.client_kill_filter(_id=redis_counters.store._ask("CLIENT", "ID"))
    assert redis_counters.store.take([bucket()]) is None
    assert read_counts(redis_counters.store, bucket()) == [2]


def test_redis_lets_counters_expire_once_they_weigh_nothing(
    redis_counters: RedisCounters, bucket: MakeBucket
) -> None:
    redis_counters.store.take([bucket()])
    left: Any = redis.Redis.from_url(os.environ["REDIS_URL"]).pttl(KEY_PREFIX + bucket().digest)
    assert 3_000_000 < left <= 3_600_000


def test_a_redis_that_is_not_there_is_a_store_that_is_down(bucket: MakeBucket) -> None:
    store = RedisStore("redis://127.0.0.1:1/0")
    with pytest.raises(LimitStoreDown):
        store.take([bucket()])
    store.close()


def test_a_database_that_does_not_answer_is_a_store_that_is_down(
    monkeypatch: pytest.MonkeyPatch, bucket: MakeBucket
) -> None:
    class Gone:
        def cursor(self) -> None:
            raise OperationalError("the connection is closed")

        def close_if_unusable_or_obsolete(self) -> None: ...

    monkeypatch.setattr(postgresql_store, "connection", Gone())
    with pytest.raises(LimitStoreDown):
        PostgresqlStore().take([bucket()])


def test_other_databases_have_nothing_to_prune(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sqlite:
        vendor = "sqlite"

    monkeypatch.setattr(postgresql_store, "connection", Sqlite())
    assert prune_counters() == 0


@pytest.mark.django_db
def test_only_postgresql_gets_a_table() -> None:
    tables = connection.introspection.table_names()
    assert ("foundation_rate_counter" in tables) == (connection.vendor == "postgresql")


def test_what_is_given_back_can_be_charged_again(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    other = bucket("other")
    count_passed(counters.store, bucket(), 10)
    count_passed(counters.store, other, 10)
    counters.store.give_back([bucket(cost=2)])
    assert count_passed(counters.store, bucket(), 5) == 2
    assert count_passed(counters.store, other, 5) == 0


def test_giving_back_leaves_no_bucket_below_nothing(
    counters: StoreCounters, bucket: MakeBucket
) -> None:
    counters.store.give_back([bucket(), bucket("other")])
    count_passed(counters.store, bucket(), 1)
    counters.store.give_back([bucket(cost=5)])
    assert count_passed(counters.store, bucket(), 15) == 10


def test_threads_that_come_and_go_find_redis_each_time(
    redis_counters: RedisCounters, bucket: MakeBucket
) -> None:
    taken: list[bool] = []
    for _ in range(MAX_POOLED + 5):
        thread = Thread(target=lambda: taken.append(redis_counters.store.take([bucket()]) is None))
        thread.start()
        thread.join()
    assert len(taken) == MAX_POOLED + 5
