"""Client authentication with a signed assertion, `private_key_jwt` (RFC 7521, RFC 7523).

The public keys of a client are those that an admin entered; none are fetched.
"""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import jwt
from django.db import IntegrityError, transaction
from jwt.exceptions import InvalidSubjectError, PyJWKError

from foundation import ids
from foundation.db.storable import has_unstorable_text
from oauth import addresses
from oauth.clients.client_metadata import BY_KEY_TYPE
from oauth.endpoints.forms import FormParameters
from oauth.errors import InvalidClient, InvalidRequest
from oauth.models import Client, UsedAssertion

TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
CURVES: Final = {"EC": "P-256", "OKP": "Ed25519"}
# Members of private and symmetric keys (RFC 7518 sections 6.2.2, 6.3.2 and 6.4).
PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
# What is stored of a key (RFC 7517 section 4, RFC 7518 section 6, RFC 8037 section 2).
MEMBERS: Final = frozenset({"kty", "use", "alg", "kid", "crv", "x", "y", "n", "e"})
MIN_RSA_BITS: Final = 2048
MAX_KEYS: Final = 10
MAX_JWKS: Final = 20_000  # characters
MAX_JTI: Final = 200  # characters
# How long before its end an assertion may be sent, and the difference between two clocks.
MAX_SECONDS: Final = 600
LEEWAY_SECONDS: Final = 30
REFUSED: Final = "Client authentication failed: %s"
# What the library raises for members of unexpected types, besides its own errors.
MALFORMED: Final = (jwt.PyJWTError, ValueError, TypeError, KeyError, OverflowError, RecursionError)


class InvalidKeys(Exception):
    """The text is no set of public keys that assertions are verified with; it says why."""


def parse_keys(text: str) -> dict[str, Any]:
    """Returns a JWK Set of public keys (RFC 7517 section 5) as JSON values.

    Raises InvalidKeys, for private keys among others.
    """
    try:
        document = json.loads(text) if len(text) <= MAX_JWKS else None
    except (ValueError, RecursionError):
        document = None
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list) or not 0 < len(keys) <= MAX_KEYS:
        raise InvalidKeys(f"Enter a JWK Set: an object with “keys”, 1 to {MAX_KEYS} of them.")
    if has_unstorable_text(document):
        raise InvalidKeys("The text contains NUL or a lone surrogate.")
    for key in keys:
        _check_key(key)
    named = [key["kid"] for key in keys if "kid" in key]
    if len(set(named)) < len(named):
        raise InvalidKeys("Two keys have the same “kid”.")
    return {"keys": [{name: key[name] for name in key.keys() & MEMBERS} for key in keys]}


def read(form: FormParameters) -> str:
    """Returns the assertion of a request. Raises InvalidRequest (RFC 7521 section 4.2)."""
    if form.get("client_assertion_type") != TYPE:
        raise InvalidRequest(f"client_assertion_type must be {TYPE}.")
    return form.require("client_assertion")


def claimed_client(form: FormParameters) -> str:
    """Returns the client id of an assertion, which is not verified yet.

    Raises InvalidClient, and InvalidRequest if `client_id` names another client (RFC 7521 section
    4.2).
    """
    claims = _unverified_claims(form.require("client_assertion"))
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise InvalidClient(REFUSED % "the assertion needs the claim sub.")
    if form.get("client_id") not in {None, subject}:
        raise InvalidRequest("client_id is not the sub of the assertion.")
    return subject


def check(client: Client, assertion: str) -> None:
    """Raises InvalidClient unless a key of the client has signed the assertion for this server.

    It must name the client as issuer and subject and this server as audience, expire within
    MAX_SECONDS, and be new (RFC 7523 section 3).
    """
    claims = _verified_claims(_key_of(assertion, _keys(client)), assertion, client.client_id)
    if int(claims["exp"]) > time.time() + MAX_SECONDS + LEEWAY_SECONDS:
        raise _refusal(f"the assertion may expire {MAX_SECONDS} seconds from now at the latest.")
    jti = claims["jti"]
    if not isinstance(jti, str) or not 0 < len(jti) <= MAX_JTI:
        raise _refusal(f"the claim jti must have 1 to {MAX_JTI} characters.")
    # Until then, and not longer, the library accepts the assertion.
    _use_once(client, jti, datetime.fromtimestamp(int(claims["exp"]) + LEEWAY_SECONDS, UTC))


