"""The connection to Redis that fibers share: counted right, lost for all, made anew."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import redis

from foundation.fibers import Ground
from foundation.limits import Bucket, LimitStoreDown
from foundation.limits.in_redis import RedisStore
from tests.drivers.shore import ashore, gathered, together

MakeBucket = Callable[..., Bucket]
URL = os.environ.get("REDIS_URL", "")
NAMED = f"halo-fibers-under-test-{os.getpid()}"

pytestmark = pytest.mark.skipif(not URL, reason="REDIS_URL names no Redis to count in")


@pytest.fixture
def store() -> Iterator[RedisStore]:
    made = RedisStore(f"{URL}?client_name={NAMED}")
    yield made
    made.close()


def admin() -> "closing[Any]":
    return closing(redis.Redis.from_url(URL))


def ours() -> list[str]:
    """The ids of the connections that a store of these tests has open."""
    with admin() as speaker:
        return [one["id"] for one in speaker.client_list() if one["name"] == NAMED]


def takes(store: RedisStore, bucket: Bucket) -> Callable[[], bool]:
    return lambda: store.take([bucket]).allowed


def test_exactly_the_limit_passes_when_all_come_at_once(
    store: RedisStore, bucket: MakeBucket
) -> None:
    allowed = together(*[takes(store, bucket())] * 300)
    assert (allowed.count(True), allowed.count(False)) == (10, 290)


def test_two_hundred_fibers_share_one_connection(store: RedisStore, bucket: MakeBucket) -> None:
    async def run(ground: Ground) -> int:
        await gathered(ground, *[takes(store, bucket(limit="1000/h"))] * 200)
        return len(ours())

    assert ashore(run) == 1


def test_a_script_that_redis_forgot_is_taught_again(store: RedisStore, bucket: MakeBucket) -> None:
    async def run(ground: Ground) -> list[bool]:
        before = await gathered(ground, *[takes(store, bucket())] * 3)
        with admin() as speaker:
            speaker.script_flush()
        return [*before, *await gathered(ground, *[takes(store, bucket())] * 9)]

    assert ashore(run).count(True) == 10


def test_a_connection_that_was_ended_is_made_anew(store: RedisStore, bucket: MakeBucket) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, takes(store, bucket()))
        with admin() as speaker:
            speaker.client_kill_filter(_id=ours()[0])
        # The loop hears of it before anybody asks again, or one who asks does.
        first, *_ = await gathered(ground, takes(store, bucket()))
        return [first, *await gathered(ground, takes(store, bucket()))]

    first, second = ashore(run)
    assert first is True or isinstance(first, LimitStoreDown)
    assert second is True


def test_what_is_given_back_is_free_again(store: RedisStore, bucket: MakeBucket) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, *[takes(store, bucket())] * 10)
        await gathered(ground, lambda: store.give_back([bucket()]))
        return await gathered(ground, *[takes(store, bucket())] * 2)

    assert sorted(ashore(run)) == [False, True]


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that greets as Redis does and then says nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()
        greeting = threading.Thread(target=greet, args=(listening, ended))
        greeting.start()
        yield listening.getsockname()[1]
        ended.set()
        listening.shutdown(socket.SHUT_RDWR)
        greeting.join()


def greet(listening: socket.socket, ended: threading.Event) -> None:
    kept = []
    while not ended.is_set():
        try:
            connection, _ = listening.accept()
        except OSError:
            break
        kept.append(connection)
        connection.settimeout(0.2)
        try:
            while b"EVALSHA" not in (said := connection.recv(4096)) and said:
                connection.sendall(b"+OK\r\n" * max(1, said.count(b"\r\n*") + 1))
        except OSError:
            continue
    for one in kept:
        one.close()


def test_a_redis_that_hangs_fails_all_who_wait_after_its_time(
    silent: int, bucket: MakeBucket
) -> None:
    store = RedisStore(f"redis://127.0.0.1:{silent}/0?protocol=2")
    outcomes = together(*[takes(store, bucket())] * 20)
    assert {type(one) for one in outcomes} == {LimitStoreDown}


def test_a_redis_that_is_not_there_fails_at_once_and_every_time(bucket: MakeBucket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    store = RedisStore(f"redis://127.0.0.1:{port}/0")
    assert {type(one) for one in together(*[takes(store, bucket())] * 3)} == {LimitStoreDown}
    assert {type(one) for one in together(takes(store, bucket()))} == {LimitStoreDown}


def test_the_end_of_the_ground_ends_the_connection(store: RedisStore, bucket: MakeBucket) -> None:
    together(takes(store, bucket()))
    deadline = time.monotonic() + 5
    while ours() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ours() == []
