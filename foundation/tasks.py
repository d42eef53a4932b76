from foundation import limits
from foundation.background import task


@task(name="foundation.prune_rate_counters")
def prune_rate_counters() -> int:
    """Deletes counters whose windows have passed; does nothing unless PostgreSQL holds them."""
    return limits.prune_counters()
