"""HTTP requests to the public internet, restricted against SSRF and bounded in time and size.

`fetch("GET", url, policy=Policy(...))` returns a Reply or raises a subclass of OutboundError.
`again` and `breaker` are for repeated requests to the same host.
"""

from foundation.outbound.client import OutboundReply, fetch, vet
from foundation.outbound.errors import (
    OutboundError,
    RefusedAddress,
    RefusedRedirect,
    RefusedRequest,
    RefusedUrl,
    ResponseTooLarge,
    TimedOut,
    Unreachable,
    Unwanted,
)
from foundation.outbound.policy import Policy
from foundation.outbound.reach import has_reached_internet

__all__ = [
    "OutboundError",
    "OutboundReply",
    "Policy",
    "RefusedAddress",
    "RefusedRedirect",
    "RefusedRequest",
    "RefusedUrl",
    "ResponseTooLarge",
    "TimedOut",
    "Unreachable",
    "Unwanted",
    "fetch",
    "has_reached_internet",
    "vet",
]
