"""Counters in Redis, one script and one round trip for all buckets of a call.

Each thread uses a connection of its own directly. The client would take one out of its pool, check
it, measure the time and return it for every command, which costs more than the command.
"""

import hashlib
import itertools
import os
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError
from redis.retry import Retry

from foundation.limits.window import Bucket, LimitStoreDown, Reading, Window

SOCKET_SECONDS = 0.5
# A connection that was idle for longer is checked before use, because Redis may have restarted.
TRUSTED_SECONDS = 1.0

# In braces, so that a cluster keeps the buckets of a call in one slot.
KEY_PREFIX = "{halo:limit}:"

# window.py in Lua. It reads the clock of Redis, so that the clocks of web processes may differ.
SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reading = {1, now}
for i, key in ipairs(KEYS) do
  local count, span, cost = ARGV[3 * i - 2] + 0, ARGV[3 * i - 1] + 0, ARGV[3 * i] + 0
  local stored = redis.call('HMGET', key, 'started', 'previous', 'current', 'last')
  local started, previous = (stored[1] or 0) + 0, (stored[2] or 0) + 0
  local current, last = (stored[3] or 0) + 0, (stored[4] or 0) + 0
  if now - last >= span then
    started, previous, current, last = now, 0, 0, now
  elseif now - started >= span then
    started, previous, current = started + span, current, 0
  end
  local elapsed = math.max(0, now - started)
  if previous * (span - elapsed) + (current + cost) * span > count * span then
    reading[1] = 0
  end
  local place = 4 * i - 1
  reading[place], reading[place + 1], reading[place + 2] = started, previous, current
  reading[place + 3] = last
end
if reading[1] == 0 then
  return reading
end
for i, key in ipairs(KEYS) do
  local span, cost = ARGV[3 * i - 1] + 0, ARGV[3 * i] + 0
  local place = 4 * i - 1
  redis.call('HSET', key, 'started', reading[place], 'previous', reading[place + 1],
    'current', reading[place + 2] + cost, 'last', now)
  redis.call('PEXPIRE', key, span)
end
return {1}
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


class _ThreadConnection(threading.local):
    """The connection of this thread, and the time of its last use."""

    connection: Any = None  # redis.connection.AbstractConnection, whose methods have no types
    used_at = 0.0


class RedisStore:
    """Counts in the Redis at `url` (redis://, rediss:// or unix://), with a timeout of 0.5 s."""

    def __init__(self, url: str) -> None:
        # No retries: a charge that timed out may have counted, and a retry would count it twice.
        self._pool = redis.ConnectionPool.from_url(
            url,
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._local = _ThreadConnection()

    def take(self, buckets: Sequence[Bucket]) -> Reading | None:
        keys = [KEY_PREFIX + bucket.digest for bucket in buckets]
        numbers = itertools.chain.from_iterable(_numbers(bucket) for bucket in buckets)
        allowed, *read = self._run(len(keys), *keys, *numbers)
        if allowed:
            return None
        now, *windows = read
        return Reading(now, tuple(itertools.starmap(Window, _windows(windows))))

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        keys = [KEY_PREFIX + bucket.digest for bucket in buckets]
        costs = [bucket.cost for bucket in buckets]
        self._ask("EVAL", GIVE_BACK, len(keys), *keys, *costs)

    def close(self) -> None:
        if self._local.connection is not None:
            self._local.connection.disconnect()
        # Drops the connections of other threads too.
        self._local = _ThreadConnection()

    def _run(self, *arguments: Any) -> list[int]:
        try:
            reading: list[int] = self._ask("EVALSHA", SCRIPT_SHA, *arguments)
        except NoScriptError:
            # Redis drops its scripts when it restarts; EVAL loads the script again.
            reading = self._ask("EVAL", SCRIPT, *arguments)
        return reading

    def _ask(self, *command: str | int) -> Any:
        packed = hiredis.pack_command(command)  # type: ignore[arg-type]  # its stub takes one word only
        try:
            return self._answer_with_retry(packed)
        except NoScriptError:
            raise
        except (redis.RedisError, OSError) as error:
            raise LimitStoreDown("Redis did not count.") from error

    def _answer_with_retry(self, packed: bytes) -> Any:
        """Asks again once if the connection was closed since its last use, as by a restart.

        Each thread has a connection of its own, and every one of them is stale then. A time-out is
        another exception, and is not repeated.
        """
        try:
            return self._answer(packed)
        except redis.ConnectionError:
            self._local.connection.disconnect()
            return self._answer(packed)

    def _answer(self, packed: bytes) -> Any:
        connection = self._connection()
        connection.send_packed_command([packed])
        return connection.read_response()

    def _connection(self) -> Any:
        local, now = self._local, time.monotonic()
        if local.connection is None or local.connection.pid != os.getpid():
            # Not from the pool, which counts the connections it has ever made and stops at a
            # hundred.
            local.connection = self._pool.connection_class(**self._pool.connection_kwargs)
        elif now - local.used_at > TRUSTED_SECONDS:
            _try(local.connection)
        local.used_at = now
        return local.connection


def _try(connection: Any) -> None:
    """Reconnects if the server has closed the connection, which makes it readable."""
    try:
        is_stale = connection.can_read()
    except redis.ConnectionError:
        is_stale = True
    if is_stale:
        connection.disconnect()
        connection.connect()


def _numbers(bucket: Bucket) -> tuple[int, int, int]:
    return bucket.limit.count, bucket.limit.milliseconds, bucket.cost


def _windows(values: Sequence[int]) -> Iterable[tuple[int, int, int, int]]:
    return zip(values[::4], values[1::4], values[2::4], values[3::4], strict=True)
