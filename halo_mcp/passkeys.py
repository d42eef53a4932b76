"""Whether browsers keep passkeys for a public address, and under which name.

A passkey is tied to a domain name, the relying party's id, and works in a secure context only
(WebAuthn Level 3, sections 5.1.2 and 13.4.9).
"""

import ipaddress
from urllib.parse import urlsplit

LOCAL = "localhost"


def domain(origin: str) -> str:
    """The name that passkeys of this origin are tied to; empty where browsers keep none."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    if _is_number(host):
        return ""
    # Browsers take these for this computer, whatever a name server says (RFC 6761 section 6.3).
    is_local = host == LOCAL or host.endswith(f".{LOCAL}")
    return host if parts.scheme == "https" or is_local else ""


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # A last label of digits makes an IPv4 address of any name (WHATWG URL, 3.5).
        return host.rstrip(".").rpartition(".")[2].isdecimal()
    return True
