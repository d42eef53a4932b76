"""What pages of other origins may send and read (Fetch standard, CORS protocol)."""

from typing import Final

from django.conf import settings

from agents.replies import AgentReply, error_reply
from rest.errors import ApiError

SENT: Final = "authorization, content-type, idempotency-key"
READ: Final = "retry-after, www-authenticate"
METHODS: Final = "GET, PUT, POST, DELETE"
KEPT_SECONDS: Final = 600


def headers(origin: str) -> dict[str, str]:
    """Returns the headers of a response to a page of this origin, none if it may not read it."""
    if not origin or not _is_allowed(origin):
        return {}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": READ,
        "Vary": "Origin",
    }


def preflight(origin: str) -> AgentReply:
    """Returns the answer to a browser that asks before it sends a request."""
    found = headers(origin)
    if not found:
        return error_reply(ApiError(403, "This origin is not allowed."))
    return AgentReply(
        204,
        None,
        {
            **found,
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": SENT,
            "Access-Control-Max-Age": str(KEPT_SECONDS),
        },
    )


def _is_allowed(origin: str) -> bool:
    allowed = settings.HALO_AGENTS_ORIGINS
    return origin == settings.HALO_PUBLIC_URL or origin in allowed or "*" in allowed
