"""Stores many rows of one table, new and changed, in few statements."""

from collections.abc import Sequence
from typing import Final, TypeVar

from django.db.models import Model
from django.db.models.query import QuerySet

M = TypeVar("M", bound=Model)

BATCH: Final = 500
# What an update leaves as it is.
FIXED: Final = frozenset({"id", "organization", "created_at"})


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
