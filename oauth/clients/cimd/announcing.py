"""Whether the discovery document announces metadata documents (HALO_CIMD).

Clients keep the identity that they began with. One that reads of documents on a server which cannot
fetch them never registers instead. So they are announced once an outgoing https request has
worked, unless the setting says yes or no.
"""

import threading
import time
from contextlib import suppress
from typing import Final

from django.conf import settings

from foundation import outbound
from foundation.concurrency import page_threads
from foundation.outbound import OutboundError, Policy

# A page of the protocol's own site, of which nothing is read.
PROBED: Final = "https://modelcontextprotocol.io/"
POLICY: Final = Policy(deadline=4.5, connect_timeout=4.5, read_timeout=4.5)
# Between two requests that fail.
PAUSE_SECONDS: Final = 300.0


class _Probe:
    """Sends a request in the background, one at a time and with a pause after each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_at = 0.0

    def start(self) -> None:
        now = time.monotonic()
        with self._lock:
            if now < self._next_at:
                return
            self._next_at = now + PAUSE_SECONDS
        try:
            threading.Thread(target=_send, name="cimd_probe", daemon=True).start()
        except RuntimeError:  # no thread is free: the next client starts it
            self._next_at = 0.0


_probe: Final = _Probe()


def is_announced() -> bool:
    """Returns whether the discovery document says that clients may use a metadata document.

    The first client that reads it before anything was sent out causes a request in the background,
    and registers.
    """
    if settings.HALO_CIMD is not None:
        return bool(settings.HALO_CIMD)
    if outbound.has_reached_internet():
        return True
    _probe.start()
    return False


def _send() -> None:
    with page_threads.leave(), suppress(OutboundError):
        outbound.fetch("HEAD", PROBED, policy=POLICY)
