"""The budget of an organization: how many records of people leave over MCP within 24 hours.

What a call may answer at most is reserved before it reads anything, and what it did not need is
returned. Two calls at once wait for each other, so the limit is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import TruncHour
from django.utils import timezone

from people.models import DataUse
from workspace.models import Organization

WINDOW: Final = timedelta(hours=24)
KEPT: Final = timedelta(days=8)


@dataclass(frozen=True, slots=True)
class Spent(Exception):
    """The rest of the budget is less than asked for; it grows at a time."""

    remaining: int
    grows_at: datetime


@dataclass(frozen=True, slots=True)
class Hour:
    """What one key was answered in one hour."""

    key_id: UUID
    hour: datetime
    rows: int


def reserve(organization_id: UUID, key_id: UUID, rows: int) -> DataUse:
    """Reserves records for a call. Raises Spent."""
    limit = settings.HALO_HR_DAILY_ROWS
    with transaction.atomic():
        lock = Organization.with_sandboxes.select_for_update(no_key=True)
        lock.get(pk=organization_id)
        now = timezone.now()
        recent = DataUse.objects.filter(organization=organization_id, at__gt=now - WINDOW)
        used = recent.aggregate(total=Sum("rows"))["total"] or 0
        if used + rows > limit:
            oldest = recent.order_by("at").values_list("at", flat=True).first()
            raise Spent(max(0, limit - used), (oldest or now) + WINDOW)
        return DataUse.objects.create(
            organization_id=organization_id, key_id=key_id, at=now, rows=rows
        )


def settle(use: DataUse, rows: int) -> None:
    """Returns what a call has reserved and was not answered."""
    found = DataUse.objects.filter(pk=use.pk)
    if rows:
        found.update(rows=min(rows, use.rows))
    else:
        found.delete()


def count_used(organization_id: UUID) -> int:
    """Returns the records of the last 24 hours."""
    recent = DataUse.objects.filter(organization=organization_id, at__gt=timezone.now() - WINDOW)
    total: int | None = recent.aggregate(total=Sum("rows"))["total"]
    return total or 0


def count_by_hour(organization_id: UUID, since: datetime) -> Sequence[Hour]:
    """Returns the records by key and hour, the latest first."""
    rows = DataUse.objects.filter(organization=organization_id, at__gte=since)
    grouped = rows.values("key_id", hour=TruncHour("at")).annotate(total=Sum("rows"))
    found = grouped.order_by("-hour", "key_id").values_list("key_id", "hour", "total")
    return [Hour(*one) for one in found]


def prune() -> int:
    """Deletes what is of no use for the budget and its page; returns how many rows."""
    return DataUse.objects.filter(at__lt=timezone.now() - KEPT).delete()[0]
