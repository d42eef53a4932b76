"""Access and refresh tokens: issued in pairs, rotated at each refresh, with replay detection.

No row is locked. The request that wins the UPDATE ... WHERE used_at IS NULL gets a new pair. All
others have presented a used token: within the replay window they get the same pair, and otherwise
the token family is revoked (RFC 9700 section 4.14.2).
"""

from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from foundation import ids
from oauth import scopes
from oauth.consent import grantable
from oauth.errors import InvalidGrant, OAuthError
from oauth.grants import authorizations, grant_conditions, pairs, replay_window
from oauth.grants.pairs import ACCESS, REFRESH, Pair, looks_like
from oauth.models import AccessToken, Authorization, Client, RefreshToken, ServiceClient
from oauth.scopes import ScopeSet
from workspace import changes

SPENT = "The refresh token is not valid. Start the authorization again."
TOO_OLD = "The authorization expired %d days after it was granted. Start the authorization again."
TOO_LONG_IDLE = (
    "The refresh token expired because it was not used for %d days. Start the authorization again."
)


def issue(authorization: Authorization, scope: ScopeSet) -> Pair:
    """Issue the first pair of an authorization, inside the transaction that consumes its code."""
    pair = _draw(authorization, scope)
    _write(authorization, pair)
    return pair


def issue_access(authorization: Authorization, scope: ScopeSet) -> dict[str, object]:
    """Issues an access token alone; returns the response of the token endpoint.

    The client credentials grant has no refresh token (RFC 6749 section 4.4.3).
    """
    pair = pairs.draw(scope, expires_in=settings.HALO_ACCESS_TOKEN_SECONDS)
    _write_access(authorization, pair)
    body = pair.body()
    del body["refresh_token"]
    return body


def rotate(
    presented: str, *, client: Client, scope: str | None, resource: str | None, address: str
) -> Pair:
    """Exchange a refresh token for a new pair (RFC 6749 section 6).

    Raises InvalidGrant (used, expired, revoked, unknown or of another client), InvalidScope (not
    implied by the token's scope) and InvalidTarget. A replay and an expired token also revoke the
    token family.
    """
    token = _find(presented)
    if token.authorization.client_id != client.pk:
        authorizations.report("refresh_client_mismatch", token.authorization, address=address)
        raise InvalidGrant(hint=SPENT, debug=f"foreign client, token={token.pk}")
    if token.used_at is None:
        authorizations.require_resource(token.authorization, resource)
        _require_unexpired(token, address)
        pair = _exchange(token, presented, _narrow_scope(token, scope))
        if pair is not None:
            return pair
        token = _find(presented)  # as the first exchange returned it
    return _repeat_rotation(token, presented, scope, resource, address=address)


def _require_unexpired(token: RefreshToken, address: str) -> None:
    now, family = timezone.now(), token.authorization
    if authorizations.lasts_until(family) <= now:
        days, hint = settings.HALO_REFRESH_MAX_DAYS, TOO_OLD
    elif authorizations.idle_until(token.created) <= now:
        days, hint = settings.HALO_REFRESH_IDLE_DAYS, TOO_LONG_IDLE
    else:
        return
    if authorizations.revoke(family.pk, reason="expired"):
        authorizations.report("refresh_expired", family, address=address)
    raise InvalidGrant(hint % days, debug=f"expired, token={token.pk}")


def revoke_replayed(
    authorization: Authorization, kind: str, hint: str, *, address: str
) -> InvalidGrant:
    """Revokes the token family of a replayed credential; returns the error to raise."""
    authorizations.revoke(authorization.pk, reason=kind)
    authorizations.report(kind, authorization, address=address)
    return InvalidGrant(hint, debug=f"{kind}, authorization={authorization.pk}")


def revoke(presented: str, *, client: Client, address: str) -> None:
    """Revokes the token family of an access or refresh token of this client (RFC 7009).

    Unknown tokens are ignored without an error. Of a service client, only the token ends: an admin
    gave the authorization, and the client could not get another. Raises InvalidGrant for a token of
    another client.
    """
    token = _either_kind(presented)
    if token is None:
        return
    if token.authorization.client_id != client.pk:
        authorizations.report("revoke_foreign", token.authorization, address=address)
        raise InvalidGrant("The token was issued to another client.", debug=f"token={token.pk}")
    if ServiceClient.objects.filter(authorization=token.authorization_id).exists():
        token.delete()
        changes.publish([token.authorization.organization_id])
        authorizations.report("revoked_by_client", token.authorization, address=address)
    elif authorizations.revoke(token.authorization_id, reason="revoked_by_client"):
        authorizations.report("revoked_by_client", token.authorization, address=address)


