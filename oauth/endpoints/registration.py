"""POST /api/mcp/oauth/register: dynamic client registration (RFC 7591)."""

from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from foundation import limits, peer
from foundation.limits import Bucket, LimitStoreDown
from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from oauth.clients import client_metadata, clients
from oauth.clients.client_metadata import ClientMetadata
from oauth.clients.clients import RegisteredClient
from oauth.endpoints import replies
from oauth.errors import InvalidClientMetadata


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("register_rejected")
def register(request: HttpRequest) -> HttpResponse:
    """Registers a client. Successful registrations and attempts have separate limits."""
    address = replies.address_of(request)
    place = peer.rate_key(address)
    attempt = Bucket(f"register_attempt:{place}", settings.HALO_RATE_REGISTER_ATTEMPTS)
    registration = Bucket(f"register:{place}", settings.HALO_RATE_REGISTER)
    # Registration is open to everybody, so parsing the metadata is limited too.
    replies.spend(attempt, address=address)
    metadata = ClientMetadata.parse(_document(request), app_schemes=settings.HALO_APP_SCHEMES)
    # Charged before the row is written, so that concurrent requests cannot exceed the limit.
    replies.spend(registration, address=address)
    registered = _register(metadata, registration, address=address)
    reply = client_metadata.registration_reply(
        metadata,
        client_id=registered.client.client_id,
        issued_at=clients.registration_time(registered.client),
        secret=registered.secret,
    )
    return replies.json(reply, status=201)


def _register(metadata: ClientMetadata, charged: Bucket, *, address: str) -> RegisteredClient:
    try:
        return clients.register(metadata, address=address)
    except Exception:
        # No client was registered. If the counters fail too, the attempt stays counted.
        with suppress(LimitStoreDown):
            limits.give_back([charged])
        raise


def _document(request: HttpRequest) -> object:
    if request.content_type != "application/json":
        raise InvalidClientMetadata("Send the client metadata as application/json.")
    body = replies.body(request, max_bytes=settings.HALO_MAX_REGISTER_BYTES)
    try:
        return strict_json.parse(body)
    except ProtocolError as error:
        raise InvalidClientMetadata(error.message) from error
