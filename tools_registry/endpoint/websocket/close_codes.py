"""The codes that a WebSocket of an MCP surface is closed with.

RFC 6455 section 7.4.2 leaves 4000 to 4999 to applications; these are 4000 and an HTTP status.
"""

from enum import IntEnum


class CloseCode(IntEnum):
    # The server stops (RFC 6455 section 7.4.1).
    SHUTDOWN = 1001
    # A binary frame, or a handshake without a readable address.
    MALFORMED = 4400
    # No valid token, or one that has ended since.
    UNAUTHENTICATED = 4401
    # A page of another site.
    FORBIDDEN = 4403
    # No project at this address.
    UNKNOWN_PROJECT = 4404
    # The client sent nothing, or read nothing, for too long.
    TIMEOUT = 4408
    # A message exceeds HALO_MAX_BODY_BYTES.
    TOO_LARGE = 4413
    # The credential has too many open sockets, or connects too often.
    TOO_MANY = 4429
    # A failure of the server.
    FAILED = 1011


def get_close_code(status: int) -> CloseCode:
    """The code for a handshake that is refused with an HTTP status."""
    try:
        return CloseCode(4000 + status)
    except ValueError:
        return CloseCode.FAILED
