"""Redirect URIs: validation at registration, matching of requests, description for the user.

URIs are parsed strictly by the grammar of RFC 3986: if two parsers disagree about where the host
ends, a code can reach the wrong site (RFC 9700 section 4.1).
"""

import re
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote, unquote_plus, urlencode

from oauth.errors import InvalidRedirectUri

MAX_LENGTH: Final = 2_000  # characters
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
FORBIDDEN_SCHEMES: Final = frozenset(
    {
        "javascript",
        "vbscript",
        "data",
        "blob",
        "filesystem",
        "file",
        "about",
        "view-source",
        "jar",
        "intent",
        "ws",
        "wss",
        "ftp",
        "mailto",
    }
)
"""Schemes that no setting can allow: they run scripts, open local files or reach no program."""

# RFC 3986 2: unreserved, reserved and percent-encoded; no space, backslash, control or non-ASCII.
_ALIEN = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})")
_URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/?#]*))?"
    r"(?P<rest>(?P<path>[^?#]*)(?:\?[^#]*)?(?P<fragment>#.*)?)"
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:@\[\]]*)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
# Browsers read a host whose last label is a number as an IPv4 address, octal and hex included.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_HIGHEST_PORT = 65_535


class RefusedRedirectUri(InvalidRedirectUri):
    """A redirect URI violates the policy; `uri` is the URI, `why` the reason."""


class RedirectDescription(NamedTuple):
    """Where a code is sent: to a web site, a program on this computer or an app by its scheme."""

    kind: Literal["web", "loopback", "app"]
    display_host: str


class _Parts(NamedTuple):
    scheme: str
    authority: str | None
    path: str
    fragment: str | None
    rest: str  # path, query and fragment


class _Authority(NamedTuple):
    host: str
    port: str | None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" if self.port else self.host


def check(uri: str, *, app_schemes: frozenset[str], native: bool) -> None:
    """Validate a redirect URI for registration, or raise RefusedRedirectUri.

    Allowed: https with any host; http on loopback only; a listed private-use scheme for every
    client, because Cursor registers as a web application; a reverse-DNS scheme for native clients.
    Requests are compared character by character, so that a wildcard could never match what its
    author means. Source: RFC 9700 section 2.1, RFC 8252 section 7, MCP authorization
    "Communication Security".
    """
    parts = _split(uri)
    if "*" in uri:
        raise RefusedRedirectUri(uri, "A redirect URI must not contain a wildcard (*).")
    if parts.fragment is not None:  # RFC 6749 3.1.2
        raise RefusedRedirectUri(uri, "A redirect URI must not contain a fragment.")
    if _has_dot_segment(parts.path):
        raise RefusedRedirectUri(uri, "A redirect URI must not contain dot segments (. or ..).")
    if parts.scheme in {"https", "http"}:
        _check_web(uri, parts)
    else:
        _check_app(uri, parts, app_schemes, native=native)


def check_https(uri: str) -> None:
    """Validate an https URL of the client metadata, or raise RefusedRedirectUri.

    A fragment is allowed; the URL is shown as text and never fetched (RFC 7591 section 2).
    """
    parts = _split(uri)
    if parts.scheme != "https":
        raise RefusedRedirectUri(uri, "The URL must start with https://.")
    _check_web(uri, parts)


def is_local(uri: str, *, app_schemes: frozenset[str]) -> bool:
    """Returns whether the URI leads to a program on the user's device, as of native clients only.

    That is loopback or a listed scheme; a reverse-DNS scheme is no proof (RFC 8252 section 7).
    """
    return describe(uri).kind == "loopback" or _split(uri).scheme in app_schemes


def matches(registered: Iterable[str], requested: str) -> str | None:
    """Return the registered URI that an authorization request may use, or None.

    URIs are compared character by character (RFC 9700 section 4.1.3), except that the client may
    choose the port of an http loopback URI at the time of the request (RFC 8252 section 7.3).
    """
    candidates = list(registered)
    if requested in candidates:
        return requested
    portless = _strip_loopback_port(requested)
    if portless is None:
        return None
    return next((uri for uri in candidates if _strip_loopback_port(uri) == portless), None)


def describe(uri: str) -> RedirectDescription:
    """Return the kind of a valid redirect URI, with its host or scheme for display."""
    parts = _split(uri)
    if parts.scheme not in {"https", "http"}:
        return RedirectDescription("app", parts.scheme)
    server = _valid_server(uri, parts)
    if server.host in LOOPBACK:
        return RedirectDescription("loopback", server.host)
    return RedirectDescription("web", str(server))


