"""A prepared change as the token that a client carries: sealed, for five minutes and one key.

A client cannot change the operation, the parameters, the body, the entity tag or the idempotency
key. A token opens only for the key and the organization that it was sealed for.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from foundation import ids, sealed_text
from foundation.sealing import SealBroken
from oauth.server_keys import KeyPrincipal

LIFETIME: Final = timedelta(minutes=5)
# Far more than the largest body that an operation accepts.
MAX_CHARACTERS: Final = 8_192


class InvalidConfirmation(Exception):
    """The text is no token of this key, or its time is over."""


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """What a commit runs. `ends` is Unix time; `idempotency_key` is the change's alone."""

    operation_id: str
    path: Mapping[str, str]
    body: Mapping[str, Any]
    if_match: str
    idempotency_key: str = field(default_factory=lambda: ids.opaque(""))
    ends: float = field(default_factory=lambda: time.time() + LIFETIME.total_seconds())

    @property
    def expires_at(self) -> str:
        return datetime.fromtimestamp(int(self.ends), UTC).isoformat().replace("+00:00", "Z")


def to_token(prepared: PreparedWrite, key: KeyPrincipal) -> str:
    """Returns the token of a change."""
    written = {name: getattr(prepared, name) for name in PreparedWrite.__slots__}
    return sealed_text.seal(json.dumps(written).encode(), context=_context(key))


def from_token(token: str, key: KeyPrincipal) -> PreparedWrite:
    """Returns the change of a token. Raises InvalidConfirmation, without the reason."""
    try:
        found = PreparedWrite(**json.loads(sealed_text.unseal(token, context=_context(key))))
    except (SealBroken, TypeError):  # the latter: sealed by a version that wrote other fields
        raise InvalidConfirmation from None
    if found.ends < time.time():
        raise InvalidConfirmation
    return found


def _context(key: KeyPrincipal) -> bytes:
    return f"people.prepared_write:{key.organization_id}:{key.key_id}".encode()
