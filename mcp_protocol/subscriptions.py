"""subscriptions/listen on the wire: what a client asks to hear, and each message it is sent.

Source: MCP 2026-07-28, basic/patterns/subscriptions.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_protocol import envelope, shapes
from mcp_protocol.envelope import RequestId
from mcp_protocol.errors import INVALID_PARAMS, ProtocolError
from mcp_protocol.meta_keys import META, SUBSCRIPTION_ID
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import JsonObject

TOOLS: Final = "toolsListChanged"
# What may be asked for, and the type that it is asked with.
_FILTER: Final[Mapping[str, str]] = {
    TOOLS: "a boolean",
    "promptsListChanged": "a boolean",
    "resourcesListChanged": "a boolean",
    "resourceSubscriptions": "an array of strings",
}
# What can change here while a client listens; the rest is left out of the acknowledgement.
_HONOURED: Final = (TOOLS,)


def honoured(params: Mapping[str, Any]) -> JsonObject:
    """Return the part of a request's filter that will be heard of. Raises ProtocolError."""
    asked = params.get("notifications")
    if not isinstance(asked, dict):
        raise _invalid("notifications", "an object")
    for name, wanted in _FILTER.items():
        if name in asked and not _fits(asked[name], wanted):
            raise _invalid(f"notifications.{name}", wanted)
    return {name: True for name in _HONOURED if asked.get(name)}


def acknowledged(identifier: RequestId, notifications: JsonObject) -> JsonObject:
    """Return the first message of a stream: what the client will hear of."""
    return _notification(
        "notifications/subscriptions/acknowledged", identifier, notifications=notifications
    )


def tools_changed(identifier: RequestId) -> JsonObject:
    """Return the message that has the client list its tools again."""
    return _notification("notifications/tools/list_changed", identifier)


def ended(identifier: RequestId) -> JsonObject:
    """Return the last message of a stream that the server ends: the response to the request."""
    result = shapes.empty_result(MODERN[-1])
    result[META] = {SUBSCRIPTION_ID: identifier, **result[META]}
    return envelope.success(identifier, result)


def _notification(method: str, identifier: RequestId, **params: object) -> JsonObject:
    about = {META: {SUBSCRIPTION_ID: identifier}, **params}
    return {"jsonrpc": "2.0", "method": method, "params": about}


def _fits(value: object, wanted: str) -> bool:
    if wanted == "a boolean":
        return isinstance(value, bool)
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _invalid(field: str, wanted: str) -> ProtocolError:
    return ProtocolError(
        INVALID_PARAMS,
        f"`{field}` must be {wanted}.",
        data={"field": field, "reason": f"must be {wanted}"},
    )
