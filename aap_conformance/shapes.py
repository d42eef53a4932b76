"""JSON Schemas of what servers answer, and the violation of one as a sentence."""

from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

from aap_conformance.verdicts import Violation

TEXT: Final = {"type": "string"}
NAME: Final = {"type": "string", "minLength": 1}
STOP_REASONS: Final = ("end_turn", "tool_use", "max_tokens", "refusal", "error")
MODES: Final = ("delta", "message", "none")
FLAG: Final = {"type": "object"}


def _an_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _block(kind: str, **members: Any) -> dict[str, Any]:
    return _an_object("type", *members, type={"const": kind}, **members)


def _content(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": list(blocks)}}]}


TOOL: Final = _an_object(
    "name", "description", "inputSchema", name=NAME, title=TEXT, description=TEXT, inputSchema=FLAG
)
OPTION: Final = _an_object("name", "type", "default", name=NAME)
AGENT: Final = _an_object("name", "version", "tools", "options", name=NAME)
META: Final = _an_object(
    "version", "agents", version={"const": 1}, agents={"type": "array", "items": {"type": "object"}}
)
CAPABILITIES: Final = _an_object(
    history=_an_object(compacted=FLAG, full=FLAG),
    stream=_an_object(delta=FLAG, message=FLAG, none=FLAG),
    application=_an_object(tools=FLAG),
)
SESSIONS: Final = _an_object("sessions", sessions={"type": "array", "items": NAME}, nextCursor=NAME)
CHOSEN_TOOL: Final = _an_object("name", "trust", name=NAME, trust={"type": "boolean"})

TEXT_BLOCK: Final = _block("text", text=TEXT)
THINKING_BLOCK: Final = _block("thinking", thinking=TEXT)
CALL_BLOCK: Final = _block("tool_use", toolCallId=NAME, name=NAME, input={"type": "object"})
# An address in one revision of version 1, data with a media type in another.
IMAGE_BLOCK: Final = _an_object("type", type={"const": "image"})
SHOWN: Final = _content(TEXT_BLOCK, IMAGE_BLOCK)
SPOKEN: Final = _content(TEXT_BLOCK, THINKING_BLOCK, CALL_BLOCK, IMAGE_BLOCK)
MESSAGES_BY_ROLE: Final[Mapping[str, dict[str, Any]]] = {
    "system": _an_object("content", content=TEXT),
    "user": _an_object("content", content=SHOWN),
    "assistant": _an_object("content", content=SPOKEN),
    "tool": _an_object("toolCallId", "content", toolCallId=NAME, content=SHOWN),
}
JSON_TURN: Final = _an_object(
    "stopReason",
    "messages",
    sessionId=NAME,
    stopReason={"enum": list(STOP_REASONS)},
    messages={"type": "array", "items": {"type": "object"}},
)
SESSION: Final = _an_object(
    "sessionId",
    "agent",
    sessionId=NAME,
    agent=_an_object("name", name=NAME, tools={"type": "array"}, options={"type": "object"}),
    tools={"type": "array", "items": TOOL},
    history={"type": "object"},
)
EVENTS: Final[Mapping[str, dict[str, Any]]] = {
    "session_start": _an_object("sessionId", sessionId=NAME),
    "turn_start": _an_object(),
    "text_delta": _an_object("delta", delta=TEXT),
    "thinking_delta": _an_object("delta", delta=TEXT),
    "text": _an_object("text", text=TEXT),
    "thinking": _an_object("thinking", thinking=TEXT),
    "tool_call": _an_object(
        "toolCallId", "name", "input", toolCallId=NAME, name=NAME, input={"type": "object"}
    ),
    "tool_result": _an_object("toolCallId", "content", toolCallId=NAME, content=SHOWN),
    "turn_stop": _an_object("stopReason", stopReason={"enum": list(STOP_REASONS)}),
}


def require_shape(value: Any, schema: dict[str, Any], what: str) -> None:
    """Raises Violation with the place and the cause of the first error."""
    error = next(iter(jsonschema_rs.validator_for(schema).iter_errors(value)), None)
    if error is None:
        return
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path
    )
    raise Violation(f"{what}{place}: {error.message}.")


def require_message(message: Any, what: str) -> None:
    """Raises Violation unless this is a message of a history."""
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str) or role not in MESSAGES_BY_ROLE:
        raise Violation(f"{what} has the role {role!r}.")
    require_shape(message, MESSAGES_BY_ROLE[role], what)


def require_schema(schema: Any, what: str) -> None:
    """Raises Violation unless this is a JSON Schema."""
    try:
        jsonschema_rs.validator_for(schema)
    except ValueError as error:
        raise Violation(f"{what} is not a JSON Schema: {error}.") from None
