import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest
from pytest_django import Settings

from foundation.limits import (
    Bucket,
    Limit,
    LimitStoreDown,
    Reading,
    Verdict,
    build_store,
    charge,
    charging,
    reset_store,
    still_refused,
)
from foundation.limits.in_memory import MemoryStore
from foundation.limits.in_postgresql import PostgresqlStore
from foundation.limits.in_redis import RedisStore
from foundation.limits.refusals import Refusals
from foundation.limits.window import Window, WindowState

MakeBucket = Callable[..., Bucket]


class PassingClock(Protocol):
    def __call__(self) -> float: ...

    def pass_by(self, seconds: float) -> None: ...


class Counting(MemoryStore):
    """A memory store that counts the round trips a real one would take."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(now)
        self.trips = 0

    def take(self, buckets: Sequence[Bucket]) -> Reading | None:
        self.trips += 1
        return super().take(buckets)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, clock: PassingClock) -> Counting:
    """The process' store and refusal memory, both on the test's clock."""
    counting = Counting(clock)
    monkeypatch.setattr(charging, "build_store", lambda _: counting)
    monkeypatch.setattr(charging, "_refusals", Refusals(clock))
    return counting


def get_refusal(buckets: Sequence[Bucket]) -> Verdict:
    verdict = charge(buckets)
    assert verdict is not None
    return verdict


@pytest.mark.usefixtures("store")
def test_a_refusal_tells_of_the_bucket_with_the_longest_wait(bucket: MakeBucket) -> None:
    pair = [bucket("minute", "1/m"), bucket("hour", "1/h")]
    assert charge(pair) is None
    verdict = get_refusal(pair)
    assert verdict.bucket == pair[1]
    assert (verdict.retry_after, verdict.headers()["Retry-After"]) == (3600, "3600")


def test_a_repeated_refusal_costs_no_round_trip(store: Counting, bucket: MakeBucket) -> None:
    charge([bucket(limit="1/m")])
    first = get_refusal([bucket(limit="1/m")])
    again = get_refusal([bucket(limit="1/m"), bucket("another")])
    assert again == first
    assert store.trips == 2


def test_a_remembered_refusal_counts_down_and_ends(
    store: Counting, clock: PassingClock, bucket: MakeBucket
) -> None:
    spent = bucket(limit="1/m")
    charge([spent])
    assert get_refusal([spent]).retry_after == 60
    clock.pass_by(58.5)
    verdict = still_refused(spent)
    assert verdict is not None
    assert (verdict.retry_after, verdict.reset_at) == (2, 1_767_268_860)
    clock.pass_by(1.5)
    assert still_refused(spent) is None
    assert charge([spent]) is None
    assert store.trips == 3


@pytest.mark.parametrize("moment", [0.1, 12_345.678_9, 100_000.3, 987_654.321])
def test_spec6_a_remembered_refusal_waits_no_longer_than_it_was_reported_at_first(
    bucket: MakeBucket, moment: float
) -> None:
    refusals = Refusals(lambda: moment)
    spent = bucket(limit="1/h")
    state = WindowState(spent, Window(0, 0, 1, 0), now=0)
    assert refusals.remember(state).retry_after == 3600
    recalled = refusals.recall(spent)
    assert recalled is not None
    assert recalled.retry_after == 3600


@pytest.mark.usefixtures("store")
def test_of_several_remembered_refusals_the_tightest_is_reported(
    clock: PassingClock, bucket: MakeBucket
) -> None:
    pair = [bucket("minute", "1/m"), bucket("hour", "1/h")]
    charge(pair)
    charge(pair)
    clock.pass_by(30)
    assert get_refusal(pair).bucket == pair[1]
    minute = still_refused(pair[0])
    assert minute is not None
    assert minute.retry_after == 30


@pytest.mark.usefixtures("store")
def test_a_bucket_that_had_room_is_not_remembered_as_refused(bucket: MakeBucket) -> None:
    free, full = bucket("free"), bucket("full", "1/m")
    charge([free, full])
    assert charge([free, full]) is not None
    assert still_refused(free) is None
    assert still_refused(full) is not None


@pytest.mark.usefixtures("store")
def test_a_cheaper_call_is_not_refused_for_a_dear_one(bucket: MakeBucket) -> None:
    charge([bucket(cost=8)])
    assert charge([bucket(cost=5)]) is not None
    assert still_refused(bucket(cost=6)) is not None
    assert still_refused(bucket(cost=2)) is None
    assert charge([bucket(cost=2)]) is None


@pytest.mark.usefixtures("store")
def test_a_bucket_named_twice_is_charged_the_sum(bucket: MakeBucket) -> None:
    assert charge([bucket(), bucket(cost=3)]) is None
    verdict = get_refusal([bucket(cost=7)])
    assert verdict.remaining == 6


def test_a_charge_that_is_given_back_ends_a_remembered_refusal(
    store: Counting, bucket: MakeBucket
) -> None:
    assert charge([bucket(limit="3/h", cost=3)]) is None
    assert get_refusal([bucket(limit="3/h")])
    charging.give_back([bucket(limit="3/h", cost=2)])
    assert charge([bucket(limit="3/h")]) is None
    assert store.trips == 3


def test_a_refusal_of_what_other_processes_give_back_is_not_remembered(
    store: Counting, bucket: MakeBucket
) -> None:
    usual = bucket(limit="3/h")
    budget = Bucket(usual.key, usual.limit, is_given_back=True)
    assert charge([budget, budget, budget]) is None
    for charged in ([budget], [budget, budget]):
        assert get_refusal(charged).remaining == 0
    # As another process does.
    store.give_back([bucket(limit="3/h", cost=2)])
    assert charge([budget, budget]) is None


@pytest.mark.usefixtures("store")
def test_nobody_charges_nothing() -> None:
    with pytest.raises(ValueError, match="at least one bucket"):
        charge([])


@pytest.mark.usefixtures("store")
def test_an_unknown_bucket_is_not_known_to_be_refused(bucket: MakeBucket) -> None:
    assert still_refused(bucket()) is None


def test_the_memory_of_refusals_is_bounded_and_loses_the_oldest(bucket: MakeBucket) -> None:
    refusals = Refusals(lambda: 0.0, max_refusals=2)
    for name in ("a", "b", "a", "c"):
        refusals.remember(WindowState(bucket(name), Window(0, 0, 10, 0), now=0))
    known = [refusals.recall(bucket(name)) is not None for name in ("a", "b", "c")]
    assert known == [True, False, True]


def test_the_setting_names_the_store_and_is_read_once(
    settings: Settings, bucket: MakeBucket
) -> None:
    settings.HALO_LIMIT_STORE = "memory"
    assert charge([bucket(cost=9)]) is None
    settings.HALO_LIMIT_STORE = "nonsense"
    assert get_refusal([bucket(cost=2)]).remaining == 1
    reset_store()
    with pytest.raises(ValueError, match="A limit store is"):
        charge([bucket()])


def test_threads_that_come_first_together_share_one_store(
    monkeypatch: pytest.MonkeyPatch, bucket: MakeBucket
) -> None:
    built: list[Counting] = []

    def build_slowly(_: str) -> Counting:
        time.sleep(0.02)  # no event: time in which the other threads come
        built.append(Counting(time.time))
        return built[-1]

    monkeypatch.setattr(charging, "build_store", build_slowly)
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda _: charge([bucket(limit="5/h")]), range(8)))
    assert len(built) == 1
    assert verdicts.count(None) == 5


def test_resetting_forgets_counts_and_refusals(settings: Settings, bucket: MakeBucket) -> None:
    settings.HALO_LIMIT_STORE = "memory"
    spent = bucket(limit="1/m")
    assert [charge([spent]) is None for _ in range(2)] == [True, False]
    reset_store()
    assert charge([spent]) is None


def test_a_store_that_is_down_says_so(settings: Settings, bucket: MakeBucket) -> None:
    settings.HALO_LIMIT_STORE = "redis://127.0.0.1:1/0"
    with pytest.raises(LimitStoreDown):
        charge([bucket()])
    assert still_refused(bucket()) is None


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory", MemoryStore),
        ("postgresql", PostgresqlStore),
        ("redis://127.0.0.1:6379/0", RedisStore),
        ("rediss://127.0.0.1:6379/0", RedisStore),
        ("unix:///run/redis.sock", RedisStore),
    ],
)
def test_every_kind_of_store_is_built_without_connecting(url: str, kind: type) -> None:
    store = build_store(url)
    assert isinstance(store, kind)
    store.close()


@pytest.mark.parametrize("url", ["", "locmem", "Memory", "http://:hunter2@cache/0"])
def test_an_unknown_store_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match="A limit store is") as caught:
        build_store(url)
    assert "hunter2" not in str(caught.value)


def test_a_limit_with_an_unusual_window_still_has_a_name() -> None:
    assert str(Limit(5, 30)) == "5/30s"
