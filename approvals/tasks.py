from uuid import UUID

from approvals import execution, expiry, following
from approvals.models import ApprovalRequest
from foundation.background import task


@task(name=execution.TASK)
def execute(request_id: str) -> bool:
    """Executes an approved request in a thread of this process; returns whether it has begun.

    One that has not begun stays queued, for `execute_queued`.
    """
    return execution.start(UUID(request_id))


@task(name="approvals.execute_queued")
def execute_queued() -> int:
    """Executes the approved requests that no process has begun; returns how many."""
    return execution.start_queued()


@task(name="approvals.follow")
def follow() -> int:
    """Reads what became of changes that vendors finish later; returns how many have changed."""
    return following.follow_all()


@task(name="approvals.settle")
def settle() -> int:
    """Ends and delivers requests that expired, were interrupted or lost their requester.

    Returns how many.
    """
    rows = ApprovalRequest.objects.all()
    return expiry.settle(rows) + expiry.end_with_requesters(rows)
