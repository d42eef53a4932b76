"""Serializes prompts and completions for each revision.

Source: MCP schema of each revision, Prompt, GetPromptResult and CompleteResult.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Protocol

from mcp_protocol.description import RevisionSerializer, unless_empty
from mcp_protocol.resource_shapes import OfferFacts
from mcp_protocol.revisions import REVISIONS, Revision, revisions_since
from mcp_protocol.shapes import DECORATION, complete, page_result, to_supported_block
from mcp_protocol.strict_json import JsonObject

# The maximum number of values in one response (MCP, server/utilities/completion, Completion
# Results).
MAX_COMPLETIONS: Final = 100


class ArgumentFacts(Protocol):
    """The attributes of a prompt's argument that a list contains."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def required(self) -> bool: ...


class PromptFacts(OfferFacts, Protocol):
    """The attributes of a prompt that a list contains."""

    @property
    def arguments(self) -> Sequence[ArgumentFacts]: ...


class MessageFacts(Protocol):
    """One message of a prompt: its role, `user` or `assistant`, and one content block."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> Mapping[str, Any]: ...


_ARGUMENT: Final = RevisionSerializer(
    ("name", REVISIONS, attrgetter("name")),
    ("title", revisions_since(Revision.V2025_06_18), unless_empty("title")),
    ("description", REVISIONS, unless_empty("description")),
    ("required", REVISIONS, attrgetter("required")),
)
_PROMPT: Final = RevisionSerializer(
    ("name", REVISIONS, attrgetter("name")),
    ("title", revisions_since(Revision.V2025_06_18), unless_empty("title")),
    ("description", REVISIONS, unless_empty("description")),
    *DECORATION,
)


def prompt_descriptor(prompt: PromptFacts, revision: Revision) -> JsonObject:
    """Returns a prompt as prompts/list describes it."""
    arguments = _ARGUMENT.serialize_each(prompt.arguments, revision)
    return _PROMPT.serialize(prompt, revision) | ({"arguments": arguments} if arguments else {})


def prompts_list_result(
    prompts: Iterable[PromptFacts], revision: Revision, next_cursor: str | None = None
) -> JsonObject:
    """Returns one page of prompts in the given order."""
    listed = [prompt_descriptor(prompt, revision) for prompt in prompts]
    return page_result("prompts", listed, revision, next_cursor)


def prompt_result(
    description: str, messages: Iterable[MessageFacts], revision: Revision
) -> JsonObject:
    """Returns the messages of a prompt; blocks that the revision does not support become text."""
    serialized = [
        {"role": message.role, "content": to_supported_block(message.content, revision)}
        for message in messages
    ]
    return complete({"description": description, "messages": serialized}, revision)


def completion_result(values: Sequence[str], revision: Revision) -> JsonObject:
    """Returns the first matching values, and how many there are."""
    first = list(values[:MAX_COMPLETIONS])
    completion = {"values": first, "total": len(values), "hasMore": len(values) > len(first)}
    return complete({"completion": completion}, revision)
