"""Validates every message that a client receives against the schema of its revision.

The client driver calls this for each reply, so that no test can omit it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_protocol.revisions import MODERN, UNDECLARED, Revision, find, revisions_since
from tests.drivers import extension_schemas, schemas

RESULTS: Final = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "logging/setLevel": "EmptyResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tasks/get": "GetTaskResult",
    "tasks/cancel": "CancelTaskResult",
    "tasks/list": "ListTasksResult",
    "tasks/result": "CallToolResult",
    "resources/directory/read": "ListResourcesResult",
}
# Errors that the newest revision gives a shape of their own.
TYPED_ERRORS: Final = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}
RENAMED: Final = revisions_since(Revision.V2025_11_25)


def judge_body(media_type: str, answer: bytes, asked: bytes, version: str | None) -> None:
    """Judge what an HTTP answer to a POST holds: one message, a batch, or events.

    `version` is the version header of the request, which determines the form of an error.
    """
    revision = (find(version) if version is not None else None) or UNDECLARED
    if media_type == "application/json":
        judge(json.loads(answer), _read(asked), revision)
    elif media_type == "text/event-stream":
        for line in answer.decode().splitlines():
            if line.startswith("data: "):
                judge(json.loads(line.removeprefix("data: ")), _read(asked), revision)


def judge(answer: Any, asked: Any, revision: Revision) -> None:
    """Raise ValidationError unless this is how the revision answers what was asked.

    `asked` is a message or a batch; what cannot have been understood is answered by errors alone.
    """
    for message in answer if isinstance(answer, list) else [answer]:
        if "method" in message:
            schemas.conforms(message, revision, schemas.definition_of(message["method"], revision))
        elif "error" in message:
            _judge_error(message, revision)
        else:
            _judge_result(message, _methods(asked, message["id"]), revision)


def _read(body: bytes) -> Any:
    """What was sent, as far as it is JSON at all."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _methods(asked: Any, identifier: Any) -> list[str]:
    """The methods that were asked for under this id: several, if a batch uses it twice."""
    messages = asked if isinstance(asked, list) else [asked]
    named = [message for message in messages if isinstance(message, Mapping)]
    asked_so = [one for one in named if _is_same(one.get("id"), identifier)]
    return [str(one.get("method")) for one in asked_so]


def _is_same(one: Any, other: Any) -> bool:
    # To Python true and 1 are equal, and no id of JSON-RPC.
    return type(one) is type(other) and bool(one == other)


def _judge_result(message: Any, methods: list[str], revision: Revision) -> None:
    result = message["result"]
    # The handshake has the form of the revision that it negotiates.
    at = Revision(result["protocolVersion"]) if "initialize" in methods else revision
    schemas.conforms(message, at, "JSONRPCResultResponse" if at in RENAMED else "JSONRPCResponse")
    if result.get("resultType") == "input_required":
        schemas.conforms(result, at, "InputRequiredResult")
    elif at in MODERN and extension_schemas.has_schema(result, methods):
        extension_schemas.validate(result, methods)
    elif methods == ["tools/call"] and "task" in result:
        schemas.conforms(result, at, "CreateTaskResult")
    else:
        definitions = {RESULTS[method] for method in methods if method in RESULTS}
        schemas.conforms_to_one(result, at, definitions)


def _judge_error(message: Any, revision: Revision) -> None:
    if message["id"] is None:
        # JSON-RPC 2.0, section 5, wants null where no id could be read; MCP's schemas know no null.
        message = {**message, "id": "unread"}
    general = "JSONRPCErrorResponse" if revision in RENAMED else "JSONRPCError"
    schemas.conforms(message, revision, general)
    typed = TYPED_ERRORS.get(message["error"]["code"]) if revision in MODERN else None
    if typed is not None:
        schemas.conforms(message, revision, typed)
