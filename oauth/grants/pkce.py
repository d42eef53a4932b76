"""Proof Key for Code Exchange, S256 only (RFC 7636; OAuth 2.1 4.1.1)."""

import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest

from oauth.errors import InvalidRequest

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # base64url of 32 bytes, unpadded (RFC 7636 4.2)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636 4.1


def check_challenge(challenge: str | None, method: str | None) -> str:
    """Returns the challenge of an authorization request, which has to use S256.

    Raises InvalidRequest if the challenge is absent or no SHA-256 in base64url, and for every other
    method. Source: RFC 7636 4.2 and 4.3.
    """
    if challenge is None:
        raise InvalidRequest("code_challenge is required.")
    # An absent method means plain (RFC 7636 4.3), which would expose the verifier in logs.
    if method != "S256":
        raise InvalidRequest("code_challenge_method must be S256.")
    if not _CHALLENGE.fullmatch(challenge):
        raise InvalidRequest("code_challenge must be 43 base64url characters.")
    return challenge


def verifier_matches(verifier: str, challenge: str) -> bool:
    """Returns, in constant time, whether the verifier hashes to the challenge.

    A verifier that is not 43 to 128 unreserved characters never does. Source: RFC 7636 4.1, 4.6.
    """
    if not _VERIFIER.fullmatch(verifier):
        return False
    digest = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=")
    return compare_digest(digest, challenge.encode())
