"""Resolves a client id that is a URL to the row of the client.

A row is used until its document is stale, then only after a new fetch: unconfirmed metadata is not
shown to users. Tokens that were issued before stay valid.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from audit import record
from foundation import ids
from foundation.cache_errors import get_cache_errors
from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitReached
from foundation.concurrency.single_flight import SingleFlight
from oauth.clients.cimd import client_url, document
from oauth.clients.cimd.document import ClientDocument
from oauth.errors import InvalidClient, ServerBusy, UnreachableClient, UnreadableClient
from oauth.models import AuthMethod, AuthorizationRequest, Client

# Not a cache of responses, which the draft forbids for errors (section 4.4), but a delay before the
# next fetch, so that this server cannot be used to flood a third party.
PAUSE_SECONDS: Final = 60
TIMEOUT_SECONDS: Final = client_url.FETCH_SECONDS + 0.5  # the row is written after the fetch

SWITCHED_OFF: Final = "This server accepts no metadata documents. Register the client."
BUSY: Final = "Too many clients are being looked up right now. Try again soon."
NOT_ACCEPTED: Final = "This client is not accepted here."

NO_OUTBOUND_ACCESS: Final = (
    "If this server has no access to the internet, leave HALO_CIMD=auto or set it to no: clients "
    "then register instead."
)

log = structlog.get_logger(__name__)
# Threads that fetch, or wait for a fetch of the same URL, do so for seconds, and the same threads
# serve all authorizations. So slow hosts may occupy half of them, and those of one user only one.
_lookups = ConcurrencyLimit(total=max(1, settings.HALO_CORE_THREADS // 2))
_fetches = ConcurrencyLimit(per_key=1)
_single_flight = SingleFlight()


def resolve(client_id: str, *, asker: str, address: str) -> Client:
    """Returns the client of a metadata URL; fetches a stale document again.

    `asker` identifies the user: each has one fetch at a time. `address` is for the audit log. A
    client that an admin registered under the URL is returned as it is. Raises InvalidClient, whose
    hint may be shown, its subclass UnreachableClient, and ServerBusy. Source: the draft, section 4.
    """
    with _on_record(address):
        client_url.check(client_id)
    client = _find_current(client_id)
    if client is None:
        _renew_once(client_id, asker, address)
        client = _find_current(client_id)
    if client is None:
        raise ServerBusy(BUSY)
    return client


def needs_fetch(client_id: str) -> bool:
    """Returns whether `resolve` would fetch, rather than use what is stored."""
    try:
        client_url.check(client_id)
        return _find_current(client_id) is None
    except InvalidClient:
        return False


def _find_current(client_id: str) -> Client | None:
    """Returns the row if it can be used as it is, None if a fetch is needed.

    Raises InvalidClient for a client that is disabled or was refused recently, and
    UnreachableClient if its host did not respond recently.
    """
    client = Client.objects.filter(client_id=client_id).first()
    if client is not None and client.disabled_at is not None:
        raise InvalidClient(NOT_ACCEPTED, debug=f"client={client.pk} is disabled")
    if client is not None and _is_current(client):
        return client
    if settings.HALO_CIMD is False:
        raise UnreadableClient(SWITCHED_OFF, client_id=client_id)
    _require_not_refused_lately(client_id)
    return None


def _is_current(client: Client) -> bool:
    if client.registration_source != Client.RegistrationSource.CIMD:
        return True
    expires = client.cimd_expires_at
    return settings.HALO_CIMD is not False and expires is not None and timezone.now() < expires


def _renew_once(client_id: str, asker: str, address: str) -> None:
    """Fetches the document, or waits for the thread that does. Raises what `resolve` does."""

    def renew() -> None:
        with _fetches.hold(asker):
            _renew(client_id, address)

    try:
        with _lookups.hold(client_id):
            _single_flight.run(client_id, renew, wait_seconds=TIMEOUT_SECONDS)
    except ConcurrencyLimitReached:
        raise ServerBusy(BUSY) from None


def _renew(client_id: str, address: str) -> None:
    try:
        with _on_record(address, client_id):
            found = document.fetch(client_id)
    except InvalidClient as refused:
        unreachable_host = refused.host if isinstance(refused, UnreachableClient) else ""
        with suppress(*get_cache_errors()):  # justifies an additional fetch, but no error page
            cache.set(_key(client_id), (refused.hint, unreachable_host), PAUSE_SECONDS)
        if unreachable_host:
            _warn_once_a_minute(unreachable_host, refused.debug)
        raise
    _store(client_id, found, address)


def _require_not_refused_lately(client_id: str) -> None:
    """Raises the error of the last fetch again, if it was less than PAUSE_SECONDS ago."""
    refused: tuple[str, str] | None = None
    with suppress(*get_cache_errors()):
        refused = cache.get(_key(client_id))
    if refused is None:
        return
    hint, unreachable_host = refused
    if unreachable_host:
        raise UnreachableClient(
            hint, client_id=client_id, host=unreachable_host, debug="not reached a moment ago"
        )
    raise InvalidClient(hint, debug="refused a moment ago")


def _key(client_id: str) -> str:
    return f"cimd:refusal:{ids.sha256_hex(client_id)}"


def _warn_once_a_minute(host: str, reason: str) -> None:
    is_first = True
    with suppress(*get_cache_errors()):
        is_first = cache.add(f"cimd:warned:{ids.sha256_hex(host)}", value=1, timeout=PAUSE_SECONDS)
    if is_first:
        log.warning(
            "client_metadata_unreachable", host=host, reason=reason, hint=NO_OUTBOUND_ACCESS
        )


@transaction.atomic
def _store(client_id: str, found: ClientDocument, address: str) -> None:
    """Stores the metadata, but not the fields that an admin sets."""
    said = _columns(found)
    client, is_new = Client.objects.get_or_create(
        client_id=client_id,
        defaults={
            **said,
            "registration_source": Client.RegistrationSource.CIMD,
            "registered_from": address,
        },
    )
    # A registration of the URL by an admin has precedence over the document.
    if is_new or client.registration_source != Client.RegistrationSource.CIMD:
        return
    if (client.redirect_uris, client.name) != (said["redirect_uris"], said["name"]):
        _close_open_requests(client)
    Client.objects.filter(pk=client.pk).update(**said, updated=timezone.now())


def _columns(found: ClientDocument) -> dict[str, object]:
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
    # An open consent page may show a name and an address that the client no longer has.
    open_ones = AuthorizationRequest.objects.filter(client=client, decided_at__isnull=True)
    open_ones.update(decided_at=timezone.now())


@contextmanager
def _on_record(address: str, client_id: str = "") -> Iterator[None]:
    """Counts a refusal. The event names the URL once it is valid, without its query."""
    try:
        yield
    except InvalidClient as refused:
        reason = refused.debug or refused.hint
        place = f"{client_url.strip_query(client_id)}: " if client_id else ""
        record.security_event("cimd_refused", address=address, detail=f"{place}{reason}")
        raise
