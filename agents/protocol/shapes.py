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
# `agents.protocol.images` checks its members further.
IMAGE_BLOCK: Final = _typed_object("image", (), url=TEXT, mimeType=TEXT, data=TEXT)
# A text, or blocks, of which each has the schema of its type.
CONTENT: Final = {
    "type": ["string", "array"],
    "items": {"type": "object"},
    "minItems": 1,
    "maxItems": MAX_BLOCKS,
}


def _message(role: str, required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return _an_object(("role", *required), role={"const": role}, **properties)


SYSTEM: Final = _message("system", ("content",), content=TEXT)
USER: Final = _message("user", ("content",), content=CONTENT)
ASSISTANT: Final = _message("assistant", ("content",), content=CONTENT)
RESULT: Final = _message("tool", ("toolCallId", "content"), toolCallId=CALL_ID, content=CONTENT)
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
# The blocks that a message of a role may have, by their type.
SHOWN_BLOCKS: Final = {"text": TEXT_BLOCK, "image": IMAGE_BLOCK}
BLOCKS: Final = {
    "user": SHOWN_BLOCKS,
    "tool": SHOWN_BLOCKS,
    "assistant": {"text": TEXT_BLOCK, "thinking": THINKING_BLOCK, "tool_use": CALL_BLOCK},
}

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
