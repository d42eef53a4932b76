"""What pages of other origins may call, which `settings.py` includes."""

# The endpoints that browser-based clients call; /api/mcp sets its own headers, without Django.
CORS_URLS_REGEX = (
    r"^/(api/sdk/|(w/[^/]+/)?(api/mcp/)?(prj_[^/]+/)?(\.well-known/|server-card/?$)"
    r"|(api/mcp/)?(oauth/)?(register|token|revoke|scopes)/?$)"
)
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_CREDENTIALS = False
CORS_ALLOW_METHODS = ["GET", "HEAD", "POST", "OPTIONS"]
# The headers that a page of another origin may send, and those that it may read.
CORS_ALLOW_HEADERS = [
    "authorization",
    "content-type",
    "accept",
    "mcp-protocol-version",
    "x-api-key",
    "idempotency-key",
    "if-none-match",
]
CORS_EXPOSE_HEADERS = [
    "WWW-Authenticate",
    "Retry-After",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "ETag",
]
