"""Settings of the SDK API (docs/sdk-api.md), and of what pages of other origins may send."""

from typing import Any, Final

# The views set everything else themselves.
FRAMEWORK: Final[dict[str, Any]] = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
# The headers that a page of another origin may send, and those that it may read.
REQUEST_HEADERS: Final = [
    "authorization",
    "content-type",
    "accept",
    "mcp-protocol-version",
    "x-api-key",
    "idempotency-key",
    "if-none-match",
]
RESPONSE_HEADERS: Final = [
    "WWW-Authenticate",
    "Retry-After",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "ETag",
]


def contract(public_url: str) -> dict[str, Any]:
    """Returns how the OpenAPI document is made."""
    return {
        "TITLE": "Halo SDK API",
        "DESCRIPTION": "Customers, companies, tickets, events and transcripts of an organization.",
        "VERSION": "1.0.0",
        "OAS_VERSION": "3.1.0",
        "SERVERS": [{"url": public_url}],
        "ENFORCE_NON_BLANK_FIELDS": True,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    }
