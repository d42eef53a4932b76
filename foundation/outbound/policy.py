"""The limits of outgoing requests."""

from dataclasses import dataclass

MEBIBYTE = 1_048_576


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


DEFAULT = Policy()
