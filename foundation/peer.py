"""The client's address behind trusted proxies, and the keys that are derived from it.

Nothing here raises an exception for what a client sends; an invalid address becomes `"unknown"`.
"""

import functools
import ipaddress
import re
from collections.abc import Sequence
from typing import TypeAlias

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

UNKNOWN = "unknown"
MAX_HOPS = 32
MAX_ADDRESS_LENGTH = 80  # an IPv6 address with zone, brackets, port and spaces
# The number of addresses whose parsed form is cached: most calls come from the same few.
MAX_CACHED = 4096

# Some proxies append the port; an IPv6 address is then in brackets (RFC 7239 §6).
WITH_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?")


def client_address(remote: str, forwarded_for: str | None) -> str:
    """Returns the address of the client; trusts only proxies of HALO_TRUSTED_PROXIES.

    `remote` is the address of the socket, `forwarded_for` the X-Forwarded-For value (several
    headers joined with commas). Raises ImproperlyConfigured if the setting holds no networks.
    """
    return peel(remote, forwarded_for, _trusted_networks(tuple(settings.HALO_TRUSTED_PROXIES)))


def is_trusted(remote: str) -> bool:
    """Returns whether the socket's peer is a proxy of HALO_TRUSTED_PROXIES.

    Raises ImproperlyConfigured if the setting holds no networks.
    """
    known = _parse(remote)
    return known is not None and _is_in_networks(
        known, _trusted_networks(tuple(settings.HALO_TRUSTED_PROXIES))
    )


def peel(remote: str, forwarded_for: str | None, trusted: Sequence[Network]) -> str:
    """Returns the rightmost address of X-Forwarded-For that is no trusted proxy.

    A hop is only trusted for the entry that it appended, so the walk ends at the first untrusted
    address; at an invalid entry it returns the last valid address. Source: RFC 7239 §8.1.
    """
    known = _parse(remote)
    if known is None:
        return UNKNOWN
    hops = forwarded_for.split(",")[-MAX_HOPS:] if forwarded_for else []
    for entry in reversed(hops):
        if not _is_in_networks(known, trusted) or (hop := _parse(entry)) is None:
            break
        known = hop
    return str(known)


@functools.lru_cache(maxsize=MAX_CACHED)
def rate_key(address: str) -> str:
    """Returns the key of a client for rate limits: an IPv4 address, or the /64 of an IPv6 one.

    A subscriber has at least a /64 (RFC 6177 §2), so a limit for a single IPv6 address would have
    no effect.
    """
    return _widen_address(address, ipv4_bits=32, ipv6_bits=64)


def prefix(address: str) -> str:
    """Returns the network under which security events are counted: IPv4 /24, IPv6 /48."""
    return _widen_address(address, ipv4_bits=24, ipv6_bits=48)


def networks(cidrs: Sequence[str]) -> tuple[Network, ...]:
    """Parses CIDR strings. Raises ValueError for a string that is no network."""
    return tuple(ipaddress.ip_network(cidr, strict=False) for cidr in cidrs)


@functools.lru_cache(maxsize=8)
def _trusted_networks(cidrs: tuple[str, ...]) -> tuple[Network, ...]:
    try:
        return networks(cidrs)
    except ValueError as error:
        raise ImproperlyConfigured(f"HALO_TRUSTED_PROXIES: {error}") from error


def _parse(text: str) -> Address | None:
    # Longer text is no address and must not fill the cache.
    return _read(text) if len(text) <= MAX_ADDRESS_LENGTH else None


@functools.lru_cache(maxsize=MAX_CACHED)
def _read(text: str) -> Address | None:
    text = text.strip(" \t")
    with_port = WITH_PORT.fullmatch(text)
    if with_port:
        text = with_port[1] or with_port[2]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return _canonical(address)


def _canonical(address: Address) -> Address:
    """Drops the zone of an IPv6 address, and unwraps an IPv4 address mapped into IPv6.

    A dual-stack socket reports IPv4 peers as mapped addresses (RFC 4291 §2.5.5.2); they would all
    have the same IPv6 prefix.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return address
    return address.ipv4_mapped or ipaddress.IPv6Address(int(address))


def _is_in_networks(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def _widen_address(address: str, *, ipv4_bits: int, ipv6_bits: int) -> str:
    parsed = _parse(address)
    if parsed is None:
        return UNKNOWN
    bits = ipv4_bits if isinstance(parsed, ipaddress.IPv4Address) else ipv6_bits
    if bits == parsed.max_prefixlen:
        return str(parsed)
    return str(ipaddress.ip_network(f"{parsed}/{bits}", strict=False))
