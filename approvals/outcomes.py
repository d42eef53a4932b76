"""How a call ends for which an approval was requested, by what became of the request."""

from typing import Final

from approvals import requests
from approvals.models import ApprovalRequest, ApprovalStatus
from tools_registry.api import ToolFailure
from tools_registry.pipeline.call_kinds import CallKind
from tools_registry.pipeline.invocation import Failed, Succeeded

NO_REASON: Final = "No reason was given."
EXPIRED: Final = "The request was not decided in time."
UNKNOWN: Final = "The outcome is unknown: the call may have been executed."


class RequestRejected(ToolFailure):
    """The request for this very call was rejected, or has expired."""

    kind = "approval_rejected"


class RequestFailed(ToolFailure):
    """The request for this very call was approved, and the call failed."""

    kind = "approval_failed"


def find_outcome(
    row: ApprovalRequest, kind: CallKind, more: str = "", *, is_repeated: bool = False
) -> Succeeded | Failed | None:
    """Returns how the requested call ends, or None while it waits; `more` goes into messages.

    `is_repeated` says that it is the outcome of another call than the one that made the request.
    """
    why = f"Reason: {reason(row)}{more}"
    match row.current_status:
        case ApprovalStatus.DONE:
            result = requests.stored_result(row)
            return Succeeded(result, kind.text(result), is_repeated=is_repeated)
        case ApprovalStatus.DECLINED | ApprovalStatus.EXPIRED:
            return Failed(RequestRejected(f"The request was rejected. {why}"))
        case ApprovalStatus.FAILED | ApprovalStatus.UNKNOWN:
            return Failed(RequestFailed(f"The call was approved and failed. {why}"))
    return None


def reason(row: ApprovalRequest) -> str:
    """Returns why a request has ended without a result."""
    match row.current_status:
        case ApprovalStatus.DECLINED:
            return row.note or NO_REASON
        case ApprovalStatus.EXPIRED:
            return EXPIRED
        case ApprovalStatus.UNKNOWN:
            return " ".join(filter(None, (row.problem, UNKNOWN)))
    return row.problem
