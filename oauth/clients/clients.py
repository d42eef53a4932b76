"""Clients: registration, lookup and authentication."""

from dataclasses import asdict, dataclass
from hmac import compare_digest
from typing import Final

from django.utils import timezone

from audit import record
from foundation import ids
from oauth.clients.client_metadata import ClientMetadata
from oauth.endpoints import forms
from oauth.endpoints.forms import FormParameters
from oauth.errors import InvalidClient, InvalidRequest
from oauth.models import AuthMethod, Client, ServiceClient

CLIENT_ID: Final = "halo_client_"
SECRET: Final = "halo_cs_"  # noqa: S105  a prefix
UNKNOWN = "Unknown client. Register again: in your AI client, remove this server and add it again."
# The methods with a secret.
SECRETS: Final = frozenset({AuthMethod.BASIC, AuthMethod.POST})
OTHER_METHOD: Final = (
    "Client authentication failed: the token_endpoint_auth_method of this client is {}."
)
UNPROVEN: Final = (
    "Client authentication failed: this is not the token_endpoint_auth_method of the client."
)


@dataclass(frozen=True, slots=True, repr=False)
class RegisteredClient:
    """A new client and its secret in clear text (None for public clients), to be shown once."""

    client: Client
    secret: str | None


def register(metadata: ClientMetadata, *, address: str) -> RegisteredClient:
    """Registers a client dynamically (RFC 7591 section 3.1)."""
    client = Client(
        client_id=ids.opaque(CLIENT_ID),
        registration_source=Client.RegistrationSource.DCR,
        registered_from=address,
    )
    secret = None
    if metadata.token_endpoint_auth_method != AuthMethod.NONE:
        secret = ids.opaque(SECRET)
        client.secret_sha256 = ids.sha256_hex(secret)
    _store(client, metadata)
    return RegisteredClient(client, secret)


def preregister(client: Client, metadata: ClientMetadata) -> None:
    """Saves a client that an admin adds or edits; `rotate_secret` creates its secret."""
    client.registration_source = Client.RegistrationSource.MANUAL
    if client._state.adding:  # noqa: SLF001  Django documents Model._state.adding
        client.client_id = ids.opaque(CLIENT_ID)
    _store(client, metadata)


def rotate_secret(client: Client) -> str:
    """Replaces the secret of a confidential client; returns the new one in clear text."""
    secret = ids.opaque(SECRET)
    client.secret_sha256 = ids.sha256_hex(secret)
    client.save(update_fields=["secret_sha256", "updated"])
    return secret


def _store(client: Client, metadata: ClientMetadata) -> None:
    client.name = metadata.client_name
    client.redirect_uris = list(metadata.redirect_uris)
    client.auth_method = metadata.token_endpoint_auth_method
    client.is_native = metadata.is_native
    client.scope = metadata.scope
    client.metadata = asdict(metadata)
    client.save()


def find(client_id: str | None) -> Client | None:
    """Returns the enabled client of this id; unknown and disabled look the same."""
    client = _find_registered(client_id)
    return client if client and client.disabled_at is None else None


def authenticate(form: FormParameters, authorization: str | None, *, address: str) -> Client:
    """Authenticates the client of a token or revocation request (RFC 6749 section 2.3).

    Raises InvalidRequest when two methods are mixed, InvalidClient when the proof fails or is not
    of the registered method. A refusal of a service client is recorded with its organization. A
    disabled client is authenticated too: its grants are refused, while `invalid_client` would only
    make it register again.
    """
    method, client_id, proof = _credentials(form, authorization)
    client = _find_registered(client_id)
    if client is None:
        raise InvalidClient(UNKNOWN, debug="unknown client")
    try:
        _check_proof(client, method, proof)
    except InvalidClient as refused:
        _record_refusal(client, refused, address)
        raise
    return client


def _find_registered(client_id: str | None) -> Client | None:
    if not client_id or len(client_id) > 255 or "\0" in client_id:  # noqa: PLR2004  the column
        return None
    return Client.objects.filter(client_id=client_id).first()


def _credentials(form: FormParameters, authorization: str | None) -> tuple[AuthMethod, str, str]:
    in_form = form.get("client_secret")
    if form.get("client_assertion_type") or form.get("client_assertion"):
        from oauth.clients import assertions  # noqa: PLC0415  few requests need PyJWT

        if authorization is not None or in_form is not None:
            raise InvalidRequest("Use only one client authentication method.")
        assertion = assertions.read(form)
        return AuthMethod.KEY, assertions.claimed_client(form), assertion
    if authorization is None:
        method = AuthMethod.NONE if in_form is None else AuthMethod.POST
        return method, form.require("client_id"), in_form or ""
    client_id, secret = forms.parse_basic(authorization)
    if in_form is not None or form.get("client_id") not in {None, client_id}:
        raise InvalidRequest("Use only one client authentication method.")
    return AuthMethod.BASIC, client_id, secret


def _check_proof(client: Client, method: AuthMethod, proof: str) -> None:
    """Raises InvalidClient unless a secret or an assertion is that of the client."""
    has_secret = method in SECRETS and client.auth_method in SECRETS
    if has_secret:
        _check_secret(client, proof)
    if method != client.auth_method:
        # Without the reason, clients drop their registration (RFC 6749 section 5.2). Only who has
        # the secret reads the method, and everybody that of a public client, which has none.
        is_named = has_secret or client.auth_method == AuthMethod.NONE
        hint = OTHER_METHOD.format(client.auth_method) if is_named else UNPROVEN
        raise InvalidClient(hint, debug="another method")
    if client.auth_method == AuthMethod.KEY:
        from oauth.clients import assertions  # noqa: PLC0415  few requests need PyJWT

        assertions.check(client, proof)


def _check_secret(client: Client, secret: str) -> None:
    if not compare_digest(ids.sha256_hex(secret), client.secret_sha256):
        raise InvalidClient("Client authentication failed.", debug="wrong secret")


def _record_refusal(client: Client, refused: InvalidClient, address: str) -> None:
    service: ServiceClient | None = getattr(client, "service", None)
    if service is not None:
        record.security_event(
            "service_client_refused",
            address=address,
            subject=str(service.pk),
            organization_id=str(service.organization_id),
            client_id=client.client_id,
            detail=refused.debug or refused.hint,
        )


def registration_time(client: Client) -> int:
    """Returns when the client was registered, in Unix seconds."""
    return int((client.created or timezone.now()).timestamp())
