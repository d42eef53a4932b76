"""Stores many rows of one table, new and changed, in few statements or in runs of limited time."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from django.db import connection, transaction
from django.db.models import Model, Q
from django.db.models.query import QuerySet

from foundation import leases

M = TypeVar("M", bound=Model)

BATCH: Final = 500
# Of a run of `BatchRuns`.
RUN_SECONDS: Final = 30.0
# What an update leaves as it is.
FIXED: Final = frozenset({"id", "organization", "created_at"})


class BatchRuns:
    """Writes batches for half a minute; the next run of this process continues where it stopped.

    `begin` returns the batches from the first one on, each with the number of its written rows.
    """

    def __init__(self, begin: Callable[[], Iterator[int]]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        # What the last run has left.
        self._unfinished: Iterator[int] | None = None

    def run(self) -> int:
        """Writes batches until the time is over, or the process is stopped; returns how many rows.

        Does nothing while another thread does the same.
        """
        if not self._lock.acquire(blocking=False):
            return 0
        try:
            until = time.monotonic() + RUN_SECONDS
            batches, self._unfinished = self._unfinished or self._begin(), None
            written = 0
            for count in batches:
                written += count
                if leases.is_stopping() or time.monotonic() > until:
                    self._unfinished = batches
                    break
            return written
        finally:
            self._lock.release()


def store(model: type[M], new: Sequence[M], changed: Sequence[M]) -> None:
    """Inserts new rows and writes all columns of the changed ones, which the caller has locked."""
    rows: QuerySet[M] = QuerySet(model)
    rows.bulk_create(new, batch_size=BATCH)
    # An upsert: bulk_update would name every row again for each of its columns.
    rows.bulk_create(
        changed,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[
            field.name for field in model._meta.concrete_fields if field.name not in FIXED
        ],
    )


def renew_column(
    model: type[M],
    column: str,
    sources: Sequence[str],
    value: Callable[[M], Any],
    rows: Q,
    *,
    lock: int,
) -> Iterator[int]:
    """Writes a column that is made of others where it is not what it should be.

    Rows are read in batches in the order of their keys; yields after each batch how many of it were
    written. Those are locked, each batch in a transaction of its own; a row that another
    transaction has locked is left for the next run. Ends if another process holds the advisory
    lock with this number.
    """
    can_skip = connection.features.has_select_for_update_skip_locked
    every: QuerySet[M] = QuerySet(model)
    read: QuerySet[M] = every.filter(rows).only(column, *sources).order_by("pk")
    batch = list(read[:BATCH])
    while batch:
        changed = [row.pk for row in batch if getattr(row, column) != value(row)]
        locked: list[M] = []
        if changed:
            with transaction.atomic():
                if not _try_lock(lock):
                    return
                locked = list(read.filter(pk__in=changed).select_for_update(skip_locked=can_skip))
                for row in locked:
                    setattr(row, column, value(row))
                every.bulk_update(locked, [column])
        yield len(locked)
        batch = list(read.filter(pk__gt=batch[-1].pk)[:BATCH]) if len(batch) == BATCH else []


def _try_lock(lock: int) -> bool:
    """Takes an advisory lock for this transaction; returns False if another process has it."""
    # SQLite has one writer at a time.
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock])
        return bool(cursor.fetchone()[0])
