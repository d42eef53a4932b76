from foundation.background import task
from rest import idempotency


@task(name="ingestion.prune_repeatable_requests")
def prune_repeatable_requests() -> int:
    return idempotency.prune()