def _keys(client: Client) -> list[dict[str, Any]]:
    stored = client.service.jwks
    return stored["keys"] if stored else []


def _use_once(client: Client, jti: str, until: datetime) -> None:
    digest = ids.sha256_hex(jti)
    try:
        with transaction.atomic():
            UsedAssertion.objects.create(client=client, jti_sha256=digest, expires_at=until)
    except IntegrityError:
        raise _refusal("the assertion was used before. Sign a new one.") from None


def _verified_claims(key: Mapping[str, Any], assertion: str, client_id: str) -> Mapping[str, Any]:
    algorithms = [key["alg"]] if "alg" in key else list(BY_KEY_TYPE[key["kty"]])
    try:
        # The algorithm is one of the key's, and not what the assertion chooses (RFC 8725 3.1).
        public = jwt.PyJWK(dict(key), algorithm=algorithms[0]).key
        claims: Mapping[str, Any] = jwt.decode(
            assertion,
            public,
            algorithms=algorithms,
            issuer=client_id,
            subject=client_id,
            audience=[addresses.issuer(), addresses.url("/api/mcp/oauth/token")],
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "sub", "aud", "exp", "jti"]},
        )
    except jwt.ExpiredSignatureError:
        raise _refusal("the assertion has expired.") from None
    except jwt.InvalidAudienceError:
        raise _refusal(f"the audience of the assertion must be {addresses.issuer()}.") from None
    except jwt.MissingRequiredClaimError as missing:
        raise _refusal(f"the assertion needs the claim {missing.claim}.") from None
    except (jwt.InvalidIssuerError, InvalidSubjectError):
        raise _refusal("iss and sub must be the client id.") from None
    except MALFORMED:
        raise _refusal("the assertion is not signed with a key of this client.") from None
    return claims


def _key_of(assertion: str, keys: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the key that an assertion names, or the only one that has its algorithm."""
    try:
        header = jwt.get_unverified_header(assertion)
    except MALFORMED:
        raise _refusal("the assertion is no signed JWT.") from None
    fitting = [
        key
        for key in keys
        if header.get("alg") in BY_KEY_TYPE[key["kty"]]
        and header.get("kid") in {None, key.get("kid")}
    ]
    if len(fitting) != 1:
        raise _refusal("the header of the assertion must name a key of this client with kid.")
    return fitting[0]


def _unverified_claims(assertion: str) -> Mapping[str, Any]:
    try:
        claims: Mapping[str, Any] = jwt.decode(assertion, options={"verify_signature": False})
    except MALFORMED:
        raise _refusal("the assertion is no signed JWT.") from None
    if has_unstorable_text(claims):
        raise _refusal("a claim of the assertion contains NUL or a lone surrogate.")
    return claims


def _check_key(key: object) -> None:
    if not isinstance(key, dict) or key.get("kty") not in list(BY_KEY_TYPE):
        raise InvalidKeys(f"A key must be of one of the types {', '.join(BY_KEY_TYPE)}.")
    if PRIVATE_MEMBERS & key.keys():
        raise InvalidKeys("This is a private key. Enter the public key only, and replace this one.")
    allowed = BY_KEY_TYPE[key["kty"]]
    if key.get("use", "sig") != "sig" or key.get("alg", allowed[0]) not in allowed:
        raise InvalidKeys(f"A key must be for signatures with {' or '.join(allowed)}.")
    if key["kty"] in CURVES and key.get("crv") != CURVES[key["kty"]]:
        raise InvalidKeys(f"A key of the type {key['kty']} must be on {CURVES[key['kty']]}.")
    if not isinstance(key.get("kid", ""), str):
        raise InvalidKeys("A “kid” must be a text.")
    try:
        public = jwt.PyJWK(key, algorithm=allowed[0]).key
    except (PyJWKError, *MALFORMED):
        raise InvalidKeys("A key is not valid.") from None
    if key["kty"] == "RSA" and public.key_size < MIN_RSA_BITS:
        raise InvalidKeys(f"An RSA key must have {MIN_RSA_BITS} bits or more.")


def _refusal(why: str) -> InvalidClient:
    return InvalidClient(REFUSED % why, debug=why)
