"""Verifies the JWTs that an organization's own server signs with its identity secret.

HS256 only (RFC 7519, RFC 8725 section 3.1). An identity token names a customer; an update token
permits bulk updates for at most an hour and names no user. Source: docs/install-the-widget.md.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt

from customers.identification import external_ids
from customers.identification.field_values import InvalidValue
from foundation.db.storable import has_unstorable_text
from workspace import organizations
from workspace.models import Organization

MAX_TOKEN: Final = 8192
# The clocks of two servers may differ by so much.
LEEWAY_SECONDS: Final = 30
UPDATE_SCOPE: Final = "users.update"
MAX_UPDATE_SECONDS: Final = 3600
CHECKS: Final[Any] = {"verify_aud": False, "verify_iss": False, "verify_sub": False}
# What the library raises for claims of unexpected types, besides its own errors.
MALFORMED: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class InvalidToken(Exception):
    """The token is not accepted; the text says why, for the author of the server that signs."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A customer that an organization's own server names, with the other claims of its token."""

    user_id: str
    claims: Mapping[str, Any]


def identity(organization: Organization, token: str) -> Identity:
    """Returns whom an identity token names. Raises InvalidToken."""
    claims = _verified_claims(organization, token)
    named = claims.get("user_id", claims.get("sub"))
    if isinstance(named, int) and not isinstance(named, bool):
        named = str(named)
    if not isinstance(named, str):
        raise InvalidToken("The identity token needs the claim user_id.")
    try:
        return Identity(external_ids.parse_id(named), claims)
    except InvalidValue as refused:
        raise InvalidToken(f"The claim user_id of the identity token: {refused}") from None


def check_update(organization: Organization, token: str) -> None:
    """Raises InvalidToken unless the token permits bulk updates."""
    claims = _verified_claims(organization, token)
    scope = claims.get("scope")
    if not isinstance(scope, str) or UPDATE_SCOPE not in scope.split():
        raise InvalidToken(f"The token needs the scope {UPDATE_SCOPE}.")
    if "user_id" in claims:
        raise InvalidToken("A token for bulk updates has no user_id.")
    if "exp" not in claims:
        raise InvalidToken("The token needs the claim exp.")
    if int(claims["exp"]) > time.time() + MAX_UPDATE_SECONDS + LEEWAY_SECONDS:
        raise InvalidToken("The token is valid for more than an hour.")


def _verified_claims(organization: Organization, token: str) -> Mapping[str, Any]:
    secret = organizations.identity_secret(organization)
    if secret is None or len(token) > MAX_TOKEN:
        raise InvalidToken("The token is not valid.")
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token, secret, algorithms=["HS256"], leeway=LEEWAY_SECONDS, options=CHECKS
        )
    except jwt.ExpiredSignatureError:
        raise InvalidToken("The token has expired.") from None
    except MALFORMED:
        raise InvalidToken("The token is not valid.") from None
    if has_unstorable_text(claims):
        raise InvalidToken("A claim of the token contains NUL or a lone surrogate.")
    return claims
