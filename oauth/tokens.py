"""Access and refresh tokens: issued in pairs, rotated once, recognised when replayed.

No row is locked. Whoever wins the UPDATE ... WHERE used_at IS NULL has the right to a new pair;
everybody else has presented a spent token, and the chain dies (RFC 9700 section 4.14.2).
"""

from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from foundation import ids
from oauth import authorizations, pairs, replay_window, scopes
from oauth.authorizations import STANDING
from oauth.errors import InvalidGrant, OAuthError
from oauth.models import AccessToken, Authorization, Client, RefreshToken
from oauth.pairs import ACCESS, REFRESH, Pair, looks_like
from oauth.scopes import ScopeSet

SPENT = "The refresh token is not valid. Start the authorization again."


def issue(authorization: Authorization, scope: ScopeSet) -> Pair:
    """A new pair under a root. Call inside the transaction that spent what it is given for."""
    pair = _draw(scope)
    _write(authorization, pair)
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
    if token.used_at is None:
        authorizations.require_resource(token.authorization, resource)
        pair = _exchange(token, presented, _narrowed(token, scope))
        if pair is not None:
            return pair
        token = _find(presented)  # as whoever came first left it
    return _repeated(token, presented, scope, resource, address=address)


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
    chain = RefreshToken.objects.select_related("authorization")
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


def _exchange(token: RefreshToken, presented: str, scope: ScopeSet) -> Pair | None:
    """A new pair for the one caller who wins; None for all others."""
    pair = _draw(scope)
    try:
        with transaction.atomic():
            return pair if _spend(token, presented, pair) else None
    except IntegrityError as error:  # the client was pruned under our feet
        raise InvalidGrant(hint=SPENT, debug="the chain is gone") from error


def _spend(token: RefreshToken, presented: str, pair: Pair) -> bool:
    # Conditions on the row alone: after a wait for it PostgreSQL looks at these again and at no
    # other, so with a joined one in the same statement two callers could both win.
    unused = RefreshToken.objects.filter(pk=token.pk, used_at__isnull=True)
    sealed = replay_window.seal(pair, spent=presented)
    if not unused.update(used_at=timezone.now(), sealed_reply=sealed):
        return False
    if not authorizations.stands(token):
        raise InvalidGrant(hint=SPENT, debug=f"the chain does not stand, token={token.pk}")
    _write(token.authorization, pair)
    return True


def _repeated(
    token: RefreshToken, presented: str, scope: str | None, resource: str | None, *, address: str
) -> Pair:
    """The pair that was given before, while the window is open; else the chain ends."""
    pair = _given_before(token, presented)
    if pair is None or not _asks_the_same(token, scope, resource, pair):
        raise replayed(token.authorization, "refresh_replay", SPENT, address=address)
    authorizations.report("refresh_repeated", token.authorization, address=address)
    return pair


def _given_before(token: RefreshToken, presented: str) -> Pair | None:
    if token.sealed_reply is None or token.used_at is None:
        return None
    sealed = bytes(token.sealed_reply)  # PostgreSQL hands out a view of it
    pair = replay_window.reopen(sealed, spent=presented, used_at=token.used_at)
    if pair is None:
        return None
    # Once its successor was used, the reply has arrived: whoever asks again is somebody else.
    unused = RefreshToken.objects.filter(used_at__isnull=True, **STANDING)
    if not unused.filter(token_checksum=ids.sha256_hex(pair.refresh)).exists():
        return None
    return replace(pair, scope=pair.scope.intersect(scopes.parse(token.authorization.scope)))


def _asks_the_same(
    token: RefreshToken, scope: str | None, resource: str | None, pair: Pair
) -> bool:
    """Whether it is the same request again: a mistake beside it does not excuse a replay."""
    try:
        authorizations.require_resource(token.authorization, resource)
        return _narrowed(token, scope) == pair.scope
    except OAuthError:
        return False


def _draw(scope: ScopeSet) -> Pair:
    return pairs.draw(scope, expires_in=settings.HALO_ACCESS_TOKEN_SECONDS)


def _write(authorization: Authorization, pair: Pair) -> None:
    scope = str(pair.scope)
    AccessToken.objects.create(
        token_checksum=ids.sha256_hex(pair.access),
        authorization=authorization,
        scope=scope,
        expires=timezone.now() + timedelta(seconds=pair.expires_in),
    )
    RefreshToken.objects.create(
        token_checksum=ids.sha256_hex(pair.refresh), authorization=authorization, scope=scope
    )


def _narrowed(token: RefreshToken, asked: str | None) -> ScopeSet:
    # Unknown words are dropped, as at consent; asking for nothing keeps what is held, less what
    # the person has taken away since: a reply must name what it gives (RFC 6749 section 5.1).
    held = scopes.parse(token.scope).intersect(scopes.parse(token.authorization.scope))
    if not held:
        raise InvalidGrant(hint=SPENT, debug=f"nothing is left of its scope, token={token.pk}")
    return held.narrow(scopes.parse(asked)) if asked else held
