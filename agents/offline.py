"""The agent's model where none is configured: it searches with the tools and quotes what it found.

It reads the last message of the person, calls every offered tool that takes a text to search for,
and answers with what the tools returned. It makes nothing up, and it says what it is.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Final

from agents.models_port import (
    Answered,
    ModelCompletion,
    ModelRequest,
    ModelUsage,
    OfferedTool,
)
from agents.protocol.events import DeltaEvent, StopReason
from agents.protocol.requests import Message
from foundation import ids, json_text

NOTICE: Final = "No language model is configured for this agent. This is what a search found."
NO_TOOLS: Final = (
    "None of the tools that can search is enabled for this session. "
    "Enable some with agent.tools, by the names that /meta lists."
)
NOTHING: Final = "The search found nothing."
NOTHING_FOUND: Final[tuple[Any, ...]] = (None, "", [], {})
MAX_QUERY: Final = 200
MAX_QUOTED: Final = 3
MAX_QUOTE: Final = 1_200
SEARCHED_BY: Final = ("query", "q", "search")


class OfflineModel:
    """See the module."""

    name = "offline"

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        results = _results(request.history)
        calls = [] if results else list(_calls(request))
        if calls:
            yield ModelCompletion({"role": "assistant", "content": calls}, StopReason.TOOL_USE)
            return
        quotes = int(request.options.get("quotes", MAX_QUOTED))
        text = _answer(results, quotes) if results else f"{NOTICE}\n\n{NO_TOOLS}"
        for line in text.splitlines(keepends=True):
            yield DeltaEvent("text", line)
        yield ModelCompletion({"role": "assistant", "content": text}, StopReason.END_TURN)

    def estimate_usage(self, _request: ModelRequest, _received: int) -> ModelUsage:
        return ModelUsage()


def _calls(request: ModelRequest) -> Iterator[dict[str, Any]]:
    asked = _text(request.history[-1])[:MAX_QUERY].strip()
    for tool in request.tools:
        argument = _find_query_argument(tool)
        if argument and asked:
            yield {
                "type": "tool_use",
                "toolCallId": ids.opaque("call_"),
                "name": tool.name,
                "input": {argument: asked},
            }


def _find_query_argument(tool: OfferedTool) -> str:
    """The argument of a tool that searches for a text and requires nothing else."""
    required = tool.input_schema.get("required", [])
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    name = next((one for one in SEARCHED_BY if one in properties), "")
    return name if set(required) <= {name} else ""


def _results(history: Any) -> list[Message]:
    """The results since the last message of the person."""
    found: list[Message] = []
    for message in reversed(history):
        if message["role"] == "user":
            break
        if message["role"] == "tool":
            found.insert(0, message)
    return found


def _answer(results: list[Message], limit: int) -> str:
    hits = [hit for result in results for hit in _hits(_text(result))][:limit]
    return "\n\n".join((NOTICE, *(map(_quote, hits) if hits else (NOTHING,))))


def _hits(text: str) -> list[Any]:
    """What a search has found: the longest list of objects in its result, else the whole."""
    try:
        value = json_text.parse(text)
    except ValueError:
        return [text] if text.strip() else []
    members = value.values() if isinstance(value, dict) else []
    # Texts next to the hits are notes about the search, not hits.
    lists = [
        member
        for member in members
        if isinstance(member, list) and all(isinstance(item, dict) for item in member)
    ]
    found = value if isinstance(value, list) else max(lists, key=len, default=[value])
    return [hit for hit in found if hit not in NOTHING_FOUND]


def _quote(hit: Any) -> str:
    """A hit as a quotation, with a line for each member that has a value."""
    lines = [str(hit)]
    if isinstance(hit, dict):
        lines = [
            f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
            for name, value in hit.items()
            if value not in NOTHING_FOUND
        ]
    text = "\n".join(lines)
    cut = text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 1]}…"
    return "\n".join(f"> {line}" for line in cut.splitlines())


def _text(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")
