"""Deletes audit rows older than HALO_AUDIT_RETENTION_DAYS, in small batches.

Every batch is a transaction of its own, so that a run can stop at any point, may run twice at the
same time, and never holds a lock for long.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from foundation import ids

BATCH: Final = 1_000
TABLES: Final = (ActionExecution, SecurityEvent)


def prune() -> int:
    """Deletes what is due in both tables; returns the number of rows."""
    return sum(deleted for table in TABLES for deleted in prune_table(table))


def prune_table(table: type[ActionExecution | SecurityEvent]) -> Iterator[int]:
    """Deletes what is due in one table, and yields the size of each batch once it is deleted."""
    while keys := list(due(table).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        yield table.objects.filter(pk__in=keys).delete()[0]


def due(table: type[ActionExecution | SecurityEvent]) -> QuerySet[ActionExecution | SecurityEvent]:
    """The rows that are older than the retention period; none where rows are kept for good."""
    days = settings.HALO_AUDIT_RETENTION_DAYS
    if not days:
        return table.objects.none()
    # The key holds the time of writing, and is the one index that both tables have of it.
    return table.objects.filter(pk__lt=ids.first_key(timezone.now() - timedelta(days=days)))
