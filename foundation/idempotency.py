"""What a request with an idempotency key is recognized by, on every API that has such keys."""

import json
from datetime import timedelta
from typing import Any, Final

from foundation import ids

# How long a key is kept, with the first result.
KEPT: Final = timedelta(days=1)


def key_digest(*parts: str) -> str:
    """Returns what a key is stored by: no caller can write the parts of another one."""
    return ids.sha256_hex(json.dumps(parts))


def fingerprint(sent: Any) -> str:
    """Returns what tells a request from another one that was sent with the same key."""
    return ids.sha256_hex(json.dumps(sent, sort_keys=True, default=str))
