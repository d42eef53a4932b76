from django.utils import timezone

from foundation.background import task
from tools_registry.models import PushedMessage, Question, SessionLevel, SpentState
from tools_registry.pipeline import idempotency
from tools_registry.vendors import connecting


@task(name="tools_registry.prune_asking")
def prune_asking() -> int:
    """Delete expired questions, messages, spent states and log levels; returns how many."""
    now = timezone.now()
    kinds = (Question, SpentState, SessionLevel, PushedMessage)
    return sum(kind.objects.filter(expires_at__lt=now).delete()[0] for kind in kinds)


@task(name="tools_registry.check_connections")
def check_connections() -> int:
    """Checks every connection to a vendor again; returns how many vendors have answered."""
    return connecting.check_all()


@task(name="tools_registry.prune_repeatable_calls")
def prune_repeatable_calls() -> int:
    """Deletes idempotency keys that may be used again; returns how many."""
    return idempotency.prune()
