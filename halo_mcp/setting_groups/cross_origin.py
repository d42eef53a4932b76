"""What pages of other origins may call, which `settings.py` includes."""

from halo_mcp import rest

# The endpoints that browser-based clients call; /api/mcp sets its own headers, without Django.
CORS_URLS_REGEX = (
    r"^/(api/sdk/|(w/[^/]+/)?(api/mcp/)?(prj_[^/]+/)?(\.well-known/|server-card/?$)"
    r"|(api/mcp/)?(oauth/)?(register|token|revoke|scopes)/?$)"
)
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_CREDENTIALS = False
CORS_ALLOW_METHODS = ["GET", "HEAD", "POST", "OPTIONS"]
CORS_ALLOW_HEADERS = rest.REQUEST_HEADERS
CORS_EXPOSE_HEADERS = rest.RESPONSE_HEADERS
