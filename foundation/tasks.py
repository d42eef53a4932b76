from foundation import limits
from foundation.background import task


@task(name="foundation.prune_rate_counters")
def prune_rate_counters() -> int:
    """Delete counters whose windows have passed; nothing to do where PostgreSQL keeps none."""
    return limits.prune_counters()
