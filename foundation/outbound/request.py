"""The request to send, checked before a host is resolved or connected to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from foundation.outbound.errors import RefusedRequest
from foundation.outbound.policy import Policy

# CONNECT opens a tunnel, TRACE echoes credentials (RFC 9110 §9.3.6 and §9.3.8).
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
WITH_CONTENT = frozenset({"POST", "PUT", "PATCH"})

# Redirects of other methods are returned to the caller: a write is not repeated automatically.
REDIRECTABLE = frozenset({"GET", "HEAD"})

# Set by this module: they frame the message, name the host or choose a coding that it can decode.
RESERVED = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+", re.ASCII)  # RFC 9110 §5.1
VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?", re.ASCII)  # RFC 9110 §5.5, ASCII only


@dataclass(frozen=True)
class OutboundRequest:
    """Method, headers in lower case and body; `repr` shows neither headers nor body."""

    method: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


def prepare(
    host: str, method: str, headers: Mapping[str, str], body: bytes | None, policy: Policy
) -> OutboundRequest:
    """Returns the request with the headers set here; raises RefusedRequest if it is refused."""
    if method not in METHODS:
        raise RefusedRequest(host, "the method is not allowed")
    given = {name.lower(): value for name, value in headers.items()}
    for name, value in given.items():
        if name in RESERVED or not NAME.fullmatch(name) or not VALUE.fullmatch(value):
            raise RefusedRequest(host, "a header is not allowed")
    ours = {"user-agent": policy.user_agent, "accept-encoding": "gzip", "connection": "close"}
    # An empty body has a Content-Length (RFC 9110 §8.6); some servers answer 411 otherwise.
    content = b"" if body is None and method in WITH_CONTENT else body
    return OutboundRequest(method, {**ours, **given}, content)