def _find(presented: str) -> RefreshToken:
    if not looks_like(REFRESH, presented):
        raise InvalidGrant(hint=SPENT, debug="not of a refresh token's shape")
    rows = RefreshToken.objects.select_related("authorization")
    token = rows.filter(token_checksum=ids.sha256_hex(presented)).first()
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
    rows = model.objects.select_related("authorization__client")
    return rows.filter(token_checksum=ids.sha256_hex(presented)).first()


def _exchange(token: RefreshToken, presented: str, scope: ScopeSet) -> Pair | None:
    """Return a new pair for the one request that wins, None for all others."""
    pair = _draw(token.authorization, scope)
    try:
        with transaction.atomic():
            return pair if _spend(token, presented, pair) else None
    except IntegrityError as error:  # the client was deleted at the same time
        raise InvalidGrant(hint=SPENT, debug="the token family is gone") from error


def _spend(token: RefreshToken, presented: str, pair: Pair) -> bool:
    # Conditions on the row alone: after a lock wait PostgreSQL evaluates only these again, so with
    # a joined row in the same statement two requests could both win.
    unused = RefreshToken.objects.filter(pk=token.pk, used_at__isnull=True)
    sealed = replay_window.seal(pair, spent=presented)
    if not unused.update(used_at=timezone.now(), sealed_reply=sealed):
        return False
    if not authorizations.is_active(token):
        raise InvalidGrant(hint=SPENT, debug=f"the grant is not active, token={token.pk}")
    _write(token.authorization, pair)
    return True


def _repeat_rotation(
    token: RefreshToken, presented: str, scope: str | None, resource: str | None, *, address: str
) -> Pair:
    """Returns the pair issued before, within the replay window; else revokes the family."""
    pair = _find_issued_pair(token, presented)
    if pair is None or not _asks_the_same(token, scope, resource, pair):
        raise revoke_replayed(token.authorization, "refresh_replay", SPENT, address=address)
    authorizations.report("refresh_repeated", token.authorization, address=address)
    return pair


def _find_issued_pair(token: RefreshToken, presented: str) -> Pair | None:
    if token.sealed_reply is None or token.used_at is None:
        return None
    sealed = bytes(token.sealed_reply)  # PostgreSQL returns a memoryview
    pair = replay_window.reopen(sealed, spent=presented, used_at=token.used_at)
    if pair is None:
        return None
    # A used successor proves that the response has arrived, so this request is a replay.
    active = RefreshToken.objects.filter(grant_conditions.active("authorization__"))
    unused = active.filter(used_at__isnull=True)
    if not unused.filter(token_checksum=ids.sha256_hex(pair.refresh)).exists():
        return None
    scope = pair.scope.intersect(scopes.parse(token.authorization.scope))
    return replace(
        pair, scope=scope, expires_in=min(pair.expires_in, _seconds_left(token.authorization))
    )


def _asks_the_same(
    token: RefreshToken, scope: str | None, resource: str | None, pair: Pair
) -> bool:
    """Returns whether the request is the same; a request with another error is still a replay."""
    try:
        authorizations.require_resource(token.authorization, resource)
        # In any order: of two that race, one may name what the other leaves out.
        return set(_narrow_scope(token, scope)) == set(pair.scope)
    except OAuthError:
        return False


def _draw(authorization: Authorization, scope: ScopeSet) -> Pair:
    # An access token must not outlive its authorization.
    return pairs.draw(
        scope, expires_in=min(settings.HALO_ACCESS_TOKEN_SECONDS, _seconds_left(authorization))
    )


def _seconds_left(authorization: Authorization) -> int:
    left = authorizations.lasts_until(authorization) - timezone.now()
    return max(1, int(left.total_seconds()))


def _write(authorization: Authorization, pair: Pair) -> None:
    _write_access(authorization, pair)
    RefreshToken.objects.create(
        token_checksum=ids.sha256_hex(pair.refresh),
        authorization=authorization,
        scope=str(pair.scope),
    )


def _write_access(authorization: Authorization, pair: Pair) -> None:
    AccessToken.objects.create(
        token_checksum=ids.sha256_hex(pair.access),
        authorization=authorization,
        scope=str(pair.scope),
        expires=timezone.now() + timedelta(seconds=pair.expires_in),
    )


def _narrow_scope(token: RefreshToken, asked: str | None) -> ScopeSet:
    # Scopes that cannot be granted are dropped, as in an authorization request. Without a `scope`
    # the token keeps its own, except what the user has removed since; the response has the result
    # (RFC 6749 section 5.1).
    held = scopes.parse(token.scope).intersect(scopes.parse(token.authorization.scope))
    if not held:
        raise InvalidGrant(hint=SPENT, debug=f"nothing is left of its scope, token={token.pk}")
    return held.narrow(grantable.parse(asked)) if asked else held
