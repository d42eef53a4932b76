"""Admission to a surface: which host was meant, which page asks, and who calls.

Anybody can reach this code. An address that is over its rate limit is refused without a statement,
and every refusal counts towards that limit.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from audit import record
from foundation import limits
from mcp_protocol.errors import INVALID_REQUEST, ProtocolError
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry.endpoint import rates
from tools_registry.endpoint.http import Headers, HttpRequest

ALLOW: Final = "GET, HEAD, POST, OPTIONS"
ONLY_POST: Final = "POST, OPTIONS"
ASKED_WITH: Final = (
    "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
    "Mcp-Session-Id, Last-Event-ID"
)
PREFLIGHT_HEADERS: Final = (
    ("Allow", ALLOW),
    ("Access-Control-Allow-Methods", ALLOW),
    ("Access-Control-Max-Age", "600"),
)
# Headers that repeat a tool's arguments have names of their own (MCP 2026-07-28, basic/transports/
# streamable-http, Custom Headers); a name is a token (RFC 9110 section 5.6.2).
ARGUMENT_HEADER: Final = re.compile(r"mcp-param-[!#$%&'*+.^_`|~0-9a-z-]{1,100}", re.IGNORECASE)
MAX_ARGUMENT_HEADERS: Final = 50
# A name (RFC 1035, section 2.3.4) and a port: what is longer is not worth remembering.
MAX_HOST_LENGTH: Final = 255 + len(":65535")
IN_ADDRESS: Final = (
    "Tokens in the URL are not accepted. Send the token in the Authorization header."
)
TWICE: Final = "Send exactly one Authorization header with one bearer token."
EXPOSED: Final = (
    "WWW-Authenticate, Mcp-Session-Id, Retry-After, X-Request-Id, X-RateLimit-Limit, "
    "X-RateLimit-Remaining, X-RateLimit-Reset"
)


def require_host_and_origin(request: HttpRequest) -> None:
    """Refuse hosts that are not ours with 421, and pages of other sites with 403.

    Programs send no Origin. DNS rebinding: a page of another site must not reach a server on this
    computer (MCP 2026-07-28, basic/transports/streamable-http, Security & Endpoint).
    """
    host = request.header("host") or ""
    if len(host) > MAX_HOST_LENGTH or not is_ours(host, tuple(settings.ALLOWED_HOSTS)):
        raise ProtocolError(INVALID_REQUEST, "Unknown host.", http_status=421)
    origin = request.header("origin")
    if origin is not None and not _is_allowed(origin, host):
        _count_stranger(request, "origin_refused")
        raise ProtocolError(INVALID_REQUEST, "This origin is not allowed.", http_status=403)


def cors_headers(request: HttpRequest) -> Headers:
    """The CORS headers for an allowed page; no credentials, since no cookie counts here."""
    origin = request.header("origin")
    if origin is None or not _is_allowed(origin, request.header("host") or ""):
        return ()
    return (("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", EXPOSED))


def preflight_headers(request: HttpRequest) -> Headers:
    """What a page may send: the headers known beforehand, and those for arguments it names."""
    named = (request.header("access-control-request-headers") or "").split(",")
    stripped = (name.strip(" \t") for name in named)
    wanted = [name for name in stripped if ARGUMENT_HEADER.fullmatch(name)]
    allowed = ", ".join((ASKED_WITH, *wanted[:MAX_ARGUMENT_HEADERS]))
    return (*PREFLIGHT_HEADERS, ("Access-Control-Allow-Headers", allowed))


def identify(request: HttpRequest) -> Principal:
    """Who calls. Raises the 401 with its challenge, or 429 for an address that asks too often."""
    if limits.refusals_are_known():
        _refuse_known(request)
    try:
        return _authenticate(request)
    except Unauthenticated as problem:
        kind = "bearer_rejected" if problem.error else "bearer_missing"
        _count_stranger(request, kind, problem.error or "")
        host = request.header("host") or ""
        challenge = request.surface.challenges.unauthorized_challenge(problem.error, host=host)
        raise ProtocolError(
            request.surface.codes.unauthorized,
            problem.message or request.surface.credential_hint(host),
            http_status=401,
            headers=[("WWW-Authenticate", challenge)],
        ) from problem


def _authenticate(request: HttpRequest) -> Principal:
    if request.query and "access_token" in dict(parse_qsl(request.query, keep_blank_values=True)):
        # RFC 9700 section 4.3.2: a token in an address ends up in logs and histories.
        raise Unauthenticated("invalid_request", IN_ADDRESS)
    presented = request.all("authorization")
    if len(presented) > 1:
        raise Unauthenticated("invalid_request", TWICE)
    bearer = presented[0] if presented else None
    return credentials.authenticate(bearer, request.surface.credentials)


@lru_cache(maxsize=256)
def is_ours(host: str, allowed: tuple[str, ...]) -> bool:
    """Whether the value of a Host header names one of these hosts."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, allowed)


def _is_allowed(origin: str, host: str) -> bool:
    """Whether a page is of this server, of the host that was called, or of a configured site."""
    public = settings.HALO_PUBLIC_URL
    if origin == public or origin in settings.HALO_ALLOWED_ORIGINS:
        return True
    scheme = public.partition(":")[0]
    return origin == f"{scheme}://{host}" and is_ours(host, tuple(settings.ALLOWED_HOSTS))


def _count_stranger(request: HttpRequest, kind: str, detail: str = "") -> None:
    """Charge the address, then put the refusal on record under it."""
    _charge_stranger(request)
    record.security_event(kind, address=request.address, detail=detail)


def _charge_stranger(request: HttpRequest) -> None:
    _refuse_known(request)
    verdict = rates.spend_address(request.address)
    if verdict is not None:
        record.security_event("rate_limited", address=request.address, detail="ip")
        raise rates.refusal(verdict, request.declared_revision, request.surface.codes)


def _refuse_known(request: HttpRequest) -> None:
    known = rates.known_refusal(request.address)
    if known is not None:
        raise rates.refusal(known, request.declared_revision, request.surface.codes)
