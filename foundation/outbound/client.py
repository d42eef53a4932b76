"""Sending one request and reading its answer."""

import functools
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import httpcore2
import httpx2

from foundation.outbound import lookup, request
from foundation.outbound.content import collect
from foundation.outbound.deadline import Deadline, always_wanted
from foundation.outbound.errors import Unreachable
from foundation.outbound.policy import DEFAULT, Policy
from foundation.outbound.request import REDIRECTABLE, Request
from foundation.outbound.target import Target
from foundation.outbound.wire import Pinned

REDIRECTS = frozenset({301, 302, 303, 307, 308})
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Reply:
    """An answer, whatever its status; header names in lower case, `url` the one that answered.

    A header sent several times is joined with commas (RFC 9110 §5.3).
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    url: str = field(repr=False)


def fetch(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    policy: Policy = DEFAULT,
    unwanted: Callable[[], bool] = always_wanted,
) -> Reply:
    """Send a request to the public internet and return the answer.

    The host is resolved once and only its vetted addresses are connected to; neither proxies nor
    certificates are taken from the environment, and no cookies are kept. A redirect that is not
    to be followed is returned as it is. Silence is ended once `unwanted` says so, from any thread.
    Raises a subclass of OutboundError: RefusedUrl, RefusedAddress, RefusedRequest, TooLarge,
    TimedOut, Unwanted or Unreachable.
    """
    target = Target.parse(url, policy)
    sent = request.checked(target.host, method, headers or NO_HEADERS, body, policy)
    deadline = Deadline(target.host, policy.deadline, unwanted)
    route = Pinned(lookup.addresses(target, deadline, policy), deadline)
    reply = _send(target, sent, route, policy)
    for _ in range(policy.max_redirects if method in REDIRECTABLE else 0):
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or location is None:
            break
        target = target.redirected(location, policy)
        reply = _send(target, sent, route, policy)
    return reply


def vet(url: str, *, policy: Policy = DEFAULT) -> None:
    """Refuse what `fetch` would refuse by the URL alone, without looking up its name.

    Raises RefusedUrl or RefusedAddress.
    """
    target = Target.parse(url, policy)
    if target.literal:
        lookup.vet(target.host, target.literal, policy)


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The system's certificates, host names checked; loading them takes milliseconds."""
    return httpx2.create_ssl_context(trust_env=False)


def _send(target: Target, sent: Request, route: Pinned, policy: Policy) -> Reply:
    try:
        with _connection(target, route) as connection:
            return _exchange(connection, target, sent, policy)
    except (httpcore2.NetworkError, httpcore2.ProtocolError):
        # Not chained: what the library says may quote headers.
        raise Unreachable(target.host, "it does not speak HTTP properly") from None


def _connection(target: Target, route: Pinned) -> httpcore2.HTTPConnection:
    address = httpcore2.URL(target.url)
    is_https = target.scheme == "https"
    return httpcore2.HTTPConnection(
        address.origin, ssl_context=tls_context() if is_https else None, network_backend=route
    )


def _exchange(
    connection: httpcore2.HTTPConnection, target: Target, sent: Request, policy: Policy
) -> Reply:
    seconds = {
        "connect": policy.connect_timeout,
        "read": policy.read_timeout,
        "write": policy.read_timeout,
    }
    with connection.stream(
        sent.method,
        target.url,
        headers=[("host", target.authority), *sent.headers.items()],
        content=sent.body,
        extensions={"timeout": seconds},
    ) as response:
        headers = _joined(response.headers)
        chunks = response.iter_stream()
        read = collect(chunks, headers, host=target.host, max_bytes=policy.max_bytes)
        return Reply(response.status, headers, read, target.url)


def _joined(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
