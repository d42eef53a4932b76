"""The limits of requests to APIs and for documents: which hosts, and how long and how much."""

from dataclasses import replace
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from foundation.outbound import OutboundError, Policy, vet
from foundation.outbound.policy import DEFAULT_PORTS, usual_ports

DOCUMENT_REDIRECTS: Final = 3
READ_REDIRECTS: Final = 3


class InvalidTargetUrl(Exception):
    """A URL is none that calls may go to; the message is for the person who entered it."""


def policy_for(url: str, *, max_bytes: int, max_redirects: int = 0) -> Policy:
    """Returns the limits for a URL; hosts of HALO_GATEWAY_PRIVATE_HOSTS may be private."""
    parts = _split(url)
    return Policy(
        max_bytes=max_bytes,
        read_timeout=float(settings.HALO_GATEWAY_TIMEOUT_SECONDS),
        deadline=float(settings.HALO_GATEWAY_TIMEOUT_SECONDS),
        max_redirects=max_redirects,
        allowed_ports=usual_ports(parts),
    ).naming(parts, settings.HALO_GATEWAY_PRIVATE_HOSTS)


def for_calls(url: str) -> Policy:
    return policy_for(url, max_bytes=settings.HALO_GATEWAY_MAX_RESPONSE_BYTES)


def for_reads(url: str) -> Policy:
    """Returns the limits of a call that reads: it is redirected with its headers.

    So the credentials in headers and cookies are sent again, and the keys of the query are not.
    Within the origin only, which is what the credential was entered for (`fetch`).
    """
    return replace(for_calls(url), max_redirects=READ_REDIRECTS)


def for_documents(url: str) -> Policy:
    """Returns the limits of fetching a document, which has no credential to take along."""
    return policy_for(
        url,
        max_bytes=settings.HALO_GATEWAY_MAX_DOCUMENT_BYTES,
        max_redirects=DOCUMENT_REDIRECTS,
    )


def base_url(url: str) -> str:
    """Returns a target URL as it is stored, without a final slash. Raises InvalidTargetUrl."""
    url = url.strip().rstrip("/")
    if "?" in url:
        raise InvalidTargetUrl("Enter a URL without a query.")
    if {".", ".."} & set(_split(url).path.split("/")):
        raise InvalidTargetUrl("Enter a URL without dot segments.")
    try:
        vet(url, policy=for_calls(url))
    except OutboundError as refused:
        raise InvalidTargetUrl(f"Calls cannot go to this URL: {refused.reason}.") from None
    return url


def origin(url: str) -> str:
    """Returns scheme, host and port of a URL: what a credential was entered for."""
    parts = _split(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}:{parts.port or DEFAULT_PORTS.get(parts.scheme, 0)}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidTargetUrl("Enter a valid URL.") from None
    return parts
