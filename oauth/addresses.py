"""The addresses of this deployment: issuer, resources, endpoints (RFC 8414, RFC 9728, RFC 8707).

There is one resource for the workspace, and one for each project of the gateway.
"""

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from oauth import ports
from oauth.errors import InvalidTarget
from oauth.scopes import PROJECT_ID

MCP_PATH: Final = "/api/mcp"
# The path of a project's resource, and its alias.
PROJECT_PATH: Final = re.compile(rf"(?:{MCP_PATH})?(/{PROJECT_ID})")
WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
# The addresses that a client may be given: endpoints, and documents about them.
CLIENT_PATH: Final = re.compile(
    rf"(?:{PROJECT_PATH.pattern}|{MCP_PATH})(?:/\.well-known/.+|/server-card)?"
    r"|/\.well-known/.+"
    rf"|(?:{MCP_PATH}/oauth)?/register|(?:{MCP_PATH})?/oauth/(?:authorize|token|revoke)"
)
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def strip_slash(path: str) -> str:
    """Returns the path of a client's address without a trailing slash; every other path as it is.

    Both forms of the address are valid (MCP 2025-06-18, canonical server URI), and a redirect would
    lose a POST.
    """
    shorter = path.removesuffix("/")
    return shorter if CLIENT_PATH.fullmatch(shorter) else path


def issuer() -> str:
    """Returns the issuer identifier: the public origin, without a trailing slash."""
    return str(settings.HALO_PUBLIC_URL)


def url(path: str) -> str:
    return f"{settings.HALO_PUBLIC_URL}{path}"


def resource(path: str = MCP_PATH) -> str:
    """Returns the canonical resource identifier of an MCP endpoint."""
    return f"{settings.HALO_PUBLIC_URL}{path}"


def resource_as_reached(host: str, path: str = MCP_PATH) -> str:
    """Returns the resource with the host of the request, if both are loopback names.

    SDKs compare the metadata's `resource` with the URL they were given. Without this, a user who
    entered localhost could not connect to a server that calls itself 127.0.0.1.
    """
    scheme = urlsplit(issuer()).scheme
    reached = _split(f"{scheme}://{host}")
    return f"{scheme}://{host}{path}" if reached and _is_here(reached) else resource(path)


def metadata_as_reached(host: str, path: str = MCP_PATH) -> str:
    """Returns the URL of the metadata for the resource as the user entered it (RFC 9728 3.1)."""
    origin = resource_as_reached(host, path).removesuffix(path)
    return f"{origin}{WELL_KNOWN}{path}"


def canonical_resource(given: str | None) -> str:
    """Returns the canonical form of a `resource` parameter; absent means the workspace.

    Accepted: another case of the host, a trailing slash, the bare origin (ChatGPT sends it), and
    the alias of a project. Whether the project exists is not checked. Raises InvalidTarget for
    everything else (RFC 8707 section 2).
    """
    if given is None:
        return resource()
    path = _path_here(given)
    if path is None:
        hint = (
            ports.key_hint(given) or f"resource must be {resource()} or the address of a project."
        )
        raise InvalidTarget(hint=hint)
    return resource(path)


def is_of_this_deployment(identifier: str) -> bool:
    """Returns whether a stored resource is one that this deployment issues tokens for."""
    return identifier == resource() or project_of(identifier) is not None


def project_of(identifier: str) -> str | None:
    """Returns the id of the project whose canonical resource this is, or None."""
    path = identifier.removeprefix(issuer())
    if path == identifier or not re.fullmatch(f"/{PROJECT_ID}", path):
        return None
    return path[1:]


def origin_of(identifier: str) -> str:
    """Returns the public address of the deployment that a stored resource belongs to."""
    return re.sub(rf"(?:{MCP_PATH}|/{PROJECT_ID})\Z", "", identifier)


def _path_here(given: str) -> str | None:
    """Returns the canonical path of a resource of this server; None for any other URL."""
    if not names_this_server(given):
        return None
    path = urlsplit(given).path.removesuffix("/")
    if path in {"", MCP_PATH}:
        return MCP_PATH
    project = PROJECT_PATH.fullmatch(path)
    return project[1] if project else None


def names_this_server(given: str) -> bool:
    """Returns whether a URL without user name, query and fragment has this server's origin."""
    parts = _split(given)
    if parts is None or "@" in parts.netloc or "?" in given or "#" in given:
        return False
    return _is_here(parts)


def _split(url: str) -> SplitResult | None:
    """Splits a URL; returns None if its host or port is invalid.

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
    """Returns whether a URL has this server's origin; loopback names count as equal."""
    here = urlsplit(issuer())
    same_host = parts.hostname == here.hostname or {here.hostname, parts.hostname} <= LOOPBACK
    return parts.scheme == here.scheme and _port(parts) == _port(here) and same_host


def _port(parts: SplitResult) -> int | None:
    return parts.port or DEFAULT_PORTS.get(parts.scheme)
