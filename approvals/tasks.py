from approvals import expiry
from approvals.models import ApprovalRequest
from foundation.background import task


@task(name="approvals.settle")
def settle() -> int:
    """Ends and delivers requests that expired, were interrupted or lost their requester.

    Returns how many.
    """
    rows = ApprovalRequest.objects.all()
    return expiry.settle(rows) + expiry.end_with_requesters(rows)
