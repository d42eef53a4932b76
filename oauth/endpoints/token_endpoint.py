"""POST /api/mcp/oauth/token and /revoke: the endpoints that clients call with a form."""

from contextlib import suppress
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from foundation import limits, peer
from foundation.limits import Bucket
from oauth import mcp_tokens, server_keys
from oauth.clients import clients, service_clients
from oauth.endpoints import forms, replies
from oauth.endpoints.forms import FormParameters
from oauth.errors import (
    InvalidRequest,
    OAuthError,
    ServerBusy,
    UnsupportedGrantType,
    UnsupportedTokenType,
)
from oauth.grants import codes, tokens
from oauth.grants.codes import Proof
from oauth.grants.pairs import Pair
from oauth.models import Client

MAX_BODY_BYTES = 16_384  # bytes of a form
# Kinds of tokens and keys that are issued to people and organizations, not to a client.
REVOKED_BY_PEOPLE: Final = (mcp_tokens.PREFIX, *server_keys.PREFIXES.values())
GRANT_TYPES: Final = ("authorization_code", "refresh_token", "client_credentials")


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("token_rejected")
def token(request: HttpRequest) -> HttpResponse:
    """The code, refresh and client credentials grants (RFC 6749 section 3.2)."""
    address = replies.address_of(request)
    form = _charged_form(request, address)
    client = clients.authenticate(form, request.headers.get("Authorization"), address=address)
    match form.require("grant_type"):
        case "authorization_code":
            body = _redeem(form, client, address).body()
        case "refresh_token":
            body = _refresh(form, client, address).body()
        case "client_credentials":
            scope, resource = form.get("scope"), form.get("resource")
            body = service_clients.issue_token(client, scope=scope, resource=resource)
        case _:
            raise UnsupportedGrantType(f"grant_type must be one of: {', '.join(GRANT_TYPES)}.")
    return replies.json(body)


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("revoke_rejected")
def revoke(request: HttpRequest) -> HttpResponse:
    """Returns always 200, as the document of the workspace server has it (its table of endpoints).

    The exception is 429 for an address over its limit: the token was not read, so the client may
    retry.
    """
    address = _charged_address(request)
    try:
        _revoke(request, address)
    except OAuthError as problem:
        replies.log.info("revoke_ignored", error=problem.code, debug=problem.debug)
    return replies.private(HttpResponse(status=200))


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("revoke_rejected")
def revoke_or_refuse(request: HttpRequest) -> HttpResponse:
    """Returns 200 only if the token is not valid any more (RFC 7009 sections 2.1 and 2.2.1).

    An unknown token is not valid. One that stays valid is an error: without the client that it was
    issued to, and of a kind that no client revokes.
    """
    _revoke(request, _charged_address(request))
    return replies.private(HttpResponse(status=200))


def _charged_address(request: HttpRequest) -> str:
    address = replies.address_of(request)
    # Revocation must work when the counters do not.
    with suppress(ServerBusy):
        replies.spend(limits.address_bucket(address), address=address)
    return address


def _revoke(request: HttpRequest, address: str) -> None:
    """Revokes the token of a form. Raises OAuthError if it may stay valid."""
    form = _form(request)
    client = clients.authenticate(form, request.headers.get("Authorization"), address=address)
    token = form.require("token")
    if token.startswith(REVOKED_BY_PEOPLE):
        raise UnsupportedTokenType("A token of this kind is revoked on the pages of this server.")
    tokens.revoke(token, client=client, address=address)


def _charged_form(request: HttpRequest, address: str) -> FormParameters:
    """Parses the form, charged to its client and address, or only its address if it is invalid."""
    try:
        form = _form(request)
        client_id = _claimed_client(form, request.headers.get("Authorization"))
    except OAuthError:
        replies.spend(limits.address_bucket(address), address=address)
        raise
    # Per client and address: a client at another address cannot use up the limit. The address comes
    # first because the client chooses its id: after it, an id such as `id:2001:db8` would change an
    # abbreviated IPv6 network into another.
    share = Bucket(f"token:{peer.rate_key(address)}:{client_id}", settings.HALO_RATE_TOKEN)
    replies.spend(share, limits.address_bucket(address), address=address)
    return form


def _form(request: HttpRequest) -> FormParameters:
    if request.META.get("QUERY_STRING"):
        # Queries are logged; credentials must not be (RFC 6749 section 2.3.1).
        raise InvalidRequest("Send the parameters in the request body, not in the URL.")
    body = replies.body(request, max_bytes=MAX_BODY_BYTES)
    return forms.parse_form(body, request.headers.get("Content-Type", ""), max_bytes=MAX_BODY_BYTES)


def _claimed_client(form: FormParameters, authorization: str | None) -> str:
    if authorization:
        return forms.parse_basic(authorization)[0]
    if form.get("client_assertion"):
        from oauth.clients import assertions  # noqa: PLC0415  few requests need PyJWT

        return assertions.claimed_client(form)
    return form.require("client_id")


def _redeem(form: FormParameters, client: Client, address: str) -> Pair:
    proof = Proof(
        verifier=form.require("code_verifier"),
        redirect_uri=form.get("redirect_uri"),
        resource=form.get("resource"),
    )
    return codes.redeem(form.require("code"), client=client, proof=proof, address=address)


def _refresh(form: FormParameters, client: Client, address: str) -> Pair:
    return tokens.rotate(
        form.require("refresh_token"),
        client=client,
        scope=form.get("scope"),
        resource=form.get("resource"),
        address=address,
    )
