from approvals import expiry
from approvals.models import ApprovalRequest
from foundation.background import task


@task(name="approvals.settle")
def settle() -> int:
    """Marks and delivers requests that expired or were interrupted by a crash; returns how many."""
    return expiry.settle(ApprovalRequest.objects.all())
