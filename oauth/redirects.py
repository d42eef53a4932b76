"""Redirect URIs: which may be registered, which request matches, what a person is shown.

URIs are split by the grammar of RFC 3986 and by nothing more lenient: two parsers that disagree
about where the host ends are how a code reaches the wrong site (RFC 9700 4.1).
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
"""Schemes that no setting can allow: they run script, open local files or reach no program."""

# RFC 3986 2: unreserved, reserved and percent-encoded; no space, backslash, control or non-ASCII.
_ALIEN = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})")
_URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/?#]*))?"
    r"(?P<rest>(?P<path>[^?#]*)(?:\?[^#]*)?(?P<fragment>#.*)?)"
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:@\[\]]*)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
# A browser reads a name whose last label is a number as an IPv4 address, octal and hex included.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_HIGHEST_PORT = 65_535


class RefusedRedirect(InvalidRedirectUri):
    """A redirect URI breaks the policy; `uri` is the URI, `why` the reason in plain words."""


class RedirectDescription(NamedTuple):
    """Where a code would go: a web site, a program on this computer or an app by its scheme."""

    kind: Literal["web", "loopback", "app"]
    display_host: str


class _Parts(NamedTuple):
    scheme: str
    authority: str | None
    path: str
    fragment: str | None
    rest: str  # path, query and fragment


class _Server(NamedTuple):
    host: str
    port: str | None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" if self.port else self.host


def check(uri: str, *, app_schemes: frozenset[str], native: bool) -> None:
    """Accept a redirect URI for registration, or raise RefusedRedirect.

    Any https host; http on this computer only; a listed private-use scheme for everyone, since
    Cursor calls itself a web application; a reverse-DNS scheme for native clients.
    Source: RFC 9700 2.1, RFC 8252 7, MCP authorization "Communication Security".
    """
    parts = _split(uri)
    if parts.fragment is not None:  # RFC 6749 3.1.2
        raise RefusedRedirect(uri, "A redirect URI carries no fragment.")
    if _has_dot_segment(parts.path):
        raise RefusedRedirect(uri, "A redirect URI carries no dot segments, encoded or not.")
    if parts.scheme in {"https", "http"}:
        _check_web(uri, parts)
    else:
        _check_app(uri, parts, app_schemes, native=native)


def check_https(uri: str) -> None:
    """Accept an https URL that a client says of itself, or raise RefusedRedirect.

    A fragment is welcome; the URL is shown as text and never fetched (RFC 7591 2).
    """
    parts = _split(uri)
    if parts.scheme != "https":
        raise RefusedRedirect(uri, "The URL must be https.")
    _check_web(uri, parts)


def is_local(uri: str, *, app_schemes: frozenset[str]) -> bool:
    """Tell whether the URI leads to a program on the person's device, as only native clients have.

    Loopback or a listed scheme; a reverse-DNS scheme proves nothing by itself (RFC 8252 7).
    """
    return describe(uri).kind == "loopback" or _split(uri).scheme in app_schemes


def matches(registered: Iterable[str], requested: str) -> str | None:
    """Return the registered URI that an authorization request may use, or None.

    Character by character (RFC 9700 4.1.3), except that the port of an http loopback URI is the
    client's to choose at the time of the request (RFC 8252 7.3).
    """
    candidates = list(registered)
    if requested in candidates:
        return requested
    portless = _without_loopback_port(requested)
    if portless is None:
        return None
    return next((uri for uri in candidates if _without_loopback_port(uri) == portless), None)


def describe(uri: str) -> RedirectDescription:
    """Say in one word and a host, or a scheme, where an accepted redirect URI leads."""
    parts = _split(uri)
    if parts.scheme not in {"https", "http"}:
        return RedirectDescription("app", parts.scheme)
    server = _valid_server(uri, parts)
    if server.host in LOOPBACK:
        return RedirectDescription("loopback", server.host)
    return RedirectDescription("web", str(server))


def with_parameters(uri: str, params: list[tuple[str, str]]) -> str:
    """Return the redirect URI with the response parameters in its query, each exactly once.

    The query it was registered with stays (RFC 6749 3.1.2), save for members of the same names: a
    registered `?code=...` must not stand beside ours.
    """
    base, _, query = uri.partition("?")
    added = dict(params)
    kept = [piece for piece in query.split("&") if piece and _name(piece) not in added]
    return f"{base}?{'&'.join([*kept, urlencode(added, quote_via=quote, safe='')])}"


def origin_for_csp(uri: str) -> str:
    """Return the source expression by which `form-action` lets the redirect through.

    A Content Security Policy names no address but 127.0.0.1, and no app but by its scheme; for
    those the expression is the scheme alone. Source: CSP Level 3, "host-part match".
    """
    parts = _split(uri)
    server = _server(parts)
    if parts.scheme not in {"https", "http"} or server is None or _is_unnameable(server.host):
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{server}"


def _split(uri: str) -> _Parts:
    if len(uri) > MAX_LENGTH:
        raise RefusedRedirect(uri, f"A URI is at most {MAX_LENGTH} characters long.")
    if alien := _ALIEN.search(uri):
        where = f"U+{ord(alien[0]):04X} at position {alien.start()}"
        raise RefusedRedirect(uri, f"A URI cannot hold the character {where}.")
    match = _URI.fullmatch(uri)
    if match is None:
        raise RefusedRedirect(uri, "A URI begins with its scheme.")
    if "@" in (match["authority"] or ""):
        raise RefusedRedirect(uri, "A URI carries no user name or password.")
    scheme = match["scheme"].lower()
    return _Parts(scheme, *match.group("authority", "path", "fragment", "rest"))


def _check_web(uri: str, parts: _Parts) -> None:
    server = _valid_server(uri, parts)
    if parts.scheme == "http" and server.host not in LOOPBACK:
        raise RefusedRedirect(uri, "Plain http is for localhost, 127.0.0.1 and [::1] only.")


def _check_app(uri: str, parts: _Parts, app_schemes: frozenset[str], *, native: bool) -> None:
    if parts.scheme in FORBIDDEN_SCHEMES:
        raise RefusedRedirect(uri, f"The scheme {parts.scheme} is never a redirect target.")
    # RFC 8252 7.1: a reverse domain name tells whose scheme it is; a bare word is anybody's.
    if parts.scheme not in app_schemes and not (native and "." in parts.scheme):
        raise RefusedRedirect(
            uri,
            f"The scheme {parts.scheme} is not known here; a native client may use a reverse "
            "domain name.",
        )
    if parts.authority is None and not parts.path.startswith("/"):
        raise RefusedRedirect(uri, "A slash follows the scheme (RFC 8252 7.1).")


def _valid_server(uri: str, parts: _Parts) -> _Server:
    server = _server(parts)
    if server is None:
        raise RefusedRedirect(uri, "The host or its port is not valid.")
    return server


def _server(parts: _Parts) -> _Server | None:
    """Return host and port of the authority, or None where either is not valid."""
    match = _AUTHORITY.fullmatch(parts.authority or "")
    if match is None or not _is_host(match["host"]):
        return None
    if match["port"] and int(match["port"]) > _HIGHEST_PORT:
        return None
    return _Server(match["host"].lower(), match["port"])


def _is_host(host: str) -> bool:
    if host.startswith("[") or _NUMERIC.fullmatch(host):
        return _is_address(host)
    return _DOMAIN.fullmatch(host) is not None


def _is_address(host: str) -> bool:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    # Brackets are for IPv6 alone, and a zone means nothing elsewhere (RFC 3986 3.2.2, RFC 6874 1).
    return host.startswith("[") == isinstance(address, IPv6Address) and "%" not in host


def _is_unnameable(host: str) -> bool:
    return host.startswith("[") or (host != "127.0.0.1" and _NUMERIC.fullmatch(host) is not None)


def _has_dot_segment(path: str) -> bool:
    # Encoded slashes count, and parameters do not: some servers decode and strip before they walk.
    segments = re.split(r"[/\\]", unquote(path))
    return any(segment.partition(";")[0] in {".", ".."} for segment in segments)


def _without_loopback_port(uri: str) -> str | None:
    """Return host and rest of an http loopback URI, its port left out; None for any other URI."""
    try:
        parts = _split(uri)
    except RefusedRedirect:
        return None
    server = _server(parts)
    if parts.scheme != "http" or server is None or server.host not in LOOPBACK:
        return None
    return server.host + parts.rest


def _name(piece: str) -> str:
    return unquote_plus(piece.partition("=")[0])
