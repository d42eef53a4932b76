"""The nightly deletion of sessions that are older than their retention period."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.utils import timezone

from agents import sessions
from agents.models import Session, SessionTurn
from foundation.background import task

BATCH: Final = 100


@task(name="agents.prune_sessions")
def prune_sessions() -> int:
    """Deletes sessions without a turn for so many days, and as old turns of deleted sessions.

    Safe to run at any time and twice.
    """
    days = settings.HALO_RETENTION_AGENT_SESSIONS_DAYS
    if not days:
        return 0
    before = timezone.now() - timedelta(days=days)
    old = Session.objects.filter(updated_at__lt=before)
    deleted = 0
    while rows := list(old.order_by("pk")[:BATCH]):
        for row in rows:
            sessions.delete(row)
        deleted += len(rows)
    SessionTurn.objects.filter(session=None, started_at__lt=before).delete()
    return deleted
