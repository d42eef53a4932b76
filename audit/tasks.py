from datetime import timedelta

from django.conf import settings

from audit import record, retention
from foundation.background import task


@task(name="audit.finish_interrupted")
def finish_interrupted() -> int:
    """Name the calls that a crash left open; safe to run at any time and twice."""
    seconds = settings.HALO_AUDIT_INTERRUPTED_SECONDS
    return record.finish_interrupted(older_than=timedelta(seconds=seconds))


@task(name="audit.prune")
def prune() -> int:
    """Deletes audit rows older than the retention period; safe to run at any time and twice."""
    return retention.prune()
