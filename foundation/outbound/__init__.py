"""The one guarded way out: HTTP to the public internet, within bounds.

`fetch("GET", url, policy=Policy(...))` returns a Reply or raises a subclass of OutboundError.
`again`, `breaker` and `share` are for those who ask the same place often.
"""

from foundation.outbound.client import Reply, fetch, vet
from foundation.outbound.errors import (
    OutboundError,
    RefusedAddress,
    RefusedRequest,
    RefusedUrl,
    TimedOut,
    TooLarge,
    Unreachable,
    Unwanted,
)
from foundation.outbound.policy import Policy

__all__ = [
    "OutboundError",
    "Policy",
    "RefusedAddress",
    "RefusedRequest",
    "RefusedUrl",
    "Reply",
    "TimedOut",
    "TooLarge",
    "Unreachable",
    "Unwanted",
    "fetch",
    "vet",
]
