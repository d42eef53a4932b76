from django.utils import timezone

from foundation.background import task
from tools_registry.billing import settling
from tools_registry.models import Question, SessionLevel, SpentState


@task(name="tools_registry.prune_asking")
def prune_asking() -> int:
    """Delete questions, spent states and log levels whose time has passed; returns how many."""
    now = timezone.now()
    kinds = (Question, SpentState, SessionLevel)
    return sum(kind.objects.filter(expires_at__lt=now).delete()[0] for kind in kinds)


@task(name="tools_registry.settle_billing_requests")
def settle_billing_requests() -> int:
    """Mark billing requests that lapsed or were left behind by a crash; returns how many."""
    return settling.settle()
