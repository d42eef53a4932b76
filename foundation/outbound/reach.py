"""Whether a server of the public internet has answered this process over https."""

import threading
from typing import Final

from foundation.outbound.policy import Policy

_has_answered: Final = threading.Event()


def note_answer(scheme: str, host: str, policy: Policy) -> None:
    """Records an answer. That of a host which may be in a private network shows nothing."""
    if scheme == "https" and not policy.approves(host):
        _has_answered.set()


def has_reached_internet() -> bool:
    """Returns whether an outgoing https request has worked since the process started."""
    return _has_answered.is_set()
