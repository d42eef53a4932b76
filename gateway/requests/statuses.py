"""The state of a request for approval as clients of a project read it."""

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from approvals.models import ApprovalRequest, Status

NAMES: Final[Mapping[str, str]] = {
    Status.PENDING: "PENDING_APPROVAL",
    Status.RUNNING: "APPROVED",
    Status.DONE: "EXECUTED",
    Status.FAILED: "FAILED",
    # Nobody knows whether the API has done it; the reason says so.
    Status.UNKNOWN: "FAILED",
    Status.DECLINED: "REJECTED",
    Status.EXPIRED: "EXPIRED",
}
NO_REASON: Final = "No reason was given."
EXPIRED: Final = "Nobody decided the request in time."
UNKNOWN: Final = "The outcome is unknown: the API may have executed the call."
WITH_REASON: Final = frozenset({Status.FAILED, Status.UNKNOWN, Status.DECLINED, Status.EXPIRED})


def of(row: ApprovalRequest) -> str:
    """Returns the status of a request."""
    return NAMES[row.status]


def url(row: ApprovalRequest) -> str:
    """Returns the address of a request: a page for people, JSON for programs."""
    return f"{settings.HALO_PUBLIC_URL}/requests/{row.pk}"


def reason(row: ApprovalRequest) -> str:
    """Returns why a request has ended without a result."""
    match row.status:
        case Status.DECLINED:
            return row.note or NO_REASON
        case Status.EXPIRED:
            return EXPIRED
        case Status.UNKNOWN:
            return " ".join(filter(None, (row.problem, UNKNOWN)))
    return row.problem


def as_json(row: ApprovalRequest) -> dict[str, Any]:
    """Returns what programs read at the request's address: its status, with result or reason."""
    body = {"requestId": str(row.pk), "status": of(row)}
    if row.status == Status.DONE:
        return {**body, "result": row.result}
    return {**body, "reason": reason(row)} if row.status in WITH_REASON else body
