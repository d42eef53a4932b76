"""Delivers the end of requests to their requesters, as their surface does (`surface_rules`).

Requests that were executed or declined are delivered, and those that expired or whose execution was
interrupted. A request may be delivered again with a later status.
"""

import structlog

from approvals import surface_rules
from approvals.models import ApprovalRequest

log = structlog.get_logger(__name__)


def deliver(request: ApprovalRequest) -> None:
    """Delivers a stored request that has ended. A failure is logged and changes nothing."""
    try:
        surface_rules.find_rules(request).deliver(request)
    except Exception:
        log.exception("approval_not_delivered", request=str(request.pk))
