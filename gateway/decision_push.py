"""Sends what became of a request for approval to the open WebSockets of its requester."""

from typing import Any, Final

from approvals.models import ApprovalRequest, ApprovalStatus
from gateway.requests import statuses
from tools_registry.endpoint.websocket import pushing

METHOD: Final = "notifications/tool-execution-result"
ENDED: Final = frozenset({ApprovalStatus.DONE, *statuses.WITH_REASON})


def deliver(request: ApprovalRequest) -> None:
    """Pushes the end of a request (`approvals.surface_rules`)."""
    if request.status in ENDED:
        pushing.push(request.authorization_id, notification(request))


def notification(request: ApprovalRequest) -> dict[str, Any]:
    """The notification about a request that has ended: its result, or the reason without one."""
    params = {"toolName": request.tool, **statuses.as_json(request)}
    return {"jsonrpc": "2.0", "method": METHOD, "params": params}
