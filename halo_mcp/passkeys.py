"""The domain name of passkeys for a public address, if browsers support them there.

A passkey is bound to a domain name, the relying party's id, and works in a secure context only
(WebAuthn Level 3, sections 5.1.2 and 13.4.9).
"""

import ipaddress
from urllib.parse import urlsplit

from halo_mcp import env


def domain(origin: str) -> str:
    """Returns the domain name of passkeys for this origin; empty if browsers support none."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    if _is_number(host):
        return ""
    return host if parts.scheme == "https" or env.is_loopback(host) else ""


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # A host whose last label is a number is an IPv4 address (WHATWG URL, 3.5).
        return host.rstrip(".").rpartition(".")[2].isdecimal()
    return True
