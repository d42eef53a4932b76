"""JSON Schemas of what clients send: bodies, messages, blocks and tools."""

from typing import Any, Final

MAX_MESSAGES: Final = 1_000
MAX_TOOLS: Final = 128
MAX_BLOCKS: Final = 500
MAX_DESCRIPTION: Final = 10_000
MAX_OPTION: Final = 10_000
MAX_CALL_ID: Final = 200
# What every model provider accepts as the name of a function.
TOOL_NAME: Final = "^[a-zA-Z0-9_-]{1,64}$"
TEXT: Final = {"type": "string"}
CALL_ID: Final = {"type": "string", "minLength": 1, "maxLength": MAX_CALL_ID}


def _an_object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    """An object; members that are not named are ignored, as later versions add some."""
    return {"type": "object", "properties": properties, "required": list(required)}


def _typed_object(kind: str, required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return _an_object(("type", *required), type={"const": kind}, **properties)


TEXT_BLOCK: Final = _typed_object("text", ("text",), text=TEXT)
THINKING_BLOCK: Final = _typed_object("thinking", ("thinking",), thinking=TEXT)
CALL_BLOCK: Final = _typed_object(
    "tool_use",
    ("toolCallId", "name", "input"),
    toolCallId=CALL_ID,
    name=TEXT,
    input={"type": "object"},
)
# The two forms of version 1: an address, and data with its media type.
IMAGE_BLOCK: Final = {
    **_typed_object("image", (), url=TEXT, mimeType=TEXT, data=TEXT),
    "anyOf": [{"required": ["url"]}, {"required": ["mimeType", "data"]}],
}


def _content(*blocks: dict[str, Any]) -> dict[str, Any]:
    """A text, or blocks of these types."""
    found = {"type": "array", "items": {"anyOf": list(blocks)}, "maxItems": MAX_BLOCKS}
    return {"anyOf": [TEXT, found]}


def _message(role: str, required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return _an_object(("role", *required), role={"const": role}, **properties)


SHOWN: Final = _content(TEXT_BLOCK, IMAGE_BLOCK)
SYSTEM: Final = _message("system", ("content",), content=TEXT)
USER: Final = _message("user", ("content",), content=SHOWN)
ASSISTANT: Final = _message(
    "assistant", ("content",), content=_content(TEXT_BLOCK, THINKING_BLOCK, CALL_BLOCK)
)
RESULT: Final = _message("tool", ("toolCallId", "content"), toolCallId=CALL_ID, content=SHOWN)
PERMISSION: Final = _message(
    "tool_permission",
    ("toolCallId", "granted"),
    toolCallId=CALL_ID,
    granted={"type": "boolean"},
    reason={"type": "string", "maxLength": MAX_DESCRIPTION},
)
# By role, so that the schema of a message is that of its role and an error names the member.
STORED: Final = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT, "tool": RESULT}
SENT: Final = {"user": USER, "tool": RESULT, "tool_permission": PERMISSION}

CHOICE: Final = _an_object(("name",), name=TEXT, trust={"type": "boolean"})
CLIENT_TOOL: Final = _an_object(
    ("name", "inputSchema"),
    name={"type": "string", "pattern": TOOL_NAME},
    title=TEXT,
    description={"type": "string", "maxLength": MAX_DESCRIPTION},
    inputSchema={"type": "object"},
)
OPTIONS: Final = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": MAX_OPTION},
}
CHOICES: Final = {"type": "array", "items": CHOICE, "maxItems": MAX_TOOLS}
BODY: Final[dict[str, Any]] = {
    "stream": {"enum": ["delta", "message", "none"]},
    "messages": {"type": "array", "items": {"type": "object"}, "minItems": 1},
    "tools": {"type": "array", "items": CLIENT_TOOL, "maxItems": MAX_TOOLS},
}
BODY["messages"]["maxItems"] = MAX_MESSAGES
NEW_SESSION: Final = _an_object(
    ("agent", "messages"),
    agent=_an_object(("name",), name=TEXT, tools=CHOICES, options=OPTIONS),
    **BODY,
)
NEW_TURN: Final = _an_object(
    ("messages",), agent=_an_object((), tools=CHOICES, options=OPTIONS), **BODY
)
