"""The messages of subscriptions/listen: the request's filter and the notifications.

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
# The members of the filter, and their types.
_FILTER: Final[Mapping[str, str]] = {
    TOOLS: "a boolean",
    "promptsListChanged": "a boolean",
    "resourcesListChanged": "a boolean",
    "resourceSubscriptions": "an array of strings",
}
# The changes that this server notifies of; the acknowledgement leaves out the rest.
_HONOURED: Final = (TOOLS,)


def parse_filter(params: Mapping[str, Any]) -> JsonObject:
    """Returns the supported part of a request's filter. Raises ProtocolError."""
    asked = params.get("notifications")
    if not isinstance(asked, dict):
        raise _invalid("notifications", "an object")
    for name, wanted in _FILTER.items():
        if name in asked and not _fits(asked[name], wanted):
            raise _invalid(f"notifications.{name}", wanted)
    return {name: True for name in _HONOURED if asked.get(name)}


def acknowledgement(identifier: RequestId, notifications: JsonObject) -> JsonObject:
    """Returns the first message of a stream, with the accepted filter."""
    return _notification(
        "notifications/subscriptions/acknowledged", identifier, notifications=notifications
    )


def tools_changed(identifier: RequestId) -> JsonObject:
    """Returns the notification that the list of tools has changed."""
    return _notification("notifications/tools/list_changed", identifier)


def final_response(identifier: RequestId) -> JsonObject:
    """Returns the last message of a stream that the server ends: the response to the request."""
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
