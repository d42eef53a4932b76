"""Serializes messages as server-sent events.

Source: WHATWG HTML, 9.2.6; MCP 2026-07-28, basic/transports/streamable-http, Receiving Messages.
"""

from collections.abc import Mapping
from typing import Any, Final

from foundation.json_text import dumps

# A comment line without content, which keeps intermediaries from closing a quiet stream.
KEEP_ALIVE: Final = b": keep-alive\n\n"


def comment(words: str) -> bytes:
    """Returns a comment, which clients ignore; the text must be one line."""
    return f": {words}\n\n".encode()


def event(message: Mapping[str, Any]) -> bytes:
    """Returns one JSON-RPC message as one event; compact JSON has no line breaks."""
    return b"event: message\ndata: " + dumps(message) + b"\n\n"
