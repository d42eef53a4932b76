"""Whether anybody still wants the answer to a call that is given in one piece.

The edge says what it hears, from its loop; the thread that runs the call asks. Of two values that
are written by one side only and read by the other, none needs a lock.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from foundation.carrier import carrier
from mcp_protocol.envelope import RequestId
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import Revision, since
from tools_registry.types import Silence

# Closing the stream is the cancellation from here on (MCP 2026-07-28, basic/transports/
# streamable-http, Cancellation). Before, "disconnection SHOULD NOT be interpreted as the client
# cancelling its request" (MCP 2025-03-26 to 2025-11-25, basic/transports, Sending Messages).
CLOSING_CANCELS: Final = since(Revision.V2026_07_28)


@carrier
class Underway:
    """A call that runs: what a cancellation has to name to mean it."""

    authorization_id: UUID
    terms: Terms
    request_id: RequestId


def _nobody() -> None:
    """Until an answer takes long nobody listens."""


class Interest:
    """What the edge has heard of one request while it is answered."""

    __slots__ = ("cancelled", "has_left", "is_interrupted", "on_begin", "underway")

    def __init__(self) -> None:
        self.has_left = self.is_interrupted = False
        self.underway: Underway | None = None
        self.cancelled: Underway | None = None
        self.on_begin: Callable[[], object] = _nobody

    def begin(self, underway: Underway) -> None:
        """A call starts to run, of several one after the other in a batch."""
        self.underway = underway
        self.on_begin()


class SilentChannel(Silence):
    """The channel of a call that is answered in one piece: it says nothing, and can be ended."""

    __slots__ = ("_interest", "_underway")

    def __init__(self, underway: Underway, interest: Interest) -> None:
        self._underway, self._interest = underway, interest
        interest.begin(underway)

    def is_cancelled(self) -> bool:
        return self._is_unwanted() or self._interest.is_interrupted

    def is_interrupted(self) -> bool:
        return self._interest.is_interrupted and not self._is_unwanted()

    def _is_unwanted(self) -> bool:
        closed = self._interest.has_left and self._underway.terms.revision in CLOSING_CANCELS
        return closed or self._interest.cancelled is self._underway
