"""Secrets at rest: AES-256-GCM with key rotation.

A sealed value is, in bytes:

    1   format, 0x01
    8   key id: the first 8 bytes of SHA-256 over b"halo sealing key" + key
    12  nonce, random
    n   ciphertext, as long as the plaintext
    16  tag

The associated data is the format, the key id and the caller's context, so a value moved to
another row, another column or under another key id does not open. Random 96-bit nonces are safe
for 2^32 values under one key (NIST SP 800-38D §8.3); rotate before that.

settings.HALO_SEALING_KEYS lists base64 keys: the first seals, all of them unseal.
"""

import base64
import binascii
import functools
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

FORMAT = b"\x01"
KEY_BYTES = 32
KEY_ID_BYTES = 8
NONCE_BYTES = 12
TAG_BYTES = 16
HEAD_BYTES = len(FORMAT) + KEY_ID_BYTES
SHORTEST = HEAD_BYTES + NONCE_BYTES + TAG_BYTES


class SealBroken(Exception):
    """The value was not sealed by this deployment, or with another context or a removed key."""


@dataclass(frozen=True)
class _SealingKey:
    id: bytes
    cipher: AESGCM = field(repr=False, compare=False)
    raw: bytes = field(repr=False, compare=False)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "_SealingKey":
        digest = hashlib.sha256(b"halo sealing key" + raw).digest()
        return cls(id=digest[:KEY_ID_BYTES], cipher=AESGCM(raw), raw=raw)

    def derive(self, context: bytes) -> bytes:
        """Returns a key for another purpose than sealing."""
        return hmac.digest(self.raw, b"halo derived key" + context, "sha256")

    @property
    def head(self) -> bytes:
        return FORMAT + self.id


def seal(plaintext: bytes, *, context: bytes) -> bytes:
    """Encrypts `plaintext` so that it can be decrypted only with the same `context`.

    `context` names the place where the value is kept, such as b"workspace.organization:7:secret".
    The result is 37 bytes longer than the plaintext. Raises ImproperlyConfigured without usable
    keys.
    """
    key = _ring()[0]
    nonce = secrets.token_bytes(NONCE_BYTES)
    return key.head + nonce + key.cipher.encrypt(nonce, plaintext, key.head + context)


def unseal(sealed: bytes, *, context: bytes) -> bytes:
    """Returns the plaintext of a value sealed under `context` with any configured key.

    Raises SealBroken if it cannot be decrypted, ImproperlyConfigured without usable keys.
    """
    key = _key_of(sealed)
    nonce, ciphertext = sealed[HEAD_BYTES:][:NONCE_BYTES], sealed[HEAD_BYTES + NONCE_BYTES :]
    try:
        return key.cipher.decrypt(nonce, ciphertext, key.head + context)
    except InvalidTag:
        raise SealBroken("The value or its context was changed.") from None


def is_readable(sealed: bytes, *, context: bytes) -> bool:
    """Returns whether a configured key decrypts the value."""
    try:
        unseal(sealed, context=context)
    except SealBroken:
        return False
    return True


def is_current(sealed: bytes) -> bool:
    """Returns whether the value has the id of the current key; does not verify the value."""
    return sealed.startswith(_ring()[0].head)


def keyed_digests(value: bytes, *, context: bytes) -> list[str]:
    """Returns HMAC-SHA256 of a value under each configured key, that of the current key first.

    The HMAC key is derived from the sealing key and `context`. What was hashed with a key that was
    removed is not found any more.
    """
    return [hmac.digest(key.derive(context), value, "sha256").hex() for key in _ring()]


def new_key() -> str:
    """Returns a fresh key for HALO_SEALING_KEYS: 32 random bytes in base64, 44 characters."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def key_ids() -> list[str]:
    """Returns the ids of the configured keys, the one that seals first; an id reveals no key."""
    return [key.id.hex() for key in _ring()]


def _key_of(sealed: bytes) -> _SealingKey:
    if len(sealed) < SHORTEST or not sealed.startswith(FORMAT):
        raise SealBroken("This is no sealed value.")
    for key in _ring():
        if sealed.startswith(key.head):
            return key
    key_id = sealed[len(FORMAT) : HEAD_BYTES].hex()
    raise SealBroken(f"No configured key has the id {key_id}.")


def _ring() -> tuple[_SealingKey, ...]:
    return _parse_keys(tuple(settings.HALO_SEALING_KEYS))


@functools.lru_cache(maxsize=4)
def _parse_keys(encoded: tuple[str, ...]) -> tuple[_SealingKey, ...]:
    if not encoded:
        raise ImproperlyConfigured("HALO_SEALING_KEYS is empty; make a key with new_key().")
    return tuple(
        _SealingKey.from_bytes(_decode_key(text, place)) for place, text in enumerate(encoded)
    )


def _decode_key(text: str, place: int) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != KEY_BYTES:
        # The message leaves out the key, which may be valid except for a typing error.
        raise ImproperlyConfigured(f"HALO_SEALING_KEYS[{place}] is not 32 bytes in base64.")
    return raw
