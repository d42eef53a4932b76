"""Server-sent events: how one message goes out on a stream.

Source: WHATWG HTML, 9.2.6; MCP 2026-07-28, basic/transports/streamable-http, Receiving Messages.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_protocol.strict_json import dumps

# A comment line: it carries nothing, and keeps intermediaries from closing a quiet stream.
KEEP_ALIVE: Final = b": keep-alive\n\n"


def comment(words: str) -> bytes:
    """Return a line that clients pass over and that people who read the wire see; one line only."""
    return f": {words}\n\n".encode()


def event(message: Mapping[str, Any]) -> bytes:
    """Return one JSON-RPC message as one event; compact JSON has no raw line break to split it."""
    return b"event: message\ndata: " + dumps(message) + b"\n\n"
