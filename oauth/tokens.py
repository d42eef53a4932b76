"""Access and refresh tokens: issued in pairs, rotated once, recognised when replayed.

No row is locked. Whoever wins the UPDATE ... WHERE used_at IS NULL has the right to a new pair;
everybody else has presented a spent token, and the chain dies (RFC 9700 section 4.14.2).
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from foundation import ids
from oauth import authorizations, scopes
from oauth.errors import InvalidGrant
from oauth.models import AccessToken, Authorization, Client, RefreshToken
from oauth.scopes import ScopeSet

ACCESS: Final = "halo_at_"
REFRESH: Final = "halo_rt_"
RANDOM_CHARACTERS: Final = 43  # 256 bits, base64url without padding

SPENT = "The refresh token is not valid. Start the authorization again."


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """An access and a refresh token in clear text: seen once, by the client."""

    access: str
    refresh: str
    scope: ScopeSet

    def __repr__(self) -> str:
        return f"<Pair {self.scope}>"

    def body(self) -> dict[str, object]:
        """The token endpoint's reply (RFC 6749 section 5.1)."""
        return {
            "access_token": self.access,
            "token_type": "Bearer",
            "expires_in": settings.HALO_ACCESS_TOKEN_SECONDS,
            "refresh_token": self.refresh,
            "scope": str(self.scope),
        }


def looks_like(prefix: str, value: str) -> bool:
    """Prefix and exact length, before any look-up; a stored hash presented as a token fails."""
    return value.startswith(prefix) and len(value) == len(prefix) + RANDOM_CHARACTERS


def issue(authorization: Authorization, scope: ScopeSet) -> Pair:
    """A new pair under a root. Call inside the transaction that spent what it is given for."""
    pair = Pair(ids.opaque(ACCESS), ids.opaque(REFRESH), scope)
    now = timezone.now()
    AccessToken.objects.create(
        token_checksum=ids.sha256_hex(pair.access),
        authorization=authorization,
        scope=str(scope),
        expires=now + timedelta(seconds=settings.HALO_ACCESS_TOKEN_SECONDS),
    )
    RefreshToken.objects.create(
        token_checksum=ids.sha256_hex(pair.refresh), authorization=authorization, scope=str(scope)
    )
    return pair


def rotate(
    presented: str, *, client: Client, scope: str | None, resource: str | None, address: str
) -> Pair:
    """Exchange a refresh token for a new pair (RFC 6749 section 6).

    Raises InvalidGrant (spent, dead, foreign or unknown), InvalidScope (wider than before) and
    InvalidTarget; of these only a replay changes anything.
    """
    token = _find(presented)
    if token.authorization.client_id != client.pk:
        authorizations.report("refresh_client_mismatch", token.authorization, address=address)
        raise InvalidGrant(hint=SPENT, debug=f"foreign client, token={token.pk}")
    if token.used_at is not None:
        raise replayed(token.authorization, "refresh_replay", SPENT, address=address)
    authorizations.require_resource(token.authorization, resource)
    return _exchange(token, _narrowed(token, scope), address=address)


def replayed(authorization: Authorization, kind: str, hint: str, *, address: str) -> InvalidGrant:
    """End the chain of a spent credential that came back; returns the error to raise."""
    authorizations.revoke(authorization.pk, reason=kind)
    authorizations.report(kind, authorization, address=address)
    return InvalidGrant(hint, debug=f"{kind}, authorization={authorization.pk}")


def revoke(presented: str, *, client: Client, address: str) -> None:
    """End the chain of an access or refresh token of this client (RFC 7009).

    Unknown tokens and tokens of other clients are left alone, and the caller learns nothing.
    """
    token = _either_kind(presented)
    if token is None:
        return
    if token.authorization.client_id != client.pk:
        authorizations.report("revoke_foreign", token.authorization, address=address)
    elif authorizations.revoke(token.authorization_id, reason="revoked_by_client"):
        authorizations.report("revoked_by_client", token.authorization, address=address)


def _find(presented: str) -> RefreshToken:
    if not looks_like(REFRESH, presented):
        raise InvalidGrant(hint=SPENT, debug="not of a refresh token's shape")
    chain = RefreshToken.objects.select_related("authorization__client")
    token = chain.filter(token_checksum=ids.sha256_hex(presented)).first()
    if token is None:
        raise InvalidGrant(hint=SPENT, debug="unknown refresh token")
    return token


def _either_kind(presented: str) -> AccessToken | RefreshToken | None:
    model: type[AccessToken | RefreshToken]
    if looks_like(ACCESS, presented):
        model = AccessToken
    elif looks_like(REFRESH, presented):
        model = RefreshToken
    else:
        return None
    chain = model.objects.select_related("authorization__client")
    return chain.filter(token_checksum=ids.sha256_hex(presented)).first()


def _exchange(token: RefreshToken, scope: ScopeSet, *, address: str) -> Pair:
    try:
        with transaction.atomic():
            pair = _spend(token, scope)
    except IntegrityError as error:  # the client was pruned under our feet
        raise InvalidGrant(hint=SPENT, debug="the chain is gone") from error
    if pair is None:
        # Raised outside the block: inside, the rollback would take the kill back.
        raise replayed(token.authorization, "refresh_replay", SPENT, address=address)
    return pair


def _spend(token: RefreshToken, scope: ScopeSet) -> Pair | None:
    """A new pair for the one caller who wins; None for all others."""
    unused = RefreshToken.objects.filter(pk=token.pk, used_at__isnull=True)
    if not unused.update(used_at=timezone.now()):
        return None
    if not authorizations.stands(token):
        raise InvalidGrant(hint=SPENT, debug=f"the chain does not stand, token={token.pk}")
    return issue(token.authorization, scope)


def _narrowed(token: RefreshToken, asked: str | None) -> ScopeSet:
    # Unknown words are dropped, as at consent; asking for nothing keeps what is held, less what
    # the person has taken away since: a reply must name what it gives (RFC 6749 section 5.1).
    held = scopes.parse(token.scope).intersect(scopes.parse(token.authorization.scope))
    if not held:
        raise InvalidGrant(hint=SPENT, debug=f"nothing is left of its scope, token={token.pk}")
    return held.narrow(scopes.parse(asked)) if asked else held
