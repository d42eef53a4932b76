"""Delivers the end of requests to their requesters, by surface.

A surface binds a delivery if it can reach the requester, as over an open WebSocket, or a family of
surfaces does (`tools_registry.pipeline.surface.mount_family`). The workspace server has none.
Requests that were executed or declined are delivered, and those that expired or whose execution was
interrupted; in the background worker too, so a delivery reaches connections of other processes
itself. A request may be delivered again with a later status.
"""

from typing import Final, Protocol

import structlog

from approvals.models import ApprovalRequest

log = structlog.get_logger(__name__)


class ApprovalDelivery(Protocol):
    def __call__(self, request: ApprovalRequest) -> None:
        """Delivers a request that has ended. An exception is logged and changes nothing."""
        ...


_deliveries: Final[dict[str, ApprovalDelivery]] = {}


def bind(surface: str, delivery: ApprovalDelivery) -> None:
    """Registers the delivery of a surface or of a family, by its prefix; called at start-up."""
    _deliveries[surface] = delivery


def deliver(request: ApprovalRequest) -> None:
    """Delivers a stored request that has ended, if its surface has a delivery."""
    family = request.surface.partition(":")[0]
    delivery = _deliveries.get(request.surface) or _deliveries.get(family)
    if delivery is None:
        return
    try:
        delivery(request)
    except Exception:
        log.exception("approval_not_delivered", request=str(request.pk))
