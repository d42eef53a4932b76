"""How a call ends for which an approval was requested, by what became of the request."""

from dataclasses import replace
from typing import Final

from django.utils.translation import gettext as _

from approvals import requests
from approvals.models import ApprovalRequest, ApprovalStatus
from tools_registry.api import ToolFailure
from tools_registry.pipeline.call_kinds import CallKind
from tools_registry.pipeline.invocation import Failed, PreparedCall, Succeeded

NO_REASON: Final = "No reason was given."
EXPIRED: Final = "The request was not decided in time."
OUTCOME_IS_UNKNOWN: Final = "The outcome is unknown"
UNKNOWN: Final = f"{OUTCOME_IS_UNKNOWN}: the call may have been executed."


class RequestRejected(ToolFailure):
    """The request for this very call was rejected, or has expired."""

    kind = "approval_rejected"


class RequestFailed(ToolFailure):
    """The request for this very call was approved, and the call failed."""

    kind = "approval_failed"


def find_outcome_of_call(
    row: ApprovalRequest, call: PreparedCall, more: str = ""
) -> Succeeded | Failed | None:
    """Returns how a call ends that asks for the same as an earlier one, or None while that waits.

    `more` goes into messages.
    """
    outcome = find_outcome(row, call.invocation.kind, more)
    if isinstance(outcome, Succeeded):
        return replace(outcome, subject=call.subject, is_repeated=True)
    return outcome


def find_outcome(row: ApprovalRequest, kind: CallKind, more: str = "") -> Succeeded | Failed | None:
    """Returns how the requested call ends, or None while it waits; `more` goes into messages."""
    why = f"Reason: {reason(row)}{more}"
    match row.current_status:
        case ApprovalStatus.DONE:
            result = requests.stored_result(row)
            try:
                return Succeeded(result, kind.text(result))
            except ToolFailure as failure:  # it was stored while results could be larger
                return Failed(failure)
        case ApprovalStatus.DECLINED | ApprovalStatus.EXPIRED:
            return Failed(RequestRejected(f"The request was rejected. {why}"))
        case ApprovalStatus.FAILED | ApprovalStatus.UNKNOWN:
            return Failed(RequestFailed(f"The call was approved and failed. {why}"))
    return None


def get_label(row: ApprovalRequest) -> str:
    """Returns the state of a request now, as people read it."""
    return _("Withdrawn") if requests.is_withdrawn(row) else str(row.current_status.label)


def reason(row: ApprovalRequest) -> str:
    """Returns why a request has ended without a result."""
    match row.current_status:
        case ApprovalStatus.DECLINED:
            return row.note or NO_REASON
        case ApprovalStatus.EXPIRED:
            return EXPIRED
        case ApprovalStatus.UNKNOWN:
            # The problem may say so itself, with what to look for.
            is_explained = OUTCOME_IS_UNKNOWN in row.problem
            return row.problem if is_explained else " ".join(filter(None, (row.problem, UNKNOWN)))
    return row.problem
