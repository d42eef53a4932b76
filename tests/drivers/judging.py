"""Every message that a client reads, held against the schema of the revision it came in.

The client driver asks this for each reply, so no test can forget to.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_protocol.revisions import MODERN, UNDECLARED, Revision, find, since
from tests.drivers import schemas

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
}
# Errors that the newest revision gives a shape of their own.
TYPED_ERRORS: Final = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}
RENAMED: Final = since(Revision.V2025_11_25)


def revision_of(header: str | None) -> Revision:
    """The revision that a reply is worded in, by the version header of its request."""
    return (find(header) if header is not None else None) or UNDECLARED


def judge(answer: Any, asked: Any, revision: Revision) -> None:
    """Raise ValidationError unless this is how the revision answers what was asked.

    `asked` is a message or a batch; what cannot have been understood is answered by errors alone.
    """
    methods = dict(_methods(asked))
    for message in answer if isinstance(answer, list) else [answer]:
        if "method" in message:
            schemas.conforms(message, revision, schemas.named_by(message["method"], revision))
        elif "error" in message:
            _judge_error(message, revision)
        else:
            _judge_result(message, methods[message["id"]], revision)


def _methods(asked: Any) -> Iterator[tuple[Any, str]]:
    for message in asked if isinstance(asked, list) else [asked]:
        if isinstance(message, Mapping) and isinstance(message.get("id"), int | str):
            yield message["id"], str(message.get("method"))


def _judge_result(message: Any, method: str, revision: Revision) -> None:
    result = message["result"]
    # The handshake is worded in the revision that it agrees on.
    at = Revision(result["protocolVersion"]) if method == "initialize" else revision
    schemas.conforms(message, at, "JSONRPCResultResponse" if at in RENAMED else "JSONRPCResponse")
    kind = result.get("resultType")
    definition = "InputRequiredResult" if kind == "input_required" else RESULTS[method]
    schemas.conforms(result, at, definition)


def _judge_error(message: Any, revision: Revision) -> None:
    if message["id"] is None:
        # JSON-RPC 2.0, section 5, wants null where no id could be read; MCP's schemas know no null.
        message = {**message, "id": "unread"}
    general = "JSONRPCErrorResponse" if revision in RENAMED else "JSONRPCError"
    schemas.conforms(message, revision, general)
    typed = TYPED_ERRORS.get(message["error"]["code"]) if revision in MODERN else None
    if typed is not None:
        schemas.conforms(message, revision, typed)
