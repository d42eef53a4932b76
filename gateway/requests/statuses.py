"""The state of a request for approval as clients of a project read it."""

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from approvals import outcomes
from approvals.models import ApprovalRequest, ApprovalStatus

NAMES: Final[Mapping[str, str]] = {
    ApprovalStatus.PENDING: "PENDING_APPROVAL",
    ApprovalStatus.RUNNING: "APPROVED",
    ApprovalStatus.DONE: "EXECUTED",
    ApprovalStatus.FAILED: "FAILED",
    # Nobody knows whether the API has done it; the reason says so.
    ApprovalStatus.UNKNOWN: "FAILED",
    ApprovalStatus.DECLINED: "REJECTED",
    ApprovalStatus.EXPIRED: "EXPIRED",
}
WITH_REASON: Final = frozenset(
    {ApprovalStatus.FAILED, ApprovalStatus.UNKNOWN, ApprovalStatus.DECLINED, ApprovalStatus.EXPIRED}
)


def get_name(row: ApprovalRequest) -> str:
    """Returns the status of a request."""
    return NAMES[row.current_status]


def path(row: ApprovalRequest) -> str:
    """Returns the path of a request."""
    return f"/requests/{row.pk}"


def url(row: ApprovalRequest) -> str:
    """Returns the address of a request: a page for people, JSON for programs."""
    return f"{settings.HALO_PUBLIC_URL}{path(row)}"


def audit_detail(row: ApprovalRequest) -> str:
    """Returns what the audit row of a call says that this request answers."""
    return f"approval request {row.pk}"


def as_json(row: ApprovalRequest) -> dict[str, Any]:
    """Returns what programs read at the request's address: its status, with result or reason."""
    body = {"requestId": str(row.pk), "status": get_name(row)}
    if row.status == ApprovalStatus.DONE:
        return {**body, "result": row.result}
    return {**body, "reason": outcomes.reason(row)} if row.current_status in WITH_REASON else body
