"""Ends requests that expired, lost their requester, or were interrupted by a crash."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals import delivery, requesters
from approvals.models import ApprovalRequest, ApprovalStatus, ExecutionState
from tools_registry.pipeline import gate, surfaces
from workspace.models import Membership

# Much longer than the deadline of a vendor call: a process that has not finished by then is dead.
MAX_EXECUTION: Final = timedelta(minutes=5)
# Stripe may delete a key after 24 hours and would then execute again (API reference, Idempotent
# requests). One hour of that is reserved for clock differences and slow responses.
KEY_LIFETIME: Final = timedelta(hours=23)
# How long an approved request waits for a worker that executes it.
MAX_QUEUED: Final = timedelta(minutes=15)
NOT_EXECUTED: Final = "The background worker did not execute it in time. Approve it again."
LEFT_BEHIND: Final = "The call was started and its outcome is unknown."
# The columns of a request that was approved, and of which nothing was sent.
UNDECIDED: Final[Mapping[str, Any]] = {
    "status": ApprovalStatus.PENDING,
    "problem": NOT_EXECUTED,
    "claim": None,
    "decided_by": None,
    "decided_at": None,
    "execution_state": "",
    "decider_address": "",
}
# The columns of a request that was sent before, and whose execution did not end.
LEFT_UNKNOWN: Final[Mapping[str, Any]] = {
    "status": ApprovalStatus.UNKNOWN,
    "problem": LEFT_BEHIND,
    "execution_state": "",
    "decider_address": "",
}
# The columns of a request whose connection has ended.
LEFT: Final = {"status": ApprovalStatus.DECLINED, "note": gate.GRANT_ENDED, "problem": ""}


def settle(rows: QuerySet[ApprovalRequest]) -> int:
    """Marks those of the requests that expired or were interrupted; returns how many.

    Those that have ended are delivered.
    """
    now = timezone.now()
    running = rows.filter(status=ApprovalStatus.RUNNING)
    is_queued = Q(execution_state=ExecutionState.QUEUED)
    stale = ~is_queued & Q(claimed_at__lt=now - MAX_EXECUTION)
    unbegun = is_queued & Q(claimed_at__lt=now - MAX_QUEUED)
    expired = rows.filter(status=ApprovalStatus.PENDING, expires_at__lte=now)
    # Nothing was sent to the vendor: these wait again, unless they have expired meanwhile.
    unsent = (stale & Q(sent_at=None)) | (unbegun & Q(status_before=ApprovalStatus.PENDING))
    waiting = running.filter(unsent).update(**UNDECIDED)
    sent = (stale & Q(sent_at__isnull=False)) | (unbegun & ~Q(status_before=ApprovalStatus.PENDING))
    unknown = _end(running.filter(sent), **LEFT_UNKNOWN)
    return waiting + unknown + _end(expired, status=ApprovalStatus.EXPIRED, problem="")


def end_with_requesters(rows: QuerySet[ApprovalRequest]) -> int:
    """Declines those that wait and whose connection has ended for good; returns how many.

    A suspended organization or member keeps its requests: its connections work again afterwards.
    """
    waiting = rows.filter(status=ApprovalStatus.PENDING, organization__suspended_at=None).order_by()
    ended = 0
    for surface_name, authorization_id in waiting.values_list(
        "surface", "authorization_id"
    ).distinct():
        of_one = waiting.filter(surface=surface_name, authorization_id=authorization_id)
        row, surface = of_one.first(), surfaces.find(surface_name)
        if row is None or surface is None or is_requester_suspended(row):
            continue
        if requesters.find(row, surface) is None:
            ended += _end(of_one, **LEFT)
    return ended


def is_requester_suspended(row: ApprovalRequest) -> bool:
    """Returns whether the requester is suspended in the organization; their requests wait."""
    suspended = Membership.objects.filter(
        organization=row.organization_id, suspended_at__isnull=False
    )
    # As text: the id of an erased person is none.
    return row.user_id in set(map(str, suspended.values_list("user", flat=True)))


def _end(rows: QuerySet[ApprovalRequest], **columns: Any) -> int:
    ended = 0
    for key in [*rows.values_list("pk", flat=True)]:
        # The conditions hold in the UPDATE too: of several processes, one ends and delivers it.
        if rows.filter(pk=key).update(ended_at=timezone.now(), **columns):
            delivery.deliver(ApprovalRequest.objects.get(pk=key))
            ended += 1
    return ended
