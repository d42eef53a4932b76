"""Follows approved changes that a vendor has accepted and not finished, such as a pending refund.

Their requests are done, with a result whose `status` says that it is not the last one. It is read
again until it is, for at most `FOLLOWED_FOR`.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db.models import Q
from django.utils import timezone

from approvals import delivery
from approvals.models import ApprovalRequest, ApprovalStatus
from foundation import leases
from foundation.db.storable import escape_unstorable
from tools_registry import registry, vendors
from tools_registry.api import NotDone, Tool, ToolFailure
from tools_registry.vendors.slots import UpstreamBusy

FOLLOWED_FOR: Final = timedelta(days=30)


def follow_all() -> int:
    """Reads what became of all of them; returns how many have changed."""
    followed = {tool.name: tool for tool in _list_followed_tools()}
    if not followed:
        return 0
    is_open = Q()
    for tool in followed.values():
        if tool.following is not None:
            statuses = [*tool.following.statuses]
            is_open |= Q(tool=tool.name, result__status__in=statuses)
    # `expires_at` is later than the decision, and has an index with the status.
    since = timezone.now() - FOLLOWED_FOR
    done = ApprovalRequest.objects.filter(status=ApprovalStatus.DONE, expires_at__gt=since)
    rows = [*done.filter(is_open, ended_at__gt=since).order_by("pk")]
    return sum(_follow(row, followed[row.tool]) for row in rows if not leases.is_stopping())


def _list_followed_tools() -> list[Tool]:
    tools = (tool for toolset in registry.integration_toolsets() for tool in toolset.tools)
    return [tool for tool in tools if tool.following is not None]


def _follow(row: ApprovalRequest, tool: Tool) -> bool:
    columns = _read_outcome(row, tool)
    # Unless it has changed meanwhile.
    same = ApprovalRequest.objects.filter(pk=row.pk, status=ApprovalStatus.DONE, claim=row.claim)
    if not columns or not same.update(**columns):
        return False
    row.refresh_from_db()
    delivery.deliver(row)
    return True


def _read_outcome(row: ApprovalRequest, tool: Tool) -> Mapping[str, Any]:
    """The columns that are different now; none also where the vendor cannot be asked now."""
    if tool.following is None:
        return {}
    try:
        with vendors.hold_slot(vendors.find_upstream(row.organization_id, tool.integration)):
            vendor = vendors.get_vendor(row.organization_id, tool.integration)
            result = tool.following.read(vendor, row.result)
    except NotDone as failure:
        return {"status": ApprovalStatus.FAILED, "problem": failure.message[:500]}
    except (ToolFailure, UpstreamBusy):
        return {}
    return {} if result.value == row.result else {"result": escape_unstorable(result.value)}
