"""Marks requests that expired, or whose execution was interrupted by a crash."""

from datetime import timedelta
from typing import Final

from django.db.models import QuerySet
from django.utils import timezone

from approvals import delivery
from approvals.models import ApprovalRequest, Status

# Much longer than the deadline of a vendor call: a process that has not finished by then is dead.
MAX_EXECUTION: Final = timedelta(minutes=5)
# Stripe may delete a key after 24 hours and would then execute again (API reference, Idempotent
# requests). One hour of that is reserved for clock differences and slow responses.
KEY_LIFETIME: Final = timedelta(hours=23)
LEFT_BEHIND: Final = "The call was started and its outcome is unknown."


def settle(rows: QuerySet[ApprovalRequest]) -> int:
    """Marks those of the requests that expired or were interrupted; returns how many.

    Those that have ended are delivered.
    """
    now = timezone.now()
    stale = rows.filter(status=Status.RUNNING, claimed_at__lt=now - MAX_EXECUTION)
    expired = rows.filter(status=Status.PENDING, expires_at__lte=now)
    # Nothing was sent to the vendor: these wait again, unless they have expired meanwhile.
    waiting = stale.filter(sent_at__isnull=True).update(
        status=Status.PENDING, claim=None, decided_by=None, decided_at=None
    )
    unknown = _end(stale.filter(sent_at__isnull=False), Status.UNKNOWN, LEFT_BEHIND)
    return waiting + unknown + _end(expired, Status.EXPIRED)


def _end(rows: QuerySet[ApprovalRequest], status: Status, problem: str = "") -> int:
    ended = 0
    for key in [*rows.values_list("pk", flat=True)]:
        # The conditions hold in the UPDATE too: of several processes, one ends and delivers it.
        if rows.filter(pk=key).update(status=status, problem=problem, ended_at=timezone.now()):
            delivery.deliver(ApprovalRequest.objects.get(pk=key))
            ended += 1
    return ended
