"""Rate limits, as ours are counted: all buckets of a call at once, in Redis or in this process."""

import hashlib
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from order import Bucket, Order, Values
from redis import Redis
from redis.exceptions import NoScriptError


class Limits(Protocol):
    def charge(self, known: Values) -> bool:
        """Whether all buckets of this caller have room; they are charged if so."""
        ...


def build(order: Order) -> Limits:
    return InRedis(order) if order.work["limits"]["redis"] else InMemory(order.buckets())


class InRedis:
    """One script, one round trip."""

    def __init__(self, order: Order) -> None:
        limits = order.work["limits"]
        self._client = Redis.from_url(limits["redis"])
        self._buckets, self._prefix = order.buckets(), limits["prefix"]
        self._script: str = limits["script"]
        self._sha = hashlib.sha1(self._script.encode(), usedforsecurity=False).hexdigest()
        self._numbers = [
            number
            for bucket in self._buckets
            for number in (bucket.count, bucket.milliseconds, bucket.cost)
        ]

    def charge(self, known: Values) -> bool:
        keys = [self._prefix + digest(bucket, known) for bucket in self._buckets]
        try:
            reading = self._client.evalsha(self._sha, len(keys), *keys, *self._numbers)
        except NoScriptError:
            reading = self._client.eval(self._script, len(keys), *keys, *self._numbers)
        return bool(reading[0])


class InMemory:
    """The same sliding window in a dictionary."""

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self._buckets = buckets
        self._windows: dict[str, tuple[int, int, int]] = {}
        self._lock = threading.Lock()

    def charge(self, known: Values) -> bool:
        with self._lock:
            return self._charge(known, time.time_ns() // 1_000_000)

    def _charge(self, known: Values, now: int) -> bool:
        moved = {}
        for bucket in self._buckets:
            key = digest(bucket, known)
            started, before, current = self._moved(key, bucket.milliseconds, now)
            weighed = before * (bucket.milliseconds - (now - started))
            if weighed + (current + bucket.cost) * bucket.milliseconds > (
                bucket.count * bucket.milliseconds
            ):
                return False
            moved[key] = (started, before, current + bucket.cost)
        self._windows.update(moved)
        return True

    def _moved(self, key: str, span: int, now: int) -> tuple[int, int, int]:
        started, before, current = self._windows.get(key, (0, 0, 0))
        age = now - started
        if age >= 2 * span:
            return now, 0, 0
        return (started + span, current, 0) if age >= span else (started, before, current)


def digest(bucket: Bucket, known: Values) -> str:
    """The name of a caller's bucket, whatever its key holds."""
    identity = f"{bucket.limit}|{bucket.key.format_map(known)}"
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
