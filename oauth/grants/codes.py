"""Authorization codes: five minutes, one use, bound to client, redirect URI and PKCE challenge."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from foundation import ids
from oauth import scopes
from oauth.errors import InvalidGrant
from oauth.grants import authorizations, pairs, pkce, tokens
from oauth.grants.pairs import Pair
from oauth.models import Authorization, AuthorizationRequest, Client, Grant

PREFIX: Final = "halo_ac_"
DEAD = "The authorization code is not valid. Start the authorization again."


def issue(authorization: Authorization, request: AuthorizationRequest) -> str:
    """Returns a new code in clear text; only its hash is stored."""
    code = ids.opaque(PREFIX)
    Grant.objects.create(
        code=ids.sha256_hex(code),
        authorization=authorization,
        redirect_uri=request.redirect_uri,
        code_challenge=request.code_challenge,
        expires=timezone.now() + timedelta(seconds=settings.HALO_CODE_SECONDS),
    )
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The other parameters of a code exchange; `repr` does not show the verifier."""

    verifier: str = field(repr=False)
    redirect_uri: str | None
    resource: str | None


def redeem(presented: str, *, client: Client, proof: Proof, address: str) -> Pair:
    """Exchanges a code for the first tokens of its family (RFC 6749 section 4.1.3, RFC 7636).

    Raises InvalidGrant and InvalidTarget. A code of another client is not changed; a used one
    revokes its token family; a wrong verifier or redirect URI uses the code up.
    """
    grant = _find(presented)
    if grant.authorization.client_id != client.pk:
        authorizations.report("code_client_mismatch", grant.authorization, address=address)
        raise InvalidGrant(hint=DEAD, debug=f"foreign client, grant={grant.pk}")
    if grant.consumed_at is not None:
        raise tokens.revoke_replayed(grant.authorization, "code_replay", DEAD, address=address)
    authorizations.require_resource(grant.authorization, proof.resource)
    _require_proof(grant, proof)
    return _exchange(grant, address=address)


def _find(presented: str) -> Grant:
    if not pairs.looks_like(PREFIX, presented):
        raise InvalidGrant(hint=DEAD, debug="not of a code's shape")
    rows = Grant.objects.select_related("authorization__client")
    grant = rows.filter(code=ids.sha256_hex(presented)).first()
    if grant is None:
        raise InvalidGrant(hint=DEAD, debug="unknown code")
    return grant


def _require_proof(grant: Grant, proof: Proof) -> None:
    if grant.expires <= timezone.now():
        raise InvalidGrant(hint=DEAD, debug=f"expired, grant={grant.pk}")
    # OAuth 2.1 clients may omit the redirect URI here, since PKCE replaces it; if present, it has
    # to match (OAuth 2.1, "Redirect URI Parameter in Token Request").
    same_redirect = proof.redirect_uri in {None, grant.redirect_uri}
    if not same_redirect or not pkce.verifier_matches(proof.verifier, grant.code_challenge):
        # A client with the code and without its verifier stole it: it gets one attempt.
        _consume(grant)
        raise InvalidGrant(hint=DEAD, debug=f"wrong verifier or redirect, grant={grant.pk}")


def _consume(grant: Grant) -> bool:
    fresh = Grant.objects.filter(pk=grant.pk, consumed_at__isnull=True)
    return bool(fresh.update(consumed_at=timezone.now()))


def _exchange(grant: Grant, *, address: str) -> Pair:
    try:
        with transaction.atomic():
            pair = _spend(grant)
    except IntegrityError as error:  # the client was deleted at the same time
        raise InvalidGrant(hint=DEAD, debug="the token family is gone") from error
    if pair is None:
        # Raised outside the block: inside, the rollback would undo the revocation.
        raise tokens.revoke_replayed(grant.authorization, "code_replay", DEAD, address=address)
    return pair


def _spend(grant: Grant) -> Pair | None:
    """Returns the first tokens to the one request that wins; None to all others."""
    # The client's row before the code's, as the clean-up locks them: in the other order the two
    # could deadlock.
    _mark_used(grant.authorization.client)
    if not _consume(grant):
        return None
    if not authorizations.is_active(grant):
        raise InvalidGrant(hint=DEAD, debug=f"the grant is not active, grant={grant.pk}")
    return tokens.issue(grant.authorization, scopes.parse(grant.authorization.scope))


def _mark_used(client: Client) -> None:
    # From now on the clean-up keeps this client.
    if client.first_token_at is None:
        untouched = Client.objects.filter(pk=client.pk, first_token_at__isnull=True)
        untouched.update(first_token_at=timezone.now())
