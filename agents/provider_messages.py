"""The history of a session as a provider gets it, and a provider's response as a message.

With `agents.providers`, the only module that imports pydantic-ai.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as ProviderRequest

from agents.models_port import ModelRequest
from agents.protocol import images
from agents.protocol.images import InvalidImage
from agents.protocol.requests import Message
from agents.protocol.resolution import UNKNOWN_RESULT, calls_of
from foundation import ids, json_text

IMAGE_LEFT_OUT: Final = "[An image that the agent cannot read was left out.]"


def build_history(request: ModelRequest, source: str) -> list[ModelMessage]:
    """The history as the provider gets it: requests and responses in turn.

    Results go into one request, in the order of their calls; a call without one gets a notice.
    """
    found: list[ModelMessage] = []
    waiting: dict[str, str] = {}
    parts: list[ModelRequestPart] = []
    results: dict[str, ToolReturnPart] = {}

    def close() -> None:
        returned = [
            results.get(call_id) or ToolReturnPart(name, UNKNOWN_RESULT, call_id)
            for call_id, name in waiting.items()
        ]
        if returned or parts:
            found.append(ProviderRequest(parts=[*returned, *parts]))
        waiting.clear()
        results.clear()
        parts.clear()

    for message, state in zip(request.history, request.states, strict=True):
        match message["role"]:
            case "assistant":
                response = _response(message, state, source)
                if not response.parts:  # the thinking of a response that was cut
                    continue
                close()
                found.append(response)
                waiting.update({call.id: call.name for call in calls_of(message)})
            case "tool":
                call_id = message["toolCallId"]
                if call_id in waiting:
                    content = list(_content(message, request))
                    results[call_id] = ToolReturnPart(
                        waiting[call_id], _join_texts(content), call_id
                    )
            case "system":
                parts.append(SystemPromptPart(message["content"]))
            case _:
                parts.append(UserPromptPart(list(_content(message, request))))
    close()
    last = found[-1]
    if isinstance(last, ProviderRequest):
        last.instructions = request.instructions
    return found


def _response(message: Message, state: Mapping[str, Any] | None, source: str) -> ModelMessage:
    """What the model answered: as its provider sent it if that is the same, else rebuilt."""
    if state is not None and state.get("source") == source:
        return ModelMessagesTypeAdapter.validate_python([state["response"]])[0]
    content = message["content"]
    text = [{"type": "text", "text": content}]
    blocks: list[dict[str, Any]] = text if isinstance(content, str) else content
    parts: list[ModelResponsePart] = []
    for block in blocks:
        if block["type"] == "text":
            parts.append(TextPart(block["text"]))
        elif block["type"] == "tool_use":
            parts.append(ToolCallPart(block["name"], dict(block["input"]), block["toolCallId"]))
    return ModelResponse(parts=parts)


def _content(message: Message, request: ModelRequest) -> Iterator[UserContent]:
    content = message["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] == "text":
            yield block["text"]
            continue
        try:
            url = images.image_url(block) if request.reads_images else ""
        except InvalidImage:
            # Of a session from before images were checked.
            url = ""
        if not url:
            yield IMAGE_LEFT_OUT
            continue
        yield BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url)


def _join_texts(content: Sequence[UserContent]) -> str | Sequence[UserContent]:
    """The content of a result: a text, unless it has images."""
    texts = [part for part in content if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(content) else content


def blocks_of(parts: Sequence[ModelResponsePart]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Returns the blocks of a message, and what is wrong with arguments by the id of the call."""
    blocks: list[dict[str, Any]] = []
    problems: dict[str, str] = {}
    known: set[str] = set()
    for part in parts:
        match part:
            case TextPart(content=text) if text:
                blocks.append({"type": "text", "text": text})
            case ThinkingPart(content=text) if text:
                blocks.append({"type": "thinking", "thinking": text})
            case ToolCallPart():
                call_id = part.tool_call_id
                if not call_id or call_id in known:
                    call_id = ids.opaque("call_")
                known.add(call_id)
                given = _arguments(part)
                if given is None:
                    problems[call_id] = "The arguments are not a JSON object."
                blocks.append(
                    {
                        "type": "tool_use",
                        "toolCallId": call_id,
                        "name": part.tool_name,
                        "input": given or {},
                    }
                )
    return blocks, problems


def _arguments(part: ToolCallPart) -> dict[str, Any] | None:
    """The arguments of a call; None if they are no JSON object."""
    found = part.args
    if isinstance(found, str):
        try:
            found = json_text.parse(found) if found.strip() else {}
        except ValueError:
            return None
    if found is None:
        return {}
    return dict(found) if isinstance(found, Mapping) else None


def dump_response(response: ModelResponse) -> Any:
    return ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]
