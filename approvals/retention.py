"""How long ended requests for approval are kept: their arguments and results are personal data."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from approvals.models import ApprovalRequest, ApprovalStatus
from customers.privacy import tables
from customers.privacy.retention import RetentionKind

ENDED: Final = frozenset(ApprovalStatus) - {ApprovalStatus.PENDING, ApprovalStatus.RUNNING}


def build_kind(needed: Callable[[], Q]) -> RetentionKind:
    """Returns the kind of data that ended requests are.

    `needed` are the requests whose outcome a session of an agent has still to read: without its
    request, the call would be requested again, and could be executed twice.
    """

    def older(moment: datetime) -> Q:
        return Q(status__in=ENDED, ended_at__lt=moment) & ~needed()

    return RetentionKind(
        ApprovalRequest,
        "HALO_RETENTION_APPROVALS_DAYS",
        older,
        batch=500,
        before=_empty_history,
    )


def _empty_history(requests: Sequence[Any]) -> None:
    """The name of a request, which the history of the admin repeats, is its summary."""
    tables.empty_history(ApprovalRequest, requests)
