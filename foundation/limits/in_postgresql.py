"""Counters in an UNLOGGED table of PostgreSQL, one statement for all buckets of a call.

The table and the function foundation_charge come with the migration 0001_rate_counter.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from foundation.fibers import elsewhere
from foundation.limits.limit import Bucket, LimitStoreDown
from foundation.limits.window import Reading, Window

CHARGE = """
SELECT allowed, now_ms, started_ms, previous, current
FROM foundation_charge(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[])
"""

GIVE_BACK = """
UPDATE foundation_rate_counter SET current = greatest(0, current - %s) WHERE key = %s
"""

# Rows a charge holds are skipped: waiting for them out of order could deadlock with it.
PRUNE = """
DELETE FROM foundation_rate_counter WHERE key IN (
    SELECT key FROM foundation_rate_counter
    WHERE expires_ms <= extract(epoch FROM clock_timestamp()) * 1000
    FOR UPDATE SKIP LOCKED
)
"""


class PostgresqlStore:
    """Counts through the thread's database connection.

    Outside a transaction the rows are free again when the statement ends. Inside one they stay
    locked until it ends, so charge before opening it.
    """

    def take(self, buckets: Sequence[Bucket]) -> Reading:
        # Sorted, so that two calls sharing buckets lock them in one order and never deadlock.
        order = sorted(range(len(buckets)), key=lambda place: buckets[place].digest)
        allowed, now, *columns = _charge([buckets[place] for place in order])
        windows = dict(
            zip(order, itertools.starmap(Window, zip(*columns, strict=True)), strict=True)
        )
        return Reading(allowed, now, tuple(windows[place] for place in range(len(buckets))))

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        # One row a statement: outside a transaction none is held while another is waited for.
        for bucket in sorted(buckets, key=lambda one: one.digest):
            _execute(GIVE_BACK, [bucket.cost, bucket.digest])

    def close(self) -> None:
        """Nothing to let go of: the connection is Django's."""


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
    return elsewhere(partial(_executed, statement, arguments))


def _executed(statement: str, arguments: list[Any]) -> list[tuple[Any, ...]]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, arguments)
            return list(cursor.fetchall()) if cursor.description else []
    except (OperationalError, InterfaceError) as error:
        # A broken connection is let go here: no end of a request may ever come to this thread.
        connection.close_if_unusable_or_obsolete()
        raise LimitStoreDown("PostgreSQL did not count.") from error


def prune_counters() -> int:
    """Delete the counters that weigh nothing any more, and return how many there were.

    For a scheduled task; does nothing on other databases, which have no such table.
    """
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(PRUNE)
        pruned: int = cursor.rowcount
    return pruned
