"""How many calls a minute an admin allows of one action, over all connections together."""

from typing import Final
from uuid import UUID

from audit import record
from foundation import limits
from foundation.limits import Bucket, Verdict
from tools_registry.pipeline.gate import Decision
from workspace import caps

# What the audit row calls this limit, and the beginning of its buckets' keys.
NAME: Final = "action"
EXCEEDED: Final = Decision(allowed=False, reason="rate_limited", layer="rate_limit")


def charge(
    organization_id: UUID, integration: str, action: str, calls_per_minute: int
) -> Verdict | None:
    """Count a call against its action's cap; returns the verdict that refuses it."""
    key = f"{NAME}:{organization_id}:{integration}.{action}"
    return limits.charge_or_share(
        [Bucket(key, caps.limit(calls_per_minute))], record.limits_unavailable
    )
