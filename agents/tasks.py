"""The nightly deletion of sessions that are older than their retention period."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.utils import timezone

from agents.models import Session
from foundation.background import task

BATCH: Final = 100


@task(name="agents.prune_sessions")
def prune_sessions() -> int:
    """Deletes sessions that had no turn for so many days; safe to run at any time and twice."""
    days = settings.HALO_RETENTION_AGENT_SESSIONS_DAYS
    if not days:
        return 0
    old = Session.objects.filter(updated_at__lt=timezone.now() - timedelta(days=days))
    deleted = 0
    while keys := list(old.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        Session.objects.filter(pk__in=keys).delete()
        deleted += len(keys)
    return deleted
