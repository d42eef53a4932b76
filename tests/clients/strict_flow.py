"""The steps that a strict client performs, and their results, with either library."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

CALLBACK: Final = "http://127.0.0.1:33418/callback"
ASKED, NARROWED = "docs:read setup:read", "docs:read"
TOOLS_LIST: Final[dict[str, Any]] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPTED: Final = "application/json, text/event-stream"


@dataclass(frozen=True)
class Journey:
    """The flow from the challenge of the MCP endpoint to the end of the token family.

    `browser` opens an authorize address and returns the address it is sent back to. `ending` is
    "revoke" (the last refresh token is revoked, then spent) or "replay" (the first one is spent
    again after the last one).
    """

    mcp_url: str
    auth_method: str
    browser: Callable[[str], str]
    ending: str = "revoke"


@dataclass(frozen=True)
class FlowOutcome:
    """What the client saw; a departure from an RFC never gets as far as this, it raises.

    `tools` are those of the first access token, `scopes` those of the exchange and the refresh,
    `refused` is the error of the last refresh and `status` what the newest access token gets then.
    """

    auth_method: str
    secret: bool
    scopes: tuple[str, str]
    tools: tuple[str, ...]
    rotated: bool
    refused: str
    status: int


class Refused(Exception):
    """The client stopped; the message is the error code it received, or its own complaint."""
