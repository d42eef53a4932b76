"""Requests for approval as tasks of MCP: what they say of the call that waits for them.

A task has no row of its own. Its id is that of the request, its lifetime that of the request and of
its outcome, and cancelling it withdraws the request.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals import expiry, outcomes, requests
from approvals.models import ApprovalRequest, ApprovalStatus
from foundation import idempotency
from oauth.principal import Principal
from tools_registry.pipeline.call_kinds import CALL
from tools_registry.pipeline.call_tasks import CallTask, TaskStatus

# After how many seconds the client polls again while a person decides, and while the worker
# executes.
WAITING_SECONDS: Final = 15
RUNNING_SECONDS: Final = 2
# Of the tasks of a connection, how many are listed: the newest.
MAX_LISTED_TASKS: Final = 1_000
OPEN: Final = frozenset({ApprovalStatus.PENDING, ApprovalStatus.RUNNING})
# The columns that may be large, which a list does not need.
LARGE: Final = ("arguments", "result", "rule")


@dataclass(frozen=True, slots=True)
class ApprovalTasks:
    """The tasks of one surface (`tools_registry.pipeline.call_tasks.CallTasks`).

    `describe` returns the message of a request, and `waiting_tools` the tools of an organization
    whose calls all wait for an approval.
    """

    surface: str
    describe: Callable[[ApprovalRequest], str]
    waiting_tools: Callable[[UUID], Collection[str]]

    def find(self, caller: Principal, task_id: str) -> CallTask | None:
        row = self._rows_named(caller, task_id).first()
        if row is None:
            return None
        return _to_task(row, partial(self.describe, row), with_outcome=True)

    def list_tasks(self, caller: Principal) -> Sequence[CallTask]:
        rows = self._rows(caller).order_by("-pk").defer(*LARGE)[:MAX_LISTED_TASKS]
        return [_to_task(row, _describe_nothing) for row in rows]

    def cancel(self, caller: Principal, task_id: str) -> bool:
        rows = self._rows_named(caller, task_id)
        expiry.settle(rows)
        return requests.withdraw(rows) > 0

    def list_tools(self, organization_id: UUID) -> Collection[str]:
        return self.waiting_tools(organization_id)

    def _rows(self, caller: Principal) -> QuerySet[ApprovalRequest]:
        """Returns what this connection has requested here, of which the outcome is still kept.

        That is as long as an idempotency key is kept, whose outcome may be in its task alone.
        """
        is_kept = Q(ended_at=None) | Q(ended_at__gt=timezone.now() - idempotency.KEPT)
        return requests.connection_requests(caller, self.surface).filter(is_kept)

    def _rows_named(self, caller: Principal, task_id: str) -> QuerySet[ApprovalRequest]:
        rows = self._rows(caller)
        try:
            return rows.filter(pk=UUID(task_id))
        except ValueError:
            return rows.none()


def _describe_nothing() -> str:
    """A list has no messages: each takes queries."""
    return ""


def _to_task(
    row: ApprovalRequest, describe: Callable[[], str], *, with_outcome: bool = False
) -> CallTask:
    status = _status(row)
    is_ended = with_outcome and status == "completed"
    return CallTask(
        id=str(row.pk),
        tool=row.tool,
        status=status,
        describe=describe,
        created_at=row.created_at,
        updated_at=_change_time(row),
        ends_at=row.expires_at if _is_waiting(row) else _change_time(row) + idempotency.KEPT,
        poll_seconds=_poll_seconds(row),
        outcome=outcomes.find_outcome(row, CALL) if is_ended else None,
        note=f"task of approval request {row.pk}",
    )


def _status(row: ApprovalRequest) -> TaskStatus:
    """A rejected call has ended as a call does that is made again: with an error as its result."""
    if requests.is_withdrawn(row):
        return "cancelled"
    return "working" if row.current_status in OPEN else "completed"


def _is_waiting(row: ApprovalRequest) -> bool:
    return row.current_status == ApprovalStatus.PENDING


def _change_time(row: ApprovalRequest) -> datetime:
    if row.current_status == ApprovalStatus.EXPIRED:
        return row.ended_at or row.expires_at
    return row.ended_at or row.claimed_at or row.created_at


def _poll_seconds(row: ApprovalRequest) -> float:
    """A client that waits for a decision looks once more when the time for it is over."""
    if not _is_waiting(row):
        return RUNNING_SECONDS
    left = (row.expires_at - timezone.now()).total_seconds()
    return min(WAITING_SECONDS, max(left, 1))
