"""Ends requests that expired, lost their requester, or were interrupted by a crash."""

from datetime import timedelta
from typing import Any, Final

from django.db.models import QuerySet
from django.utils import timezone

from approvals import delivery, requesters
from approvals.models import ApprovalRequest, Status
from tools_registry.pipeline import gate
from tools_registry.pipeline import surface as surfaces

# Much longer than the deadline of a vendor call: a process that has not finished by then is dead.
MAX_EXECUTION: Final = timedelta(minutes=5)
# Stripe may delete a key after 24 hours and would then execute again (API reference, Idempotent
# requests). One hour of that is reserved for clock differences and slow responses.
KEY_LIFETIME: Final = timedelta(hours=23)
LEFT_BEHIND: Final = "The call was started and its outcome is unknown."
# The columns of a request whose connection has ended.
LEFT: Final = {"status": Status.DECLINED, "note": gate.GRANT_ENDED, "problem": ""}


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
    unknown = _end(stale.filter(sent_at__isnull=False), status=Status.UNKNOWN, problem=LEFT_BEHIND)
    return waiting + unknown + _end(expired, status=Status.EXPIRED, problem="")


def end_with_requesters(rows: QuerySet[ApprovalRequest]) -> int:
    """Declines those that wait and whose connection has ended for good; returns how many.

    A suspended organization keeps its requests: its connections work again afterwards.
    """
    waiting = rows.filter(status=Status.PENDING, organization__suspended_at=None).order_by()
    ended = 0
    for surface_name, authorization_id in waiting.values_list(
        "surface", "authorization_id"
    ).distinct():
        of_one = waiting.filter(surface=surface_name, authorization_id=authorization_id)
        row, surface = of_one.first(), surfaces.find(surface_name)
        if row is not None and surface is not None and requesters.find(row, surface) is None:
            ended += _end(of_one, **LEFT)
    return ended


def _end(rows: QuerySet[ApprovalRequest], **columns: Any) -> int:
    ended = 0
    for key in [*rows.values_list("pk", flat=True)]:
        # The conditions hold in the UPDATE too: of several processes, one ends and delivers it.
        if rows.filter(pk=key).update(ended_at=timezone.now(), **columns):
            delivery.deliver(ApprovalRequest.objects.get(pk=key))
            ended += 1
    return ended
