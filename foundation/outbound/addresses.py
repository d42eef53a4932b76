"""Decides which IP addresses a request may connect to.

Sources: the IANA special-purpose address registries (RFC 6890), and the metadata addresses of
clouds. Python's `is_global` alone is not enough: it accepts several of the ranges below.
"""

import ipaddress
from typing import TypeAlias

IPv4: TypeAlias = ipaddress.IPv4Address
IPv6: TypeAlias = ipaddress.IPv6Address
Address: TypeAlias = IPv4 | IPv6

DENIED_IPV4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network (RFC 791)
        "10.0.0.0/8",  # private (RFC 1918)
        "100.64.0.0/10",  # shared by carriers (RFC 6598); a cloud's metadata at 100.100.100.200
        "127.0.0.0/8",  # loopback (RFC 1122)
        "168.63.129.16/32",  # a cloud's host agent, in public space
        "169.254.0.0/16",  # link-local (RFC 3927), most clouds' metadata
        "172.16.0.0/12",  # private (RFC 1918)
        "192.0.0.0/24",  # protocol assignments (RFC 6890); a cloud's metadata at 192.0.0.192
        "192.0.2.0/24",  # documentation (RFC 5737)
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "192.168.0.0/16",  # private (RFC 1918)
        "198.18.0.0/15",  # benchmarks (RFC 2544)
        "198.51.100.0/24",  # documentation (RFC 5737)
        "203.0.113.0/24",  # documentation (RFC 5737)
        "224.0.0.0/4",  # multicast (RFC 5771)
        "240.0.0.0/4",  # reserved, and broadcast (RFC 1112)
    )
)

# Addresses outside this range are not global unicast (RFC 4291 §2.4). That excludes loopback,
# IPv4-compatible ::/96, translated ::ffff:0:0:0/96, 64:ff9b:1::/48, 100::/64, fc00::/7, fe80::/10,
# fec0::/10 and ff00::/8.
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

DENIED_IPV6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments (RFC 2928): Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation (RFC 3849)
        "2002::/16",  # 6to4, an IPv4 address inside (RFC 7526 retires it)
        "3fff::/20",  # documentation (RFC 9637)
    )
)

# IPv6 forms of an ordinary IPv4 destination: they are judged as that address.
MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

# The networks in which an approved internal host may be.
PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
    )
)
# Cloud metadata inside those ranges, which no approval permits.
METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "fd00:ec2::254")))


def is_public(address: Address) -> bool:
    """Returns whether the address is on the public internet, with IPv4 inside IPv6 unwrapped."""
    address = unwrap_ipv4(address)
    if isinstance(address, IPv4):
        return address.is_global and not any(address in network for network in DENIED_IPV4)
    if address not in GLOBAL_UNICAST:
        return False
    return address.is_global and not any(address in network for network in DENIED_IPV6)


def is_private(address: Address) -> bool:
    """Returns whether an administrator may approve a host at the address."""
    address = unwrap_ipv4(address)
    return address not in METADATA and any(address in network for network in PRIVATE)


def unwrap_ipv4(address: Address) -> Address:
    """Returns the IPv4 address of an IPv4-mapped or NAT64 address (RFC 4291, RFC 6052)."""
    if isinstance(address, IPv6) and (address in MAPPED or address in NAT64):
        return IPv4(int(address) & 0xFFFF_FFFF)
    return address
