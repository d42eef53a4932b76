"""POST /api/mcp/oauth/register: dynamic client registration (RFC 7591)."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from foundation import peer
from foundation.limits import Bucket
from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from oauth import client_metadata, clients, replies
from oauth.client_metadata import ClientMetadata
from oauth.errors import InvalidClientMetadata


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("register_rejected")
def register(request: HttpRequest) -> HttpResponse:
    address = replies.address_of(request)
    # Before anything is parsed or hashed: registration is open to everybody.
    key = f"register:{peer.rate_key(address)}"
    replies.spend(Bucket(key, settings.HALO_RATE_REGISTER), address=address)
    metadata = ClientMetadata.parse(_document(request), app_schemes=settings.HALO_APP_SCHEMES)
    registered = clients.register(metadata, address=address)
    reply = client_metadata.registration_reply(
        metadata,
        client_id=registered.client.client_id,
        issued_at=clients.issued_at(registered.client),
        secret=registered.secret,
    )
    return replies.json(reply, status=201)


def _document(request: HttpRequest) -> object:
    if request.content_type != "application/json":
        raise InvalidClientMetadata("Send the metadata as application/json.")
    body = replies.body(request, most=settings.HALO_MAX_REGISTER_BYTES)
    try:
        return strict_json.parse(body)
    except ProtocolError as error:
        raise InvalidClientMetadata(error.message) from error
