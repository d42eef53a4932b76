"""Settings of the REST APIs, and of what pages of other origins may send."""

from typing import Any, Final

# Views read keys themselves, since the limits of a request are charged before its key is looked up.
# None reads cookies.
FRAMEWORK: Final[dict[str, Any]] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest.bodies.StrictJson"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "rest.bodies.JsonOnly",
    "DEFAULT_METADATA_CLASS": None,
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
        # No copy of a body for PATCH with all members optional: our bodies say which are.
        "COMPONENT_SPLIT_PATCH": False,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    }
