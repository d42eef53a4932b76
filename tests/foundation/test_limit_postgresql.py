import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from foundation.limits import Bucket, LimitStoreDown, Store, prune_counters
from tests.drivers.limits import read_counts

pytestmark = [
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="the database of this run is not PostgreSQL"
    ),
    pytest.mark.django_db(transaction=True),
]

MakeBucket = Callable[..., Bucket]


class PostgresqlCounters(Protocol):
    store: Store
    age: Callable[[Bucket, int], None]


@pytest.fixture
def store(postgresql_counters: PostgresqlCounters) -> Store:
    return postgresql_counters.store


def count_passed(store: Store, bucket: Bucket, calls: int) -> int:
    return sum(store.take([bucket]) is None for _ in range(calls))


def test_postgresql_charges_all_buckets_in_one_statement(store: Store, bucket: MakeBucket) -> None:
    with CaptureQueriesContext(connection) as queries:
        store.take([bucket("a"), bucket("b"), bucket("c")])
    assert len(queries) == 1


def test_postgresql_counts_inside_a_transaction_and_is_rolled_back_with_it(
    store: Store, bucket: MakeBucket
) -> None:
    with transaction.atomic():
        assert count_passed(store, bucket(), 3) == 3
        transaction.set_rollback(True)
    assert read_counts(store, bucket()) == [0]


def test_postgresql_is_asked_again_over_a_new_connection_once_the_old_one_broke(
    store: Store, bucket: MakeBucket
) -> None:
    store.take([bucket()])
    connection.connection.close()
    with pytest.raises(LimitStoreDown):
        store.take([bucket()])
    assert read_counts(store, bucket()) == [1]


def test_postgresql_lets_a_charge_wait_for_the_one_before_it(
    store: Store, bucket: MakeBucket
) -> None:
    assert store.take([bucket()]) is None

    def late() -> bool:
        try:
            return store.take([bucket()]) is None
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert count_passed(store, bucket(), 9) == 9
            outcome = pool.submit(late)
            wait_until_somebody_waits_for_us()
        assert outcome.result(timeout=30) is False


def wait_until_somebody_waits_for_us() -> None:
    give_up = time.monotonic() + 30
    waiting = 0
    while not waiting and time.monotonic() < give_up:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks"
                " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            )
            [waiting] = cursor.fetchone()
    assert waiting


def test_pruning_removes_what_weighs_nothing_and_only_that(
    postgresql_counters: PostgresqlCounters, store: Store, bucket: MakeBucket
) -> None:
    prune_counters()
    for name, age in (("old", 3600), ("older", 72_000), ("young", 3500)):
        store.take([bucket(name, cost=10)])
        postgresql_counters.age(bucket(name), age)
    assert prune_counters() == 2
    assert prune_counters() == 0
    assert count_passed(store, bucket("young"), 15) == 0


def test_the_counters_are_kept_out_of_the_write_ahead_log() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relpersistence FROM pg_class WHERE oid = 'foundation_rate_counter'::regclass"
        )
        assert cursor.fetchone() == ("u",)
