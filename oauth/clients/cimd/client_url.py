"""Client ids that are URLs: which are accepted, and the limits of fetching one."""

from ipaddress import ip_address
from typing import Final, NamedTuple, TypeGuard
from urllib.parse import urlsplit

from django.conf import settings

from foundation.outbound import Policy
from oauth.clients import redirects
from oauth.errors import InvalidClient

SCHEME: Final = "https://"
HTTPS: Final = 443
MAX_CHARACTERS: Final = 255  # of a client id, as stored
MAX_BYTES: Final = 16_384  # three times what the draft recommends (section 6.6)
# Leaves half a second of the browser's five for the response.
FETCH_SECONDS: Final = 4.5
# Names that are local to a network, or reserved (RFC 6761, RFC 6762, RFC 7686, RFC 8375, RFC 9476,
# and .internal as ICANN reserved it in 2024).
SPECIAL: Final = frozenset(
    {"alt", "arpa", "internal", "invalid", "local", "localhost", "onion", "test"}
)

SHAPE: Final = (
    "A client id that is an address must be an https URL with a host and a path, at most 255 "
    "characters long, without user name, fragment and dot segments."
)
HOST: Final = "A client id that is an address must name a host of the public internet."


class _MetadataHost(NamedTuple):
    host: str
    port: int

    @property
    def is_approved(self) -> bool:
        """Whether HALO_CIMD_PRIVATE_HOSTS names this host, with its port unless that is 443."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        names = {f"{host}:{self.port}", host if self.port == HTTPS else ""}
        return not names.isdisjoint(settings.HALO_CIMD_PRIVATE_HOSTS)


def is_metadata_url(client_id: str | None) -> TypeGuard[str]:
    """Returns whether a client id claims to be the URL of a metadata document (the draft, 3).

    Ids issued here never begin with https.
    """
    return client_id is not None and client_id.startswith(SCHEME)


def check(client_id: str) -> None:
    """Validates the URL as a client id, without resolving its host. Raises InvalidClient.

    Source: the draft, section 3. A path of "/" is refused as well, since the front page of a site
    describes no client.
    """
    if len(client_id) > MAX_CHARACTERS:
        raise InvalidClient(SHAPE, debug="the client id is too long")
    try:
        redirects.check(client_id, app_schemes=frozenset(), native=False)
    except redirects.RefusedRedirectUri as refused:
        raise InvalidClient(SHAPE, debug="the client id is not a URL to be fetched") from refused
    if urlsplit(client_id).path in {"", "/"}:
        raise InvalidClient(SHAPE, debug="the client id has no path")
    place = _place(client_id)
    if not place.is_approved and not _is_public_name(place.host):
        raise InvalidClient(HOST, debug="the client id names a special host")


def policy(client_id: str) -> Policy:
    """Returns the fetch policy of a checked URL.

    It permits the public internet at port 443, or an approved host at its approved port, and no
    redirects. Source: the draft, sections 6.5 and 6.6.
    """
    place = _place(client_id)
    approved = frozenset({place.host}) if place.is_approved else frozenset()
    return Policy(
        max_bytes=MAX_BYTES,
        connect_timeout=FETCH_SECONDS,
        read_timeout=FETCH_SECONDS,
        deadline=FETCH_SECONDS,
        allowed_private_hosts=approved,
        allowed_ports=frozenset({place.port if place.is_approved else HTTPS}),
    )


def strip_query(client_id: str) -> str:
    """Returns the URL for logs: a query may hold secrets."""
    return client_id.partition("?")[0]


def _place(client_id: str) -> _MetadataHost:
    """Returns host, in lower case and without brackets, and port of a checked URL."""
    parts = urlsplit(client_id)
    return _MetadataHost(parts.hostname or "", parts.port or HTTPS)


def _is_public_name(host: str) -> bool:
    # Users cannot recognise an IP address, and a name without a dot depends on the local search
    # list.
    labels = host.split(".")
    return len(labels) > 1 and labels[-1] not in SPECIAL and not _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
