"""Parses the URL of a request strictly: refuses what two parsers could read differently."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urldefrag, urljoin, urlsplit

from foundation.outbound.addresses import Address
from foundation.outbound.errors import RefusedUrl
from foundation.outbound.policy import DEFAULT_PORTS, Policy

MAX_URL = 8192

# Visible ASCII without the characters RFC 3986 excludes. Browsers read a backslash as a slash.
URL_TEXT = re.compile(r"[!-~]+", re.ASCII)
FORBIDDEN = frozenset('"<>\\^`{|}#')
AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+))(?::([0-9]{0,5}))?", re.ASCII)

LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*", re.ASCII)
MAX_NAME = 253

# The C library and browsers read a host whose last label is a number as an IPv4 address, in
# decimal, octal or hexadecimal (WHATWG URL §3.5, "ends in a number").
NUMERIC_END = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)


@dataclass(frozen=True)
class Target:
    """The place to connect to; `host` is in lower case, without brackets or final dot."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, url: str, policy: Policy) -> "Target":
        """Parses an absolute http(s) URL. Raises RefusedUrl if the policy does not permit it."""
        parts = _split(url)
        host, named = _authority(parts)
        _check_scheme(parts.scheme, host, policy)
        port = DEFAULT_PORTS[parts.scheme] if named is None else named
        if port not in policy.allowed_ports:
            raise RefusedUrl(host, "the port is not allowed")
        return cls(parts.scheme, host, port, _path(parts))

    @property
    def literal(self) -> Address | None:
        """The address, if the host is an IP address and not a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """The value of the Host header, without the scheme's default port (RFC 9110 §7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    def resolve_redirect(self, location: str, policy: Policy) -> "Target":
        """Returns the target of a Location header. Raises RefusedUrl if it is another origin.

        The reference may be relative and may have a fragment (RFC 9110 §10.2.2).
        """
        try:
            target = Target.parse(urldefrag(urljoin(self.url, location)).url, policy)
        except (RefusedUrl, ValueError):
            raise RefusedUrl(self.host, "it redirects to a URL that is not fetched") from None
        if (target.scheme, target.host, target.port) != (self.scheme, self.host, self.port):
            raise RefusedUrl(self.host, "it redirects to another origin")
        return target


def _split(url: str) -> SplitResult:
    if len(url) > MAX_URL or not URL_TEXT.fullmatch(url) or FORBIDDEN.intersection(url):
        raise RefusedUrl("", "not a URL of visible ASCII without a fragment")
    try:
        return urlsplit(url)
    except ValueError:
        raise RefusedUrl("", "not a valid URL") from None


def _authority(parts: SplitResult) -> tuple[str, int | None]:
    """Returns the host and the port, if the URL has one."""
    if "@" in parts.netloc:
        raise RefusedUrl("", "the URL holds a user name")
    match = AUTHORITY.fullmatch(parts.netloc)
    if match is None:
        raise RefusedUrl("", "the URL names no valid host and port")
    bracketed, name, port = match.groups()
    return _ipv6(bracketed) if bracketed else _name(name), int(port) if port else None


def _check_scheme(scheme: str, host: str, policy: Policy) -> None:
    if scheme not in DEFAULT_PORTS:
        raise RefusedUrl(host, "only http and https URLs are fetched")
    if policy.https_only and scheme != "https":
        raise RefusedUrl(host, "only https URLs are fetched")


def _name(name: str) -> str:
    name = name.lower().removesuffix(".")
    if len(name) > MAX_NAME or not NAME.fullmatch(name):
        raise RefusedUrl("", "the URL names no valid host")
    return _ipv4(name) if NUMERIC_END.fullmatch(name) else name


def _ipv4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        raise RefusedUrl(name, "an IPv4 address is four decimal numbers") from None


def _ipv6(text: str) -> str:
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        # urlsplit checks this only from Python 3.11.4 on.
        raise RefusedUrl("", "the URL names no valid host") from None


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
