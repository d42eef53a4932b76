"""From a client id that is a URL to the row that stands for the client.

A row is used until the moment its document goes stale, then only after a new fetch: what cannot
be confirmed any more is not put before a person. Tokens that were issued under it live on.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from redis.exceptions import RedisError

from audit import record
from foundation import ids
from oauth.cimd import client_url, document
from oauth.cimd.document import Document
from oauth.cimd.flights import BUSY, Flights
from oauth.errors import InvalidClient, ServerBusy
from oauth.models import AuthMethod, AuthorizationRequest, Client

# No cache of what was answered, which the draft forbids for errors (section 4.4), but a pause
# before asking again: nobody shall make us hammer a third party.
PAUSE_SECONDS: Final = 60
PATIENCE_SECONDS: Final = client_url.FETCH_SECONDS + 0.5  # the row is written after the fetch
STORE_ERRORS: Final = (RedisError, OSError)

SWITCHED_OFF: Final = "This server accepts no metadata documents. Register the client."
NOT_ACCEPTED: Final = "This client is not accepted here."

_flights = Flights(seats=max(1, settings.HALO_CORE_THREADS // 2))


def resolve(client_id: str, *, asker: str, address: str) -> Client:
    """Return the client that a metadata URL stands for, fetched anew if what is known is stale.

    `asker` tells people apart: each has one fetch at a time. `address` is theirs, for the record.
    A client that was registered by hand under the URL is returned as it is. Raises InvalidClient,
    whose hint may be shown, and ServerBusy. Source: the draft, section 4.
    """
    with _on_record(address):
        client_url.check(client_id)
    client = _known(client_id)
    if client is None:
        renew = partial(_renew, client_id, address)
        _flights.once(client_id, renew, asker=asker, patience=PATIENCE_SECONDS)
        client = _known(client_id)
    if client is None:
        raise ServerBusy(BUSY)
    return client


def needs_fetch(client_id: str) -> bool:
    """Tell whether `resolve` would go out and fetch, or could answer from what is known."""
    try:
        client_url.check(client_id)
        return _known(client_id) is None
    except InvalidClient:
        return False


def _known(client_id: str) -> Client | None:
    """Return the row if it can be used as it stands, None if it takes a fetch to tell.

    Raises InvalidClient for a client that is switched off, or was refused a moment ago.
    """
    client = Client.objects.filter(client_id=client_id).first()
    if client is not None and client.disabled_at is not None:
        raise InvalidClient(NOT_ACCEPTED, debug=f"client={client.pk} is disabled")
    if client is not None and _is_current(client):
        return client
    if not settings.HALO_CIMD:
        raise InvalidClient(SWITCHED_OFF)
    if hint := _refused_lately(client_id):
        raise InvalidClient(hint, debug="refused a moment ago")
    return None


def _is_current(client: Client) -> bool:
    if client.registration_source != Client.RegistrationSource.CIMD:
        return True
    expires = client.cimd_expires_at
    return settings.HALO_CIMD and expires is not None and timezone.now() < expires


def _renew(client_id: str, address: str) -> None:
    try:
        with _on_record(address, client_id):
            found = document.fetch(client_id)
    except InvalidClient as refused:
        with suppress(*STORE_ERRORS):  # worth a fetch too many, but no error page
            cache.set(_key(client_id), refused.hint, PAUSE_SECONDS)
        raise
    _store(client_id, found, address)


def _refused_lately(client_id: str) -> str | None:
    with suppress(*STORE_ERRORS):
        hint: str | None = cache.get(_key(client_id))
        return hint
    return None


def _key(client_id: str) -> str:
    return f"cimd:refused:{ids.sha256_hex(client_id)}"


@transaction.atomic
def _store(client_id: str, found: Document, address: str) -> None:
    """Write down what the document says, and nothing that an admin decided."""
    said = _columns(found)
    client, is_new = Client.objects.get_or_create(
        client_id=client_id,
        defaults={
            **said,
            "registration_source": Client.RegistrationSource.CIMD,
            "registered_from": address,
        },
    )
    # Where a person registered the URL meanwhile, their word stands and not the document's.
    if is_new or client.registration_source != Client.RegistrationSource.CIMD:
        return
    if (client.redirect_uris, client.name) != (said["redirect_uris"], said["name"]):
        _close_open_requests(client)
    Client.objects.filter(pk=client.pk).update(**said, updated=timezone.now())


def _columns(found: Document) -> dict[str, object]:
    said = found.metadata
    return {
        "name": said.client_name,
        "redirect_uris": list(said.redirect_uris),
        "auth_method": AuthMethod.NONE,
        "is_native": said.is_native,
        "scope": said.scope,
        "metadata": asdict(said),
        "cimd_expires_at": timezone.now() + found.lifetime,
    }


def _close_open_requests(client: Client) -> None:
    # A consent page that is open promises a name and an address that may no longer be the client's.
    open_ones = AuthorizationRequest.objects.filter(client=client, decided_at__isnull=True)
    open_ones.update(decided_at=timezone.now())


@contextmanager
def _on_record(address: str, client_id: str = "") -> Iterator[None]:
    """Count a refusal; the URL is named once it is known to be one, and without its query."""
    try:
        yield
    except InvalidClient as refused:
        reason = refused.debug or refused.hint
        place = f"{client_url.without_query(client_id)}: " if client_id else ""
        record.security_event("cimd_refused", address=address, detail=f"{place}{reason}")
        raise
