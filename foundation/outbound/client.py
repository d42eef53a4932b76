"""Sends one request and reads its response."""

import functools
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import httpcore2
import httpx2

from foundation.concurrency import page_threads
from foundation.db.waits import give_back_connection
from foundation.headers import combine_repeated
from foundation.outbound import lookup, reach, request
from foundation.outbound.content import collect
from foundation.outbound.deadline import Deadline, always_wanted
from foundation.outbound.errors import OutboundError, RefusedRedirect, RefusedUrl, Unreachable
from foundation.outbound.policy import DEFAULT, Policy
from foundation.outbound.request import REDIRECTABLE, OutboundRequest
from foundation.outbound.target import Target
from foundation.outbound.wire import Pinned

REDIRECTS = frozenset({301, 302, 303, 307, 308})
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class OutboundReply:
    """A response, whatever its status; header names in lower case, `url` the final one.

    Repeated headers are joined with commas (RFC 9110 §5.3).
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
) -> OutboundReply:
    """Sends a request to the public internet and returns the response.

    The host is resolved once, and only its checked addresses are connected to. Proxies and
    certificates are not taken from the environment, and cookies are not kept. A redirect that the
    policy does not follow is returned. The wait ends early once `unwanted` returns True, from any
    thread. Raises a subclass of OutboundError: RefusedUrl, RefusedRedirect, RefusedAddress,
    RefusedRequest, ResponseTooLarge, TimedOut, Unwanted or Unreachable; and PageWaitsForOutside in
    the thread of a page.
    """
    page_threads.refuse()
    # Others may use the connection to the database while this thread waits.
    give_back_connection()
    target = Target.parse(url, policy)
    sent = request.prepare(target.host, method, headers or NO_HEADERS, body, policy)
    deadline = Deadline(target.host, policy.deadline, unwanted)
    try:
        route = Pinned(lookup.addresses(target, deadline, policy), deadline)
        return _follow_redirects(target, sent, route, policy)
    except OutboundError as error:
        error.was_sent = deadline.has_begun
        raise


def is_redirect(reply: OutboundReply) -> bool:
    """Returns whether a response leads to another URL."""
    return reply.status in REDIRECTS and "location" in reply.headers


def vet(url: str, *, policy: Policy = DEFAULT) -> None:
    """Checks a URL as `fetch` does, without resolving the host name.

    Raises RefusedUrl or RefusedAddress.
    """
    target = Target.parse(url, policy)
    if target.literal:
        lookup.vet(target.host, target.literal, policy)


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Returns a cached context with the system's certificates and host name checks."""
    return httpx2.create_ssl_context(trust_env=False)


def _follow_redirects(
    target: Target, sent: OutboundRequest, route: Pinned, policy: Policy
) -> OutboundReply:
    """The reply after the redirects that the policy follows."""
    reply = _send(target, sent, route, policy)
    for _ in range(policy.max_redirects if sent.method in REDIRECTABLE else 0):
        if not is_redirect(reply):
            break
        try:
            target = target.resolve_redirect(reply.headers["location"], policy)
        except RefusedUrl as refused:
            raise RefusedRedirect(refused, reply.status, reply.headers) from None
        reply = _send(target, sent, route, policy)
    return reply


def _send(target: Target, sent: OutboundRequest, route: Pinned, policy: Policy) -> OutboundReply:
    try:
        with _connection(target, route) as connection:
            reply = _exchange(connection, target, sent, policy)
    except (httpcore2.NetworkError, httpcore2.ProtocolError):
        # Not chained: the message of the library may quote headers.
        raise Unreachable(target.host, "it does not speak HTTP properly") from None
    reach.note_answer(target.scheme, target.host, policy)
    return reply


def _connection(target: Target, route: Pinned) -> httpcore2.HTTPConnection:
    is_https = target.scheme == "https"
    return httpcore2.HTTPConnection(
        _address(target).origin,
        ssl_context=tls_context() if is_https else None,
        network_backend=route,
    )


def _address(target: Target) -> httpcore2.URL:
    """The URL in its parts: from text the library drops what is behind a semicolon in the path."""
    return httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )


def _exchange(
    connection: httpcore2.HTTPConnection, target: Target, sent: OutboundRequest, policy: Policy
) -> OutboundReply:
    seconds = {
        "connect": policy.connect_timeout,
        "read": policy.read_timeout,
        "write": policy.read_timeout,
    }
    with connection.stream(
        sent.method,
        _address(target),
        headers=[("host", target.authority), *sent.headers.items()],
        content=sent.body,
        extensions={"timeout": seconds},
    ) as response:
        headers = combine_repeated(_text(response.headers))
        chunks = response.iter_stream()
        read = collect(chunks, headers, host=target.host, max_bytes=policy.max_bytes)
        return OutboundReply(response.status, headers, read, target.url)


def _text(fields: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in fields]
