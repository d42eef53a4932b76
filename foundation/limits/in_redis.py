"""Counters in Redis, one script and one round trip for all buckets of a call.

Each thread keeps a connection of its own and speaks on it directly: the client would take one out
of a pool, try it, measure and put it back around every command, which costs more than the command.
Fibers share one (foundation/limits/redis_line.py).
"""

import hashlib
import itertools
import os
import threading
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError
from redis.retry import Retry

from foundation import fibers
from foundation.fibers import Fiber
from foundation.limits.limit import Bucket, LimitStoreDown
from foundation.limits.redis_line import RedisLine
from foundation.limits.window import Reading, Window

SOCKET_SECONDS = 0.5
# After so long a connection is tried before it is used: Redis may have been started anew.
TRUSTED_SECONDS = 1.0

# In braces, so that a cluster keeps the buckets of one call in one slot.
KEY_PREFIX = "{halo:limit}:"

# window.py in Lua. Redis' own clock is read, so that web processes need not agree on the time.
SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reading = {1, now}
for i, key in ipairs(KEYS) do
  local count, span, cost = ARGV[3 * i - 2] + 0, ARGV[3 * i - 1] + 0, ARGV[3 * i] + 0
  local stored = redis.call('HMGET', key, 'started', 'previous', 'current')
  local started, previous = (stored[1] or 0) + 0, (stored[2] or 0) + 0
  local current = (stored[3] or 0) + 0
  local age = now - started
  if age >= 2 * span then
    started, previous, current = now, 0, 0
  elseif age >= span then
    started, previous, current = started + span, current, 0
  end
  local elapsed = math.max(0, now - started)
  if previous * (span - elapsed) + (current + cost) * span > count * span then
    reading[1] = 0
  end
  reading[3 * i], reading[3 * i + 1], reading[3 * i + 2] = started, previous, current
end
if reading[1] == 0 then
  return reading
end
for i, key in ipairs(KEYS) do
  local span, cost = ARGV[3 * i - 1] + 0, ARGV[3 * i] + 0
  reading[3 * i + 2] = reading[3 * i + 2] + cost
  redis.call('HSET', key, 'started', reading[3 * i], 'previous', reading[3 * i + 1],
    'current', reading[3 * i + 2])
  redis.call('PEXPIRE', key, 2 * span)
end
return reading
"""
GIVE_BACK = """
for i, key in ipairs(KEYS) do
  local current = redis.call('HGET', key, 'current')
  if current then
    redis.call('HSET', key, 'current', math.max(0, current - ARGV[i]))
  end
end
"""
SCRIPT_SHA = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()


class _Line(threading.local):
    """The connection of this thread, and when it was last used."""

    connection: Any = None  # redis.connection.AbstractConnection, whose methods have no types
    used_at = 0.0


class RedisStore:
    """Counts in the Redis at `url` (redis://, rediss:// or unix://), waiting at most 0.5 s."""

    def __init__(self, url: str) -> None:
        # No retries: a charge that timed out may have counted, and a second one would count twice.
        self._pool = redis.ConnectionPool.from_url(
            url,
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._line = _Line()

    def take(self, buckets: Sequence[Bucket]) -> Reading:
        keys = [KEY_PREFIX + bucket.digest for bucket in buckets]
        numbers = itertools.chain.from_iterable(_numbers(bucket) for bucket in buckets)
        allowed, now, *windows = self._run(len(keys), *keys, *numbers)
        return Reading(bool(allowed), now, tuple(itertools.starmap(Window, _triples(windows))))

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        keys = [KEY_PREFIX + bucket.digest for bucket in buckets]
        costs = [bucket.cost for bucket in buckets]
        self._ask("EVAL", GIVE_BACK, len(keys), *keys, *costs)

    def close(self) -> None:
        if self._line.connection is not None:
            self._line.connection.disconnect()
        # Those of other threads go with them.
        self._line = _Line()

    def _run(self, *arguments: Any) -> list[int]:
        try:
            reading: list[int] = self._ask("EVALSHA", SCRIPT_SHA, *arguments)
        except NoScriptError:
            # Redis forgets scripts when it restarts; EVAL teaches it again.
            reading = self._ask("EVAL", SCRIPT, *arguments)
        return reading

    def _ask(self, *command: str | int) -> Any:
        packed = hiredis.pack_command(command)  # type: ignore[arg-type]  # its stub takes one word only
        fiber = fibers.current()
        try:
            return self._answer(packed) if fiber is None else self._on_fiber(fiber, packed)
        except NoScriptError:
            raise
        except (redis.RedisError, OSError) as error:
            raise LimitStoreDown("Redis did not count.") from error

    def _on_fiber(self, fiber: Fiber, packed: bytes) -> Any:
        if issubclass(self._pool.connection_class, redis.SSLConnection):
            # Encrypted, a socket may have more to read than it says.
            return fibers.elsewhere(partial(self._answer, packed))
        line = fiber.ground.shared(self, partial(RedisLine, self._pool, SOCKET_SECONDS))
        return line.ask(fiber, packed)

    def _answer(self, packed: bytes) -> Any:
        connection = self._connection()
        connection.send_packed_command([packed])
        return connection.read_response()

    def _connection(self) -> Any:
        line, now = self._line, time.monotonic()
        if line.connection is None or line.connection.pid != os.getpid():
            # Not by way of the pool: it counts those ever made, and stops at a hundred.
            line.connection = self._pool.connection_class(**self._pool.connection_kwargs)
        elif now - line.used_at > TRUSTED_SECONDS:
            _try(line.connection)
        line.used_at = now
        return line.connection


def _try(connection: Any) -> None:
    """Connect anew where the other side has hung up meanwhile: then it has something to read."""
    try:
        is_stale = connection.can_read()
    except redis.ConnectionError:
        is_stale = True
    if is_stale:
        connection.disconnect()
        connection.connect()


def _numbers(bucket: Bucket) -> tuple[int, int, int]:
    return bucket.limit.count, bucket.limit.milliseconds, bucket.cost


def _triples(values: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    return zip(values[::3], values[1::3], values[2::3], strict=True)
