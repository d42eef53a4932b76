"""The limits of outgoing requests."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import SplitResult

MEBIBYTE = 1_048_576
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# Below are ports of mail, remote shells and directories (RFC 6335 section 6).
FIRST_USER_PORT: Final = 1024


@dataclass(frozen=True)
class Policy:
    """The limits of one request; times are in seconds, sizes in bytes.

    `deadline` covers everything from the name lookup to the last byte. `max_bytes` applies to the
    encoded and to the decoded body. Redirects are followed for GET and HEAD only, and only within
    scheme, host and port. `allowed_private_hosts` names hosts that may be in a private network.
    Link-local addresses, where clouds serve credentials, are refused even for those.
    """

    https_only: bool = True
    max_bytes: int = MEBIBYTE
    connect_timeout: float = 5.0
    read_timeout: float = 10.0
    deadline: float = 30.0
    max_redirects: int = 0
    allowed_private_hosts: frozenset[str] = frozenset()
    allowed_ports: frozenset[int] = frozenset({80, 443})
    user_agent: str = "halo-mcp/1.0"

    def approves(self, host: str) -> bool:
        return host in {approved.lower() for approved in self.allowed_private_hosts}

    def naming(self, parts: SplitResult, private_hosts: AbstractSet[str]) -> "Policy":
        """Returns the limits for a URL, whose host may be private and without https if it is named.

        Names are `host` or `host:port`, in lower case; an IPv6 address is in brackets.
        """
        if not _names_of(parts) & private_hosts:
            return self
        host = frozenset({parts.hostname or ""})
        return replace(self, https_only=False, allowed_private_hosts=host)


def usual_ports(parts: SplitResult) -> frozenset[int]:
    """Returns the ports of HTTP, and the one that a URL names unless a system service has it."""
    named = {parts.port} if parts.port and parts.port >= FIRST_USER_PORT else set()
    return frozenset({*DEFAULT_PORTS.values(), *named})


def _names_of(parts: SplitResult) -> set[str]:
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    return {shown, f"{shown}:{parts.port or DEFAULT_PORTS.get(parts.scheme, 0)}"}


DEFAULT = Policy()
