"""What results of every kind share: their members, their pages and their content blocks.

What differs between revisions stands in tables. Source: MCP schema of each revision.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mcp_protocol import meta_keys
from mcp_protocol.capabilities import bare_implementation
from mcp_protocol.description import Row, unless_empty
from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, Revision, since
from mcp_protocol.strict_json import JsonObject, Written

# What a list holds and a resource says depends on who asks, and must show a switched-off action
# gone at once (MCP 2026-07-28, server/utilities/caching).
_UNCACHED: Final[Mapping[Revision, JsonObject]] = {
    revision: {"ttlMs": 0, "cacheScope": "private"} for revision in MODERN
}

# What `structuredContent` may be; a revision that is absent has no such member.
_STRUCTURED_TYPE: Final[Mapping[Revision, type]] = {
    Revision.V2025_06_18: dict,
    Revision.V2025_11_25: dict,
    Revision.V2026_07_28: object,
}

# Which content blocks a revision can carry (ContentBlock in its schema).
_BLOCK_TYPES: Final[Mapping[str, tuple[Revision, ...]]] = {
    "text": REVISIONS,
    "image": REVISIONS,
    "resource": REVISIONS,
    "audio": since(Revision.V2025_03_26),
    "resource_link": since(Revision.V2025_06_18),
}

# The last members of everything that a list holds.
DECORATION: Final[tuple[Row, ...]] = (
    ("icons", since(Revision.V2025_11_25), unless_empty("icons")),
    ("_meta", since(Revision.V2025_06_18), unless_empty("meta")),
)


def complete(result: JsonObject, revision: Revision) -> JsonObject:
    """Return a result with what the revision asks of every one.

    Source: MCP 2026-07-28, basic, ResultType and Per-response protocol fields.
    """
    if revision in HANDSHAKE:
        return result
    meta = {meta_keys.SERVER_INFO: bare_implementation()}
    return {"resultType": "complete", **result, meta_keys.META: meta}


def uncached(result: JsonObject, revision: Revision) -> JsonObject:
    """Return a complete result that nobody may keep, for the methods that have to say so."""
    return complete(result | _UNCACHED.get(revision, {}), revision)


def page_result(
    member: str, things: Sequence[JsonObject | Written], revision: Revision, next_cursor: str | None
) -> JsonObject:
    """Return one page of a list; a cursor says that more follow."""
    more = {} if next_cursor is None else {"nextCursor": next_cursor}
    return uncached({member: things} | more, revision)


def empty_result(revision: Revision) -> JsonObject:
    """Return the result of a method that has nothing to say, such as ping."""
    return complete({}, revision)


def input_required_result(requests: Mapping[str, JsonObject], state: str) -> JsonObject:
    """Return the result that asks for answers; it is never kept (MCP 2026-07-28, patterns/mrtr)."""
    asked: JsonObject = {"inputRequests": dict(requests), "requestState": state}
    return complete(asked, MODERN[-1]) | {"resultType": "input_required"}


def text_block(text: str) -> JsonObject:
    """Return one block of text content."""
    return {"type": "text", "text": text}


def call_result(
    content: Iterable[Mapping[str, Any]],
    revision: Revision,
    *,
    structured: object = None,
    is_error: bool = False,
) -> JsonObject:
    """Return the result of tools/call from content blocks and, where the revision has it, a value.

    Blocks that the revision cannot carry become text; None means no structured content.
    """
    result: JsonObject = {"content": [carried(block, revision) for block in content]}
    structured_type = _STRUCTURED_TYPE.get(revision)
    if structured is not None and structured_type and isinstance(structured, structured_type):
        result["structuredContent"] = structured
    return complete(result | {"isError": is_error}, revision)


def carried(block: Mapping[str, Any], revision: Revision) -> JsonObject:
    """Return a content block as the revision can carry it: as it is, or as text."""
    kind = str(block.get("type"))
    if revision in _BLOCK_TYPES.get(kind, ()):
        return dict(block)
    return text_block(str(block.get("uri", f"[{kind} content that this revision cannot carry]")))
