"""Clients: registered, found, and made to prove who they are."""

from dataclasses import asdict, dataclass
from hmac import compare_digest
from typing import Final

from django.utils import timezone

from foundation import ids
from oauth import forms
from oauth.client_metadata import ClientMetadata
from oauth.errors import InvalidClient, InvalidRequest
from oauth.forms import Form
from oauth.models import AuthMethod, Client

CLIENT_ID: Final = "halo_client_"
SECRET: Final = "halo_cs_"  # noqa: S105  a prefix
UNKNOWN = "Unknown client. Register again: in your AI client, remove this server and add it again."


@dataclass(frozen=True, slots=True, repr=False)
class Registered:
    """A fresh client and its secret in clear text (None for public ones): seen once."""

    client: Client
    secret: str | None


def register(metadata: ClientMetadata, *, address: str) -> Registered:
    """Write down a dynamically registered client (RFC 7591 section 3.1)."""
    is_public = metadata.token_endpoint_auth_method == AuthMethod.NONE
    secret = None if is_public else ids.opaque(SECRET)
    client = Client.objects.create(
        client_id=ids.opaque(CLIENT_ID),
        name=metadata.client_name,
        redirect_uris=list(metadata.redirect_uris),
        auth_method=metadata.token_endpoint_auth_method,
        secret_sha256=ids.sha256_hex(secret) if secret else "",
        is_native=metadata.is_native,
        scope=metadata.scope or "",
        metadata=asdict(metadata),
        registration_source=Client.RegistrationSource.DCR,
        registered_from=address,
    )
    return Registered(client, secret)


def find(client_id: str | None) -> Client | None:
    """The enabled client of this id; unknown and disabled look the same."""
    client = _registered(client_id)
    return client if client and client.disabled_at is None else None


def authenticate(form: Form, authorization: str | None) -> Client:
    """The client that sent a form to the token or revocation endpoint (RFC 6749 section 2.3).

    Raises InvalidRequest when two methods are mixed, InvalidClient when the proof fails or is not
    of the method the client registered. A disabled client still proves who it is: its grants no
    longer stand, while `invalid_client` would only tell it to register anew.
    """
    method, client_id, secret = _credentials(form, authorization)
    client = _registered(client_id)
    if client is None:
        raise InvalidClient(UNKNOWN, debug="unknown client")
    if method != client.auth_method or not _proves(client, secret):
        raise InvalidClient("Client authentication failed.", debug=f"client={client.pk}")
    return client


def _registered(client_id: str | None) -> Client | None:
    if not client_id or len(client_id) > 255 or "\0" in client_id:  # noqa: PLR2004  the column
        return None
    return Client.objects.filter(client_id=client_id).first()


def _credentials(form: Form, authorization: str | None) -> tuple[AuthMethod, str, str]:
    in_form = form.get("client_secret")
    if authorization is None:
        method = AuthMethod.NONE if in_form is None else AuthMethod.POST
        return method, form.required("client_id"), in_form or ""
    client_id, secret = forms.parse_basic(authorization)
    if in_form is not None or form.get("client_id") not in {None, client_id}:
        raise InvalidRequest("Use one way of client authentication, not two.")
    return AuthMethod.BASIC, client_id, secret


def _proves(client: Client, secret: str) -> bool:
    if client.auth_method == AuthMethod.NONE:
        return True
    return compare_digest(ids.sha256_hex(secret), client.secret_sha256)


def issued_at(client: Client) -> int:
    """When the client was registered, Unix seconds."""
    return int((client.created or timezone.now()).timestamp())
