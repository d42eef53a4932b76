"""The methods of each revision: a pair that is absent from the table is unknown.

Source: MCP schema of each revision, ClientRequest and ClientNotification; SEP-2663 for tasks at
2026-07-28, SEP-2640 for skills.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, Literal, TypeAlias

from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, Revision, revisions_since

RateBucket: TypeAlias = Literal["tools_list", "tools_call", "other"]


class MethodKind(Enum):
    """Whether a method has a response (a request) or not (a notification)."""

    REQUEST = "request"
    NOTIFICATION = "notification"


_REQUESTS: Final[Mapping[str, tuple[Revision, ...]]] = {
    "initialize": HANDSHAKE,
    "ping": HANDSHAKE,
    "server/discover": MODERN,
    "tools/list": REVISIONS,
    "tools/call": REVISIONS,
    "resources/list": REVISIONS,
    "resources/templates/list": REVISIONS,
    "resources/read": REVISIONS,
    "resources/subscribe": HANDSHAKE,
    "resources/unsubscribe": HANDSHAKE,
    "prompts/list": REVISIONS,
    "prompts/get": REVISIONS,
    "completion/complete": REVISIONS,
    "logging/setLevel": HANDSHAKE,
    "subscriptions/listen": MODERN,
    "tasks/get": revisions_since(Revision.V2025_11_25),
    "tasks/cancel": revisions_since(Revision.V2025_11_25),
    "tasks/result": (Revision.V2025_11_25,),
    "tasks/list": (Revision.V2025_11_25,),
    "tasks/update": MODERN,
    "skills/list": MODERN,
    "skills/get": MODERN,
    "resources/directory/read": MODERN,
}

_NOTIFICATIONS: Final[Mapping[str, tuple[Revision, ...]]] = {
    "notifications/initialized": HANDSHAKE,
    "notifications/cancelled": HANDSHAKE,
    "notifications/progress": HANDSHAKE,
    "notifications/roots/list_changed": HANDSHAKE,
}


def _rows(
    spans: Mapping[str, tuple[Revision, ...]], kind: MethodKind
) -> dict[tuple[str, Revision], MethodKind]:
    return {(method, at): kind for method, revisions in spans.items() for at in revisions}


METHODS: Final[Mapping[tuple[str, Revision], MethodKind]] = {
    **_rows(_REQUESTS, MethodKind.REQUEST),
    **_rows(_NOTIFICATIONS, MethodKind.NOTIFICATION),
}

# Caps are per token and method (transport document, Rate limits).
RATE_BUCKETS: Final[Mapping[str, RateBucket]] = {
    "tools/list": "tools_list",
    "tools/call": "tools_call",
}


# Unknown methods are charged too.
OTHER: Final[RateBucket] = "other"
