"""Counters in an UNLOGGED table of PostgreSQL, one statement for all buckets of a call.

Migration 0001_squashed creates the table and the function foundation_charge.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from foundation.limits.window import Bucket, LimitStoreDown, Reading, Window

CHARGE = """
SELECT allowed, now_ms, started_ms, previous, current, last_ms
FROM foundation_charge(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[])
"""

GIVE_BACK = """
UPDATE foundation_rate_counter SET current = greatest(0, current - %s) WHERE key = %s
"""

# Skips rows that a charge has locked: waiting for them in another order could deadlock.
PRUNE = """
DELETE FROM foundation_rate_counter WHERE key IN (
    SELECT key FROM foundation_rate_counter
    WHERE expires_ms <= extract(epoch FROM clock_timestamp()) * 1000
    FOR UPDATE SKIP LOCKED
)
"""


class PostgresqlStore:
    """Counts through the database connection of the thread.

    Outside a transaction the rows are unlocked when the statement ends. In a transaction they stay
    locked until its end, so charge before it begins.
    """

    def take(self, buckets: Sequence[Bucket]) -> Reading | None:
        # Sorted, so that all calls lock the buckets in the same order and cannot deadlock.
        order = sorted(range(len(buckets)), key=lambda place: buckets[place].digest)
        allowed, now, *columns = _charge([buckets[place] for place in order])
        if allowed:
            return None
        windows = dict(
            zip(order, itertools.starmap(Window, zip(*columns, strict=True)), strict=True)
        )
        return Reading(now, tuple(windows[place] for place in range(len(buckets))))

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        # One statement for each row: outside a transaction, none waits for a row while it locks
        # another.
        for bucket in sorted(buckets, key=lambda one: one.digest):
            _execute(GIVE_BACK, [bucket.cost, bucket.digest])

    def close(self) -> None:
        """Does nothing: Django closes the connection."""


def _charge(buckets: Sequence[Bucket]) -> tuple[Any, ...]:
    arguments: list[Any] = [
        [bucket.digest for bucket in buckets],
        [bucket.limit.count for bucket in buckets],
        [bucket.limit.milliseconds for bucket in buckets],
        [bucket.cost for bucket in buckets],
    ]
    (row,) = _execute(CHARGE, arguments)
    return row


def _execute(statement: str, arguments: list[Any]) -> list[tuple[Any, ...]]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, arguments)
            return list(cursor.fetchall()) if cursor.description else []
    except (OperationalError, InterfaceError) as error:
        # A broken connection is closed here, because this thread may never see the end of a
        # request.
        connection.close_if_unusable_or_obsolete()
        raise LimitStoreDown("PostgreSQL did not count.") from error


def prune_counters() -> int:
    """Deletes the counters that no longer affect any limit, and returns their number.

    For a scheduled task. Does nothing on other databases, which have no such table.
    """
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(PRUNE)
        pruned: int = cursor.rowcount
    return pruned
