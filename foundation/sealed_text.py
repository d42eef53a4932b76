"""Sealed values as text: unpadded base64url, with exactly one valid text for each value.

A lenient decoder stops at padding and ignores stray bits, so that changed text would still decode.
Source: RFC 4648, sections 3.5 and 5.
"""

import base64
import re
from typing import Final

from foundation import sealing
from foundation.sealing import SealBroken

_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]+")


def seal(plaintext: bytes, *, context: bytes) -> str:
    """Seals bytes under a context (see `sealing.seal`), as visible ASCII."""
    return _to_base64url(sealing.seal(plaintext, context=context))


def unseal(text: str, *, context: bytes) -> bytes:
    """Returns the bytes that `seal` was given. Raises SealBroken for any other text."""
    if not _ALPHABET.fullmatch(text) or len(text) % 4 == 1:
        raise SealBroken("This is no sealed text.")
    sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _to_base64url(sealed) != text:
        raise SealBroken("This is no sealed text.")
    return sealing.unseal(sealed, context=context)


def _to_base64url(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")
