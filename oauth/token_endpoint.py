"""POST /api/mcp/oauth/token and /revoke: the two endpoints that clients call with a form."""

from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from foundation import peer
from foundation.limits import Bucket
from oauth import clients, codes, forms, replies, tokens
from oauth.codes import Proof
from oauth.errors import InvalidRequest, OAuthError, ServerBusy, UnsupportedGrantType
from oauth.forms import Form
from oauth.models import Client
from oauth.pairs import Pair

MOST = 16_384  # bytes of a form


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("token_rejected")
def token(request: HttpRequest) -> HttpResponse:
    """The code and refresh grants (RFC 6749 section 3.2)."""
    address = replies.address_of(request)
    form = _charged_form(request, address)
    client = clients.authenticate(form, request.headers.get("Authorization"))
    match form.required("grant_type"):
        case "authorization_code":
            pair = _redeem(form, client, address)
        case "refresh_token":
            pair = _refresh(form, client, address)
        case _:
            raise UnsupportedGrantType("Use authorization_code or refresh_token.")
    return replies.json(pair.body())


@csrf_exempt
@replies.accepts("POST")
@replies.endpoint("revoke_rejected")
def revoke(request: HttpRequest) -> HttpResponse:
    """Always 200, so that nobody can probe what a token is (RFC 7009 section 2.2).

    But 429 for an address that asks too often: nothing was looked at, so it may try again.
    """
    address = replies.address_of(request)
    # Ending access must work when counting does not.
    with suppress(ServerBusy):
        replies.spend(_place(address), address=address)
    try:
        form = _form(request)
        client = clients.authenticate(form, request.headers.get("Authorization"))
        tokens.revoke(form.required("token"), client=client, address=address)
    except OAuthError as problem:
        replies.log.info("revoke_ignored", error=problem.code, debug=problem.debug)
    return replies.private(HttpResponse(status=200))


def _charged_form(request: HttpRequest, address: str) -> Form:
    """The form, charged to its client and address, or to its address alone where it is none."""
    try:
        form = _form(request)
        client_id = _claimed_client(form, request.headers.get("Authorization"))
    except OAuthError:
        replies.spend(_place(address), address=address)
        raise
    # Per client and address: a stranger elsewhere cannot use up somebody's share. The address
    # goes first, for who asks chooses the client id: behind it, one such as `id:2001:db8` would
    # turn the end of somebody's IPv6 network into the whole of it.
    share = Bucket(f"token:{peer.rate_key(address)}:{client_id}", settings.HALO_RATE_TOKEN)
    replies.spend(share, _place(address), address=address)
    return form


def _place(address: str) -> Bucket:
    return Bucket(f"ip:{peer.rate_key(address)}", settings.HALO_RATE_IP)


def _form(request: HttpRequest) -> Form:
    if request.META.get("QUERY_STRING"):
        # Queries end up in logs; credentials must not (RFC 6749 section 2.3.1).
        raise InvalidRequest("Send the parameters in the body.")
    body = replies.body(request, most=MOST)
    return forms.parse_form(body, request.headers.get("Content-Type", ""), max_bytes=MOST)


def _claimed_client(form: Form, authorization: str | None) -> str:
    return forms.parse_basic(authorization)[0] if authorization else form.required("client_id")


def _redeem(form: Form, client: Client, address: str) -> Pair:
    proof = Proof(
        verifier=form.required("code_verifier"),
        redirect_uri=form.get("redirect_uri"),
        resource=form.get("resource"),
    )
    return codes.redeem(form.required("code"), client=client, proof=proof, address=address)


def _refresh(form: Form, client: Client, address: str) -> Pair:
    return tokens.rotate(
        form.required("refresh_token"),
        client=client,
        scope=form.get("scope"),
        resource=form.get("resource"),
        address=address,
    )
