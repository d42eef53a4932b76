"""The replay window: a repeated refresh gets the pair that was issued first.

It lasts HALO_REFRESH_REPLAY_SECONDS; with 0 there is none
(`docs/decisions/0011-replay-window.md`). The new pair is stored with the spent token, encrypted
under a key that is derived from that token, so only a request with the token itself can decrypt it.
In bytes: a random nonce of 12, then AES-256-GCM of three words (access token, refresh token, scope)
with its tag of 16.
"""

import secrets
from datetime import datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils import timezone

from oauth import scopes
from oauth.grants.pairs import Pair

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
# The purpose of the key, so that no other use of the token derives the same one (RFC 5869 section
# 3.2).
PURPOSE: Final = b"halo-mcp refresh reply"


def seal(pair: Pair, *, spent: str) -> bytes | None:
    """Return the encrypted pair to store with the spent token; None if the window is off."""
    if not settings.HALO_REFRESH_REPLAY_SECONDS:
        return None
    nonce = secrets.token_bytes(NONCE_BYTES)
    words = f"{pair.access} {pair.refresh} {pair.scope}".encode()
    return nonce + _cipher(spent).encrypt(nonce, words, None)


def reopen(sealed: bytes, *, spent: str, used_at: datetime) -> Pair | None:
    """Return the pair of a spent token with its remaining lifetime; None after the window."""
    age = timezone.now() - used_at
    if age >= timedelta(seconds=settings.HALO_REFRESH_REPLAY_SECONDS):
        return None
    words = _cipher(spent).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None).decode()
    access, refresh, scope = words.split(" ", 2)
    left = timedelta(seconds=settings.HALO_ACCESS_TOKEN_SECONDS) - age
    return Pair(access, refresh, scopes.parse(scope), max(0, int(left.total_seconds())))


def _cipher(spent: str) -> AESGCM:
    # 256 random bits need no salt (RFC 5869 section 3.1).
    key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=PURPOSE)
    return AESGCM(key.derive(spent.encode()))