def with_parameters(uri: str, params: list[tuple[str, str]]) -> str:
    """Return the redirect URI with the response parameters in its query, each exactly once.

    The registered query is kept (RFC 6749 section 3.1.2), except for parameters of the same names:
    a registered `?code=...` would duplicate the response's own.
    """
    base, _, query = uri.partition("?")
    added = dict(params)
    kept = [piece for piece in query.split("&") if piece and _name(piece) not in added]
    return f"{base}?{'&'.join([*kept, urlencode(added, quote_via=quote, safe='')])}"


def origin_for_csp(uri: str) -> str:
    """Return the source expression with which `form-action` allows the redirect.

    A Content Security Policy can name no IP address but 127.0.0.1, and apps only by their scheme;
    for those the expression is the scheme alone. Source: CSP Level 3, "host-part match".
    """
    parts = _split(uri)
    server = _server(parts)
    if parts.scheme not in {"https", "http"} or server is None or _is_unnameable(server.host):
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{server}"


def _split(uri: str) -> _Parts:
    if len(uri) > MAX_LENGTH:
        raise RefusedRedirectUri(uri, f"A URI must be at most {MAX_LENGTH} characters long.")
    if alien := _ALIEN.search(uri):
        where = f"U+{ord(alien[0]):04X} at position {alien.start()}"
        raise RefusedRedirectUri(uri, f"A URI must not contain the character {where}.")
    match = _URI.fullmatch(uri)
    if match is None:
        raise RefusedRedirectUri(uri, "A URI must start with its scheme, such as https://.")
    if "@" in (match["authority"] or ""):
        raise RefusedRedirectUri(uri, "A URI must not contain a user name or password.")
    scheme = match["scheme"].lower()
    return _Parts(scheme, *match.group("authority", "path", "fragment", "rest"))


def _check_web(uri: str, parts: _Parts) -> None:
    server = _valid_server(uri, parts)
    if parts.scheme == "http" and server.host not in LOOPBACK:
        raise RefusedRedirectUri(
            uri, "http is allowed for localhost, 127.0.0.1 and [::1] only; use https."
        )


def _check_app(uri: str, parts: _Parts, app_schemes: frozenset[str], *, native: bool) -> None:
    if parts.scheme in FORBIDDEN_SCHEMES:
        raise RefusedRedirectUri(
            uri, f"The scheme {parts.scheme} is not allowed in a redirect URI."
        )
    # RFC 8252 section 7.1: a reverse domain name identifies the scheme's owner, a word does not.
    if parts.scheme not in app_schemes and not (native and "." in parts.scheme):
        raise RefusedRedirectUri(
            uri,
            f"The scheme {parts.scheme} is not allowed. Native clients may use a reverse domain "
            "name as the scheme.",
        )
    if parts.authority is None and not parts.path.startswith("/"):
        raise RefusedRedirectUri(
            uri, "The scheme must be followed by a slash (RFC 8252 section 7.1)."
        )


def _valid_server(uri: str, parts: _Parts) -> _Authority:
    server = _server(parts)
    if server is None:
        raise RefusedRedirectUri(uri, "The host or the port is not valid.")
    return server


def _server(parts: _Parts) -> _Authority | None:
    """Returns host and port of the authority, or None if either is invalid."""
    match = _AUTHORITY.fullmatch(parts.authority or "")
    if match is None or not _is_host(match["host"]):
        return None
    if match["port"] and int(match["port"]) > _HIGHEST_PORT:
        return None
    return _Authority(match["host"].lower(), match["port"])


def _is_host(host: str) -> bool:
    if host.startswith("[") or _NUMERIC.fullmatch(host):
        return _is_address(host)
    return _DOMAIN.fullmatch(host) is not None


def _is_address(host: str) -> bool:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    # Only IPv6 has brackets, and a zone is only valid locally (RFC 3986 3.2.2, RFC 6874 1).
    return host.startswith("[") == isinstance(address, IPv6Address) and "%" not in host


def _is_unnameable(host: str) -> bool:
    return host.startswith("[") or (host != "127.0.0.1" and _NUMERIC.fullmatch(host) is not None)


def _has_dot_segment(path: str) -> bool:
    # Encoded slashes count, and parameters do not: some servers decode and strip before they
    # resolve dots.
    segments = re.split(r"[/\\]", unquote(path))
    return any(segment.partition(";")[0] in {".", ".."} for segment in segments)


def _strip_loopback_port(uri: str) -> str | None:
    """Return host and rest of an http loopback URI, its port left out; None for any other URI."""
    try:
        parts = _split(uri)
    except RefusedRedirectUri:
        return None
    server = _server(parts)
    if parts.scheme != "http" or server is None or server.host not in LOOPBACK:
        return None
    return server.host + parts.rest


def _name(piece: str) -> str:
    return unquote_plus(piece.partition("=")[0])
