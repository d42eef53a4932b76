"""The addresses of this deployment: issuer, resource, endpoints (RFC 8414, RFC 9728, RFC 8707)."""

from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from oauth.errors import InvalidTarget

MCP_PATH: Final = "/api/mcp"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def issuer() -> str:
    """The authorization server's issuer identifier: the public origin, no trailing slash."""
    return str(settings.HALO_PUBLIC_URL)


def url(path: str) -> str:
    return f"{settings.HALO_PUBLIC_URL}{path}"


def resource() -> str:
    """The canonical resource identifier of the MCP endpoint."""
    return url(MCP_PATH)


def resource_as_reached(host: str) -> str:
    """The resource as the person typed it, when both names are this computer's loopback.

    SDKs compare the metadata's `resource` with the URL they were given: a person who typed
    localhost where this server calls itself 127.0.0.1 would otherwise be turned away.
    """
    scheme = urlsplit(issuer()).scheme
    reached = _split(f"{scheme}://{host}")
    return f"{scheme}://{host}{MCP_PATH}" if reached and _is_here(reached) else resource()


def metadata_as_reached(host: str) -> str:
    """Where the metadata stands that names the resource as the person typed it (RFC 9728 3.1)."""
    origin = resource_as_reached(host).removesuffix(MCP_PATH)
    return f"{origin}/.well-known/oauth-protected-resource{MCP_PATH}"


def canonical_resource(given: str | None) -> str:
    """The canonical form of a `resource` parameter; absent means this server.

    Accepted: another case of the host, a trailing slash, the bare origin (ChatGPT sends it).
    Raises InvalidTarget for everything else (RFC 8707 section 2).
    """
    if given is None:
        return resource()
    if not _names_this_server(given):
        raise InvalidTarget(hint=f"The only resource here is {resource()}.")
    return resource()


def _names_this_server(given: str) -> bool:
    parts = _split(given)
    if parts is None or "@" in parts.netloc or "?" in given or "#" in given:
        return False
    return _is_here(parts) and parts.path in {"", "/", MCP_PATH, f"{MCP_PATH}/"}


def _split(url: str) -> SplitResult | None:
    """The parts of a URL, or None where its host or port cannot be one.

    `urlsplit` drops white space and control characters, which no URI has (RFC 3986 section 2).
    """
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 else parts


def _is_here(parts: SplitResult) -> bool:
    """Whether a URL names this server's origin, loopback names counting as one."""
    here = urlsplit(issuer())
    same_host = parts.hostname == here.hostname or {here.hostname, parts.hostname} <= LOOPBACK
    return parts.scheme == here.scheme and _port(parts) == _port(here) and same_host


def _port(parts: SplitResult) -> int | None:
    return parts.port or DEFAULT_PORTS.get(parts.scheme)
